"""DTensor works out the shape of a result by running the operation on fake tensors of its own, of the whole size.

That is bookkeeping on the CPU, not part of the step: it happens out of the recorder's sight.
"""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import _disable_current_modes


def install() -> None:
    """From now on shapes of sharded results are worked out unseen."""
    from torch.distributed.tensor._sharding_prop import ShardingPropagator

    name = "_propagate_tensor_meta_non_cached"
    propagate = getattr(ShardingPropagator, name, None)
    if propagate is None or hasattr(propagate, "unseen"):
        return

    def unseen(*args: Any, **kwargs: Any) -> Any:
        with _disable_current_modes():
            return propagate(*args, **kwargs)

    unseen.unseen = True  # type: ignore[attr-defined]
    setattr(ShardingPropagator, name, unseen)
