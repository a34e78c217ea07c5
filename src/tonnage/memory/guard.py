"""How much is added to an exact estimate to be safe, by what kind of step it is.

For each family it must cover what the measured set (`accuracy/`) showed between `expected` and the truth, and what
that set cannot show: other drivers, other versions of cuBLAS and cuDNN, a cap found only to the width of a bisection.
It must not cover more, because memory that is planned for and not used is paid for: a plan may exceed the truth by 2 %
(5 % with convolutions or a compiler), so the guard is half of that, and nearly all of it where
sizes depend on data: experts that take the tokens routed to them need 3 % more in one run than in another, because
every step cuts memory into other pieces. On 27 plain runs on an H200 the largest residual of
reserved memory was 0.1 %. A step that belongs to several families gets the widest.

The shares were chosen by that half, not fitted. Twenty steps that nobody had measured when their predictions were
written down (`accuracy/predictions`) were measured afterwards, the rows named `new_` in `accuracy/measurements`. For
the sixteen whose memory outside the allocator was measured too, `required` lay between 0.8 % and 3.0 % above the truth;
for the four whose cap alone was, between 0.9 % and 3.2 % if what lies outside is as predicted. None was below.
"""

from __future__ import annotations

import msgspec

from tonnage.memory.estimate import Guard
from tonnage.memory.trace import Trace
from tonnage.units import format_bytes

MIB = 2**20


class Band(msgspec.Struct, frozen=True):
    """A family's guard: a share of what is expected, at least so many bytes; and what it stands for."""

    share: float
    least: int
    reason: str


PLAIN = Band(0.010, 32 * MIB, "drivers, library versions and data nobody measured")
CONVOLUTION = Band(0.025, 48 * MIB, "cuDNN picks its workspaces by the device's state")
COMPILED = Band(0.025, 48 * MIB, "kernels the compiler fuses are predicted, not seen")
DATA_DEPENDENT = Band(0.019, 48 * MIB, "sizes that depend on data were bounded or drawn, not seen")
RECURRENT = Band(0.04, 64 * MIB, "cuDNN publishes no formula for a recurrent layer's workspace")
DISTRIBUTED = Band(0.015, 128 * MIB, "NCCL's buffers vary with topology and version")

DATA_CODES = frozenset({"bounded", "drawn-sizes"})
"""Codes of a trace's notes that say a size was bounded or drawn, not seen."""
CONVOLUTIONS = 5
"""From so many different ones on, cuDNN's choices weigh; a vision transformer has one."""


def guard_for(trace: Trace, expected: int) -> Guard:
    """The guard band of a traced step that is expected to need this much."""
    band = max(bands_of(trace), key=lambda band: _size(band, expected))
    size = _size(band, expected)
    reason = f"{band.reason}: {band.share:.1%} of what is expected, at least {format_bytes(band.least)}"
    return Guard(size, reason)


def bands_of(trace: Trace) -> tuple[Band, ...]:
    """The families a step belongs to."""
    names = {operation.name for operation in trace.operations}
    bands = [PLAIN]
    if sum("convolution" in operation.name for operation in trace.operations) >= CONVOLUTIONS:
        bands.append(CONVOLUTION)
    if any(is_compiled(name) for name in names):
        bands.append(COMPILED)
    if any("cudnn_rnn" in name for name in names):
        bands.append(RECURRENT)
    if any(note.code in DATA_CODES for note in trace.notes):
        bands.append(DATA_DEPENDENT)
    if trace.world_size > 1 or trace.groups:
        bands.append(DISTRIBUTED)
    return tuple(bands)


def is_compiled(operation_name: str) -> bool:
    """Whether the compiler made this operation."""
    return operation_name.startswith(("triton", "inductor", "extern_kernels", "compiled"))


def _size(band: Band, expected: int) -> int:
    return max(band.least, -(-int(expected * band.share) // MIB) * MIB)
