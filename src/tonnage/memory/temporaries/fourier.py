"""Fourier transforms: cuFFT may overwrite what it reads."""

from __future__ import annotations

from tonnage.memory.device import Device
from tonnage.memory.temporaries.rule import Rule, Temporaries, Temporary, bytes_of
from tonnage.memory.trace import Operation


def to_real(operation: Operation, device: Device) -> Temporaries:
    """A copy of the complex input, after the result. Evidence: source (`_fft_c2r_cufft`); measured on one shape."""
    del device
    return (Temporary(bytes_of(operation.inputs[0])),)


RULES: dict[str, Rule] = {"aten._fft_c2r": to_real}
