"""Scratch memory that cuBLAS keeps: one block per thread and stream that ever multiplied matrices, never returned.

torch hands cuBLAS a workspace from its own allocator the first time a thread asks for a handle on a stream, inside
the operation, after the operation's outputs exist. Training has two such threads: the main one and autograd's. Where
that block lands in time decides how much around it can be reused, so it is placed at that first product. Products
with a bias go through cuBLASLt, which gets a smaller block of its own, beside the first one.

Sizes (`aten/src/ATen/cuda/CublasHandlePool.cpp`): 32 MiB on compute capability 9.0, else 2 x 4 MiB + 8 x 16 KiB;
`CUBLAS_WORKSPACE_CONFIG=:SIZE:COUNT...` (KiB) says otherwise. cuBLASLt: 1 MiB, or `CUBLASLT_WORKSPACE_SIZE` (KiB).
Seen so, block by block, in the allocator's history of 42 training runs on an H200 (torch 2.11).
"""

from __future__ import annotations

import re

from tonnage.memory.device import Device
from tonnage.memory.trace import Operation

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


def lt_workspace_size(device: Device) -> int:
    """Bytes of one cuBLASLt workspace."""
    said = device.settings.get("CUBLASLT_WORKSPACE_SIZE", "")
    return (int(said) if said.isdigit() else 1024) * KIB


def needs_lt_workspace(operation: Operation) -> bool:
    """Whether the product adds a bias (or scales), which cuBLASLt does."""
    name = ".".join(operation.name.split(".")[:2])
    if name in ("aten._scaled_mm", "aten._addmm_activation"):
        return True
    return name == "aten.addmm" and len(operation.inputs) == 3 and len(operation.inputs[0].shape) == 1


def needs_workspace(operation_name: str) -> bool:
    """Whether this operation asks for a cuBLAS handle.

    >>> needs_workspace("aten.mm.default"), needs_workspace("aten.add.Tensor")
    (True, False)
    """
    return ".".join(operation_name.split(".")[:2]) in _PRODUCTS
