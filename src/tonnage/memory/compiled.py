"""A compiled step twice: once while its kernels are chosen, once with kernels that lie in the cache.

Choosing takes memory (both ways of a product are timed), and what it gives back is where the first step's tensors
will lie. A run that finds its kernels in the cache never takes it, so its segments are cut otherwise, and it can need
more: the first try of a run and every later one have different smallest caps, and a plan must hold for both.
"""

from __future__ import annotations

import msgspec

from tonnage.memory.trace import Trace

COMPILE = "compile"


def already_compiled(trace: Trace) -> Trace | None:
    """The trace as it would be with the kernels in the cache; None where choosing them took nothing."""
    if COMPILE not in trace.phases:
        return None
    phase = trace.phases.index(COMPILE)
    is_choosing = [call.phase == phase for call in trace.calls]
    if not any(is_choosing):
        return None
    is_dropped = {
        "a": [block.call >= 0 and is_choosing[block.call] for block in trace.blocks],
        "c": is_choosing,
        "e": is_choosing,
    }
    is_dropped["f"] = is_dropped["a"]
    kept = [
        (kind, argument)
        for kind, argument in zip(trace.kinds, trace.arguments, strict=True)
        if not (kind in is_dropped and is_dropped[kind][argument])
    ]
    return msgspec.structs.replace(
        trace, kinds="".join(kind for kind, _ in kept), arguments=tuple(argument for _, argument in kept)
    )
