"""Fourier transforms: cuFFT may overwrite what it reads, and needs room where sizes have large factors."""

from __future__ import annotations

from tonnage.memory.device import Device
from tonnage.memory.temporaries.rule import NONE, Rule, Temporaries, Temporary, bytes_of
from tonnage.memory.trace import Operation

SMALL_FACTORS = (2, 3, 5, 7)
"""Primes cuFFT has kernels for; sizes with others go through a workspace."""


def to_real(operation: Operation, device: Device) -> Temporaries:
    """A copy of the complex input, after the result, then as any. Evidence: source (`_fft_c2r_cufft`); measured."""
    copy = Temporary(bytes_of(operation.inputs[0]))
    return (copy, *transform(operation, device))


def transform(operation: Operation, device: Device) -> Temporaries:
    """A workspace as large as the data where a transformed size is not made of small factors.

    Evidence: measured on 15 transforms of an H200 (none for 100 x 120, 128 x 128 and 1024 x 1024; the data's size for
    333 x 500 and, of real ones, twice the output at most for 127 x 131).
    """
    del device
    dims = operation.scalars.get("dim")
    if not isinstance(dims, list | tuple) or not operation.outputs:
        return NONE
    real, made = operation.inputs[0], operation.outputs[0]
    sizes = [max(real.shape[dim], made.shape[dim]) for dim in dims if isinstance(dim, int)]
    if all(_is_smooth(size) for size in sizes):
        return NONE
    return (Temporary(max(bytes_of(real), bytes_of(made))),)


def _is_smooth(size: int) -> bool:
    for factor in SMALL_FACTORS:
        while size % factor == 0:
            size //= factor
    return size == 1


RULES: dict[str, Rule] = {
    "aten._fft_c2r": to_real,
    "aten._fft_r2c": transform,
    "aten._fft_c2c": transform,
}
