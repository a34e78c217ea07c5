"""Which matrix products Inductor pads, which it decides by timing both ways on the device.

Nothing can be timed here, so the times are worked out. What decides is how the rows of the three matrices lie: tensor
cores read rows that begin at multiples of 16 bytes at full speed, at multiples of 4 or 8 at a third of it, and odd rows
at a fifth or an eighth; against that stands the copy that padding makes, five times as slow where the matrix lies
turned. A side that is no row's length (an odd number of tokens in a weight's gradient) costs nothing and is never
padded; plain fp32 products do not use tensor cores and never are. The rates are those of an H200; of 713 products timed
there by torch itself (`accuracy/measurements/padding_h200.json`) 697 are decided the same, the others being close
calls, outliers of the timing and small batched products. Products in tf32 were not measured: half the rate is assumed.
"""

from __future__ import annotations

from typing import NamedTuple

FULL, EVEN, ODD, ODD_RESULT = 760e12, 260e12, 140e12, 95e12
"""Operations per second of half-precision products, by how the rows of the matrices and of the result lie."""
COPYING, TURNING = 0.8e-12, 3.7e-12
"""Seconds per byte to copy a matrix into a padded one, and one that lies turned."""
LAUNCH = 4e-6
GAIN = 1.1
"""Torch pads where that is faster by so much."""
STEP = {2: 8, 4: 4}
"""Elements in 16 bytes, by the bytes of one: what a side is padded to."""


class Matrix(NamedTuple):
    """A factor: its sides, whether it lies turned, and whether its padding is part of the kernel that makes it."""

    rows: int
    columns: int
    is_turned: bool
    is_made_padded: bool

    def is_padded(self, step: int) -> bool:
        """Whether a side is no multiple of the step."""
        return padded(self.rows, step) != self.rows or padded(self.columns, step) != self.columns


def is_worth_padding(
    first: Matrix,
    second: Matrix,
    *,
    item_bytes: int,
    on_tensor_cores: bool,
    batch: int = 1,
    bias: bool = False,
) -> bool:
    """Whether the padded product is enough faster than the plain one."""
    if not on_tensor_cores or item_bytes not in STEP:
        return False
    step = STEP[item_bytes]
    slower = item_bytes / 2  # tf32 runs at half the rate
    work = 2 * batch * first.rows * first.columns * second.columns
    padded_work = (
        2 * batch * padded(first.rows, step) * padded(first.columns, step) * padded(second.columns, step)
    )
    plain_seconds = work * slower / _rate(first, second, step) + LAUNCH
    seconds = padded_work * slower / FULL + LAUNCH
    for matrix in (first, second):
        seconds += _padding_seconds(matrix, step, batch * item_bytes)
    if bias and padded(second.columns, step) != second.columns:
        seconds += LAUNCH
    return plain_seconds > GAIN * seconds


def padded(length: int, step: int) -> int:
    """A side's length after padding; one is left alone."""
    return length if length == 1 else -(-length // step) * step


def _padding_seconds(matrix: Matrix, step: int, bytes_per_element: int) -> float:
    if not matrix.is_padded(step):
        return 0.0
    if matrix.is_made_padded:
        return LAUNCH / 2
    size = padded(matrix.rows, step) * padded(matrix.columns, step) * bytes_per_element
    return LAUNCH + size * (TURNING if matrix.is_turned else COPYING)


def _rate(first: Matrix, second: Matrix, step: int) -> float:
    result = second.columns
    rows = [matrix.rows if matrix.is_turned else matrix.columns for matrix in (first, second)]
    if all(length % step == 0 for length in (*rows, result)):
        return FULL
    if all(length % 2 == 0 for length in (*rows, result)):
        return EVEN
    return ODD_RESULT if result % 2 else ODD
