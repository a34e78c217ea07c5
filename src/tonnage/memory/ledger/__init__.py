"""Shape mode: a training step worked out on paper, from a model's dimensions alone.

The step is run by a machine that has PyTorch's eager semantics but no numbers (`machine`, `autograd`,
`operators`), over programs written as the libraries write their models (`families`). What it leaves behind is a
trace like that of a real run, and everything after it is shared with exact mode.
"""

from tonnage.memory.ledger.estimating import shape_estimate, shape_floor, shape_least, shape_peaks
from tonnage.memory.ledger.stepping import rank_weights, shape_trace

__all__ = ["rank_weights", "shape_estimate", "shape_floor", "shape_least", "shape_peaks", "shape_trace"]
