"""torchvision's classification networks: read from their table into operations.

`torchvision_networks.json` is written by `dev/torchvision_networks.py`, never by hand: a text of words per network.

A word is a letter with numbers, and after `@` which earlier results it reads, counted backwards.

    c  convolution: channels, kernel, stride, padding, dilation, groups, has bias     b  batch norm
    l  linear: features, has bias     n  layer norm     N  the same over channels     L  scale per channel
    r s u w x i 6  activations (ReLU, SiLU, GELU, hard swish, hard sigmoid, sigmoid, ReLU6); capital or ! in place
    p v  max and average pool: kernel, stride, padding, rounds up     g  adaptive average pool     M  mean
    a A m t  sum, sum in place, product, joined     o  dropout     d  stochastic depth     f  flattened
    h  channels shuffled     k  one half of the channels     y  dimensions in another order
    Q  windowed attention: heads, window, shift, version     P  patches merged     z  the result
    V  image to windows: side     D  windows to image: side, rows, columns     T  windows and pixels swapped (grid)
    K  attention in each window: heads, side     e  tanh
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from tonnage.memory.shapes.shape import ModelShape
from tonnage.tables import read_table

SIDES = {
    "inception_v3": 299, "efficientnet_b1": 240, "efficientnet_b2": 288, "efficientnet_b3": 300,
    "efficientnet_b4": 380, "efficientnet_b5": 456, "efficientnet_b6": 528, "efficientnet_b7": 600,
    "efficientnet_v2_s": 300, "efficientnet_v2_m": 384, "efficientnet_v2_l": 384,
}  # fmt: skip
"""Image sides that differ from 224: those the networks were trained at."""


class Network(msgspec.Struct, frozen=True):
    """A row of the table: how many weights torchvision itself counts, and the operations as words."""

    weights: int
    words: str


class NetworkTable(msgspec.Struct, frozen=True):
    """What lies in the file, and which torchvision it was read off."""

    torchvision: str
    networks: dict[str, Network]


class Word(msgspec.Struct, frozen=True):
    """One operation: its letter, its numbers, and which earlier results it reads (0 is the image)."""

    letter: str
    numbers: tuple[str, ...]
    reads: tuple[int, ...]

    def whole(self, index: int) -> int:
        return int(self.numbers[index])

    def pair(self, index: int) -> tuple[int, int]:
        first, _, second = self.numbers[index].partition("x")
        return int(first), int(second or first)


def network_names() -> tuple[str, ...]:
    """Every network of the table, and torchvision's vision transformers."""
    return (*_networks(), *_TRANSFORMERS)


def network_shape(name: str) -> ModelShape | None:
    """A network of torchvision by its exact name."""
    if name in _TRANSFORMERS:
        patch, layers, heads, hidden, inner, image = _TRANSFORMERS[name]
        return ModelShape(
            name=name, family="vit", architecture=name, layers=layers, hidden=hidden, heads=heads, kv_heads=heads,
            head_dim=hidden // heads, intermediate=inner, activation="gelu", gated=False, qkv_bias=True,
            fused_qkv=True, patch=patch, image=image, classes=1000,
        )  # fmt: skip
    if name not in _networks():
        return None
    return ModelShape(
        name=name, family="convnet", architecture=name, image=SIDES.get(name, 224), classes=1000
    )


@lru_cache(maxsize=8)
def network_words(name: str) -> tuple[Word, ...]:
    """The operations of a network of the table."""
    return tuple(_read(text, place + 1) for place, text in enumerate(_networks()[name].words.split()))


def network_weights(name: str) -> int:
    """How many weights torchvision itself counts."""
    return _networks()[name].weights


@lru_cache(maxsize=1)
def _networks() -> dict[str, Network]:
    return read_table("tonnage.memory.shapes", "torchvision_networks.json", NetworkTable).networks


def _read(text: str, place: int) -> Word:
    body, _, back = text.partition("@")
    reads = tuple(place - int(one) for one in back.split(",")) if back else (place - 1,)
    letter, numbers = body[0], body[1:]
    if numbers == "!":
        return Word(f"{letter}!", (), reads)
    return Word(letter, tuple(numbers.split(",")) if numbers else (), reads)


_TRANSFORMERS = {
    "vit_b_16": (16, 12, 12, 768, 3072, 224),
    "vit_b_32": (32, 12, 12, 768, 3072, 224),
    "vit_l_16": (16, 24, 16, 1024, 4096, 224),
    "vit_l_32": (32, 24, 16, 1024, 4096, 224),
    "vit_h_14": (14, 32, 16, 1280, 5120, 224),
}
"""Patch, layers, heads, width, feed-forward width, image side."""
