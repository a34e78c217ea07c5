"""How small an image a network of torchvision can read.

Every convolution and pool makes the image smaller; one that leaves less than a pixel is refused by the library in
the middle of the first step. Only sides matter here, so the words of the table are walked with one number each.
"""

from __future__ import annotations

from functools import lru_cache

from tonnage.memory.shapes.networks import Word, network_words

_LARGEST_LOOKED_AT = 1024


@lru_cache(maxsize=128)
def smallest_image(name: str) -> int:
    """Pixels along the side of the smallest square image that reaches the end of the network."""
    low, high = 1, _LARGEST_LOOKED_AT
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _passes(name, middle) else (middle + 1, high)
    return low


def _passes(name: str, side: int) -> bool:
    sides = [(side, side)]
    for word in network_words(name):
        rows, columns = sides[word.reads[0]]
        after = _after(word, rows, 0), _after(word, columns, 1)
        if min(after) < 1:
            return False
        sides.append(after)
    return True


def _after(word: Word, side: int, axis: int) -> int:
    """The side that a word leaves of one; words that are not about pixels leave it alone."""
    match word.letter:
        case "c":
            kernel, stride, padding, dilation = (word.pair(index)[axis] for index in (1, 2, 3, 4))
            return (side + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
        case "p" | "v":
            kernel, stride, padding = (word.pair(index)[axis] for index in (0, 1, 2))
            reach = side + 2 * padding - kernel
            return (-(-reach // stride) if word.whole(3) else reach // stride) + 1
        case "g":
            return word.pair(0)[axis]
        case "P":
            return -(-side // 2)
    return side
