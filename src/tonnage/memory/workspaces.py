"""Scratch memory that cuBLAS keeps: one block per thread and stream that ever multiplied matrices, never returned.

torch hands cuBLAS a workspace from its own allocator the first time a thread asks for a handle on a stream, inside
the operation, after the operation's outputs exist. Training has two such threads: the main one and autograd's. Where
that block lands in time decides how much around it can be reused, so it is placed at that first product.
cuBLASLt uses the same block (torch 2.11 on an H200: no further growth at the first cuBLASLt product).

Sizes (`aten/src/ATen/cuda/CublasHandlePool.cpp`): 32 MiB on compute capability 9.0, else 2 x 4 MiB + 8 x 16 KiB;
`CUBLAS_WORKSPACE_CONFIG=:SIZE:COUNT...` (KiB) says otherwise.
"""

from __future__ import annotations

import re

from tonnage.memory.device import Device

KIB = 2**10
HOPPER = 32 * 2**20
OTHERS = 2 * 4096 * KIB + 8 * 16 * KIB

_PRODUCTS = frozenset(
    "aten.mm aten.addmm aten.bmm aten.baddbmm aten._addmm_activation aten.mv aten.addmv aten.dot aten.vdot "
    "aten.addbmm aten._scaled_mm aten.linear aten.addr aten._int_mm".split()
)
_PAIR = re.compile(r":(\d+):(\d+)")


def workspace_size(device: Device) -> int:
    """Bytes of one cuBLAS workspace on this device under these settings."""
    pairs = _PAIR.findall(device.settings.get("CUBLAS_WORKSPACE_CONFIG", ""))
    if pairs:
        return sum(int(size) * KIB * int(count) for size, count in pairs)
    return HOPPER if device.compute == (9, 0) else OTHERS


def needs_workspace(operation_name: str) -> bool:
    """Whether this operation asks for a cuBLAS handle.

    >>> needs_workspace("aten.mm.default"), needs_workspace("aten.add.Tensor")
    (True, False)
    """
    return ".".join(operation_name.split(".")[:2]) in _PRODUCTS
