"""The order in which a kernel asks for its results, where it is not the order in which it returns them.

Blocks are given out in the order they are asked for, and what comes first takes the hole that fits. Each entry was
read in torch's source and seen in the allocator's history on an H200 (torch 2.11).
"""

from __future__ import annotations

from typing import Any

ORDERS: dict[str, tuple[int, ...]] = {
    "aten.native_dropout.default": (1, 0),  # the mask, then the result
    "aten._embedding_bag.default": (2, 1, 0, 3),  # sizes of bags, bags of indices, then the result
    "aten._embedding_bag_forward_only.default": (2, 1, 0, 3),
    "aten._scaled_dot_product_cudnn_attention.default": (6, 7, 0, 1, 2, 3),  # seed and offset first
    "aten._cudnn_rnn.default": (0, 1, 2, 4, 3),  # weights before what is kept for the backward pass
}
"""By overload: places of results as they are made; results that are not named come last."""


def in_order(order: tuple[int, ...], out: Any, made: list[Any]) -> list[Any]:
    """The tensors an operation made, in the order it made them."""
    place = {id(out[index]): rank for rank, index in enumerate(order) if index < len(out)}
    return sorted(made, key=lambda tensor: place.get(id(tensor), len(order)))
