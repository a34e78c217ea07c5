"""Convolutional networks (and Swin) of torchvision, run from their table of words."""

from __future__ import annotations

from collections.abc import Callable

from tonnage.memory.ledger.families.program import Program, Weights
from tonnage.memory.ledger.families.windows import (
    departitioned,
    merged,
    merging_weights,
    partition_attention,
    partition_weights,
    partitioned,
    window_attention,
    window_weights,
)
from tonnage.memory.ledger.operators import convolving
from tonnage.memory.ledger.operators.elementwise import (
    activation,
    add,
    add_in_place,
    dropout,
    gelu,
    in_place,
    mul,
    relu,
    sigmoid,
    silu,
    tanh,
    thinned,
)
from tonnage.memory.ledger.operators.losses import cross_entropy
from tonnage.memory.ledger.operators.normalizing import layer_norm
from tonnage.memory.ledger.operators.products import linear
from tonnage.memory.ledger.operators.views import cat, contiguous, permute, reshape, split, transpose
from tonnage.memory.ledger.tensors import Tensor, count
from tonnage.memory.shapes.networks import Word, network_words
from tonnage.memory.shapes.shape import ModelShape

PLAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "r": relu, "s": silu, "u": gelu, "i": sigmoid, "e": tanh, "d": thinned,
    "w": lambda x: activation(x, "hardswish", keeps_input=True),
    "x": lambda x: activation(x, "hardsigmoid", keeps_input=True),
    "6": lambda x: activation(x, "hardtanh", keeps_input=True),
    "R": lambda x: in_place(x, "aten.relu_.default", "aten.threshold_backward.default", needs_input=False),
    "S": lambda x: in_place(x, "aten.silu_.default", "aten.silu_backward.default", needs_input=True),
    "W": lambda x: in_place(x, "aten.hardswish_.default", "aten.hardswish_backward.default", needs_input=True),
    "X": lambda x: in_place(x, "aten.hardsigmoid_.default", "aten.hardsigmoid_backward.default", needs_input=True),
    "6!": lambda x: in_place(x, "aten.hardtanh_.default", "aten.hardtanh_backward.default", needs_input=True),
}  # fmt: skip


def weights(shape: ModelShape, tensor: int = 1) -> Weights:
    """Names by place in the table; sizes follow from the channels that reach each word."""
    del tensor
    channels: list[tuple[int, int]] = [(shape.channels, 0)]
    for place, word in enumerate(network_words(shape.architecture), start=1):
        given, area = channels[word.reads[0]]
        yield from _weights_of(word, f"{place}", given * (area or 1) if word.letter == "l" else given)
        channels.append(_channels_of(word, channels))


def _weights_of(word: Word, at: str, given: int) -> Weights:
    letter = word.letter
    if letter == "c":
        yield at, (word.whole(0), given // word.whole(5), *word.pair(1))
        if word.whole(6):
            yield f"{at}.bias", (word.whole(0),)
    elif letter in "bnN":
        yield at, (given,)
        yield f"{at}.bias", (given,)
    elif letter == "l":
        yield at, (word.whole(0), given)
        if word.whole(1):
            yield f"{at}.bias", (word.whole(0),)
    elif letter == "L":
        yield at, (given, 1, 1)
    elif letter == "Q":
        yield from window_weights(word, at, given)
    elif letter == "P":
        yield from merging_weights(word, at, given)
    elif letter == "K":
        yield from partition_weights(word, at, given)


def _channels_of(word: Word, channels: list[tuple[int, int]]) -> tuple[int, int]:
    """Channels after a word, and the pixels that a fixed pool left of each."""
    given, area = channels[word.reads[0]]
    if word.letter == "c":
        return word.whole(0), area if word.pair(1) == (1, 1) else 0
    if word.letter == "l":
        return word.whole(0), 0
    if word.letter == "g":
        first, second = word.pair(0)
        return given, first * second
    if word.letter == "t":
        return sum(channels[source][0] for source in word.reads), 0
    if word.letter == "k":
        return given // 2, 0
    if word.letter == "P":
        return 2 * given, 0
    if word.letter == "m":
        return max(channels[source][0] for source in word.reads), 0
    return given, area if word.letter in "bfoRrW" else 0


def loss(p: Program, images: Tensor, labels: Tensor) -> Tensor:
    """The network's forward and cross-entropy over classes."""
    words = network_words(p.shape.architecture)
    last_use = {source: place for place, word in enumerate(words, start=1) for source in word.reads}
    results: dict[int, Tensor] = {0: images}
    halves: dict[int, list[Tensor]] = {}
    for place, word in enumerate(words, start=1):
        p.machine.tape.enter(f"{place}:{word.letter}")
        given = [results[source] for source in word.reads]
        if word.letter == "k":
            found = halves.setdefault(word.reads[0], [])
            if not found:
                size = given[0].shape[1] // 2
                found += split(given[0], [size, size], dim=1)
            results[place] = found[word.whole(0)]
        else:
            results[place] = _run(p, word, f"{place}", given)
        del given
        for source in word.reads:
            if last_use[source] == place:
                results.pop(source, None)
                halves.pop(source, None)
    logits = results[len(words)]  # auxiliary results, where there are any, live as long
    p.machine.tape.enter("loss")
    return cross_entropy(logits, labels)


def _run(p: Program, word: Word, at: str, given: list[Tensor]) -> Tensor:  # noqa: PLR0912 - one branch per letter
    x, letter = given[0], word.letter
    if letter in PLAIN:
        return PLAIN[letter](x)
    match letter:
        case "c":
            return convolving.convolution(
                x,
                p.weight(at),
                p.maybe(f"{at}.bias"),
                word.pair(2),
                word.pair(3),
                word.pair(4),
                word.whole(5),
            )
        case "b":
            return convolving.batch_norm(x, p.weight(at), p.weight(f"{at}.bias"))
        case "n":
            return layer_norm(x, p.weight(at), p.weight(f"{at}.bias"))
        case "N":
            turned = permute(x, (0, 2, 3, 1))
            return permute(layer_norm(turned, p.weight(at), p.weight(f"{at}.bias")), (0, 3, 1, 2))
        case "l":
            return linear(x, p.weight(at), p.maybe(f"{at}.bias"), "features")
        case "L":
            return mul(p.weight(at), x)
        case "p" | "v":
            pool = convolving.max_pool if letter == "p" else convolving.average_pool
            return pool(x, word.pair(0), word.pair(1), word.pair(2), bool(word.whole(3)))
        case "g":
            return convolving.adaptive_pool(x, word.pair(0))
        case "M":
            made = convolving.mean_pixels(x)
            return reshape(made, made.shape[:2])
        case "o":
            return dropout(x, float(word.numbers[0]))
        case "a":
            return add(x, given[1])
        case "A":
            return add_in_place(x, given[1])
        case "m":
            return mul(x, given[1])
        case "t":
            return cat(given, 1)
        case "f":
            return reshape(x, (x.shape[0], count(x.shape[1:])))
        case "h":
            return _shuffled(x, word.whole(0))
        case "y":
            return permute(x, tuple(int(one) for one in word.numbers))
        case "Q":
            return window_attention(p, word, at, x)
        case "P":
            return merged(p, word, at, x)
        case "V":
            return partitioned(x, word.whole(0))
        case "D":
            return departitioned(x, word.whole(0), word.whole(1), word.whole(2))
        case "T":
            return transpose(x, 1, 2)
        case "K":
            return partition_attention(p, word, at, x)
        case "e":
            return tanh(x)
        case "z":
            return x
    raise AssertionError(letter)


def _shuffled(x: Tensor, groups: int) -> Tensor:
    batch, channels, rows, columns = x.shape
    x = reshape(x, (batch, groups, channels // groups, rows, columns))
    x = contiguous(transpose(x, 1, 2))
    return reshape(x, (batch, channels, rows, columns))
