"""Which kernel PyTorch's `scaled_dot_product_attention` takes: by GPU, number format and shape.

A fused kernel keeps its operands, its result and a number per row. Where there is none, PyTorch spells attention out
in fp32 ("math") and keeps square matrices, which is several times as much at a thousand tokens. In PyTorch's order:

    cudnn      Hopper and data centre Blackwell (compute capability 9 and 10), half precision
    flash      from Ampere on (8.0), half precision, no mask
    efficient  every GPU of our table, with or without a mask; bfloat16 from Ampere on; key heads not shared
    math       whatever is left

These are the constraints of `aten/src/ATen/native/transformers/cuda/sdp_utils.cpp`; each line was seen in traces of
torch 2.10 and 2.11 made for GPUs of every generation. The flash-attention package (`attention: flash`) has no choice
to make: it needs Ampere and half precision.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Kernel = Literal["cudnn", "flash", "efficient", "math"]

HALF = ("bfloat16", "float16")
VOLTA = (7, 0)
AMPERE = (8, 0)
CUDNN_WIDTHS = {9: 256, 10: 128}
"""Widest head of cuDNN's kernels in training, by major compute capability; they are not preferred elsewhere."""
FLASH_WIDTH = 256
NARROW_FLASH = ((8, 6), (8, 9), (12, 0), (12, 1))
"""Too little shared memory for the backward of heads between 192 and 224, or wider ones with dropout."""


class Heads(msgspec.Struct, frozen=True):
    """What of an attention's operands decides."""

    dtype: str
    width: int
    grouped: bool = False
    """Whether query heads share key heads inside the kernel."""
    masked: bool = False
    trains_mask: bool = False
    drops: bool = False


class AttentionKernels(msgspec.Struct, frozen=True):
    """The kernels one kind of GPU has; GPUs that choose alike are equal, so that work on paper is shared."""

    cudnn_width: int = 0
    has_ampere_kernels: bool = True
    """The flash kernel, and bfloat16 in the efficient one."""
    has_narrow_flash: bool = False
    has_tensor_cores: bool = True
    """Whose operands must be aligned."""
    only_flash: bool = False
    """Whether the flash-attention package is called instead of PyTorch's own choice."""

    @classmethod
    def of(cls, compute: tuple[int, int], attention: str = "sdpa") -> AttentionKernels:
        """Those of GPUs with this compute capability, for the implementation that the recipe names."""
        return cls(
            cudnn_width=CUDNN_WIDTHS.get(compute[0], 0),
            has_ampere_kernels=compute >= AMPERE,
            has_narrow_flash=compute in NARROW_FLASH,
            has_tensor_cores=compute >= VOLTA,
            only_flash=attention == "flash",
        )

    def choose(self, heads: Heads) -> Kernel:
        """The kernel that runs."""
        # A mask that is trained is a broadcast one (T5's), whose gradient no fused kernel makes.
        if heads.trains_mask:
            return "math"
        if self.only_flash and heads.dtype in HALF and not heads.masked:
            return "flash"
        if self._fits_cudnn(heads):
            return "cudnn"
        if self._fits_flash(heads):
            return "flash"
        return "efficient" if self._fits_efficient(heads) else "math"

    def _fits_cudnn(self, heads: Heads) -> bool:
        return heads.dtype in HALF and heads.width % 8 == 0 and heads.width <= self.cudnn_width

    def _fits_flash(self, heads: Heads) -> bool:
        if not self.has_ampere_kernels or heads.dtype not in HALF or heads.masked:
            return False
        if self.has_narrow_flash and heads.width > 192:
            return heads.width > 224 and not heads.drops and heads.width <= FLASH_WIDTH
        return heads.width <= FLASH_WIDTH

    def _fits_efficient(self, heads: Heads) -> bool:
        if heads.grouped or (heads.dtype == "bfloat16" and not self.has_ampere_kernels):
            return False
        return not self.has_tensor_cores or heads.width % (8 if heads.dtype in HALF else 4) == 0


HOPPER = AttentionKernels.of((9, 0))
