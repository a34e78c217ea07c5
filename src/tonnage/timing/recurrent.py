"""cuDNN's recurrent layers: matrix work that cannot all be done at once, because time steps wait for each other."""

from __future__ import annotations

from tonnage.memory.trace import Operation
from tonnage.timing.tensors import count, total_bytes
from tonnage.timing.work import Arithmetic, Work, base_name, octaves, rate_of


def recurrent_work(operation: Operation, arithmetic: Arithmetic) -> Work | None:
    """The work of an LSTM, GRU or plain recurrent layer; None where the operation is none."""
    name = base_name(operation)
    if name not in ("_cudnn_rnn", "_cudnn_rnn_backward"):
        return None
    backward = name.endswith("backward")
    sequence = operation.inputs[0]
    weights = [each for each in operation.inputs[1:] if len(each.shape) == 2]
    batch_first = operation.scalars.get("batch_first") is True
    length, batch = (sequence.shape[1], sequence.shape[0]) if batch_first else sequence.shape[:2]
    layers = operation.scalars.get("num_layers")
    depth = layers if isinstance(layers, int) else max(1, len(weights) // 2)
    passes = 2.0 if backward else 1.0
    return Work(
        kind="recurrent",
        family=name,
        features=(octaves(length), octaves(batch), octaves(sequence.shape[-1]), octaves(depth)),
        flops=passes * 2.0 * batch * length * sum(map(count, weights)),
        rate=rate_of(sequence.dtype, tf32=arithmetic.convolution_tf32),
        bytes=float(total_bytes(operation.inputs) + total_bytes(operation.outputs)),
        kernels=3.0 * length * depth,
    )
