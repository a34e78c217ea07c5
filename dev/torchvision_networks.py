"""Write the table of torchvision's classification networks that shape mode reads.

Run by hand, in an environment that has torch and torchvision, when a new torchvision is to be described:

    INTERPRETER dev/torchvision_networks.py src/tonnage/memory/shapes/torchvision_networks.json

Every network is traced symbolically (torch.fx) and written as words: its operations in order, beside its weights.
An operation is a letter with numbers; `@` names what it reads, counted backwards (nothing: the one before).
Vision transformers are described by their dimensions elsewhere and are left out here.
"""

from __future__ import annotations

import json
import operator
import sys
from pathlib import Path
from typing import Any

import torch
import torchvision
from torch import fx, nn
from torchvision.models import list_models
from torchvision.models.swin_transformer import ShiftedWindowAttention, ShiftedWindowAttentionV2
from torchvision.ops import Permute, StochasticDepth

LEAVES = (ShiftedWindowAttention, ShiftedWindowAttentionV2, StochasticDepth, Permute)


class Tracer(fx.Tracer):  # type: ignore[misc]
    """Keeps attention modules whole: their insides depend on the image's size."""

    def is_leaf_module(self, m: nn.Module, qualified_name: str) -> bool:
        return isinstance(m, LEAVES) or type(m).__name__ in WHOLE or super().is_leaf_module(m, qualified_name)


WHOLE = frozenset(
    ("RelativePositionalMultiHeadAttention", "WindowPartition", "WindowDepartition", "SwapAxes", "PatchMerging",
     "PatchMergingV2", "LayerNorm2d")
)  # fmt: skip


PARTITIONS = {"WindowPartition": "V", "WindowDepartition": "D"}
"""Modules whose sizes are arguments of the call."""


def main(target: str) -> None:
    """Describe every network that can be described."""
    lines = []
    for name in list_models(module=torchvision.models):
        if name.startswith("vit_"):
            continue
        try:
            lines.append(f"{json.dumps(name)}:{json.dumps(describe(name), separators=(',', ':'))}")
        except Undescribed as reason:
            print(f"{name}: left out, {reason}", file=sys.stderr)
    version = json.dumps(torchvision.__version__.split("+")[0])
    table = f'{{"torchvision":{version},\n"networks":{{\n' + ",\n".join(lines) + "\n}}\n"
    Path(target).write_text(table, encoding="utf-8")
    print(f"{len(lines)} networks", file=sys.stderr)


class Undescribed(Exception):  # noqa: N818 - a reason, not an error
    """An operation that the table has no letter for."""


def describe(name: str) -> dict[str, Any]:
    """One network: how many weights, and its operations as words."""
    keep_regnet_real()
    with torch.device("meta"):
        network = torchvision.models.get_model(name, weights=None)
    network.train()
    keep_what_memory_needs()
    graph = Tracer().trace(network)
    writer = Writer(network)
    for node in graph.nodes:
        writer.write(node)
    weights = sum(parameter.numel() for parameter in network.parameters())
    return {"weights": weights, "words": " ".join(writer.words)}


def shuffled(x: Any, groups: int) -> Any:
    """ShuffleNet's channel shuffle as one operation."""
    return x.tracer.create_proxy("call_function", shuffled, (x, groups), {})


def added_in_place(self: Any, other: Any) -> Any:
    """`x += y`, which fx would take for `x = x + y`."""
    return self.tracer.create_proxy("call_function", operator.iadd, (self, other), {})


def keep_regnet_real() -> None:
    """RegNet computes its widths with tensors: those need real numbers."""
    params = torchvision.models.regnet.BlockParams
    make = params.from_init_params.__func__

    def made(cls: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.device("cpu"):
            return make(cls, *args, **kwargs)

    if make.__name__ != "made":
        params.from_init_params = classmethod(made)


def keep_what_memory_needs() -> None:
    """Let fx see what it would lose."""
    torchvision.models.shufflenetv2.channel_shuffle = shuffled
    fx.Proxy.__iadd__ = added_in_place


class Writer:
    """Turns nodes into words."""

    def __init__(self, network: nn.Module) -> None:
        self.modules = dict(network.named_modules())
        self.words: list[str] = []
        self.place: dict[fx.Node, int] = {}
        self.ends: dict[fx.Node, tuple[fx.Node, int]] = {}
        self.bare: set[fx.Node] = set()

    def write(self, node: fx.Node) -> None:
        if node.op == "placeholder":
            self.place[node] = 0
            return
        if node.op == "output":
            self.output(node)
            return
        handler = getattr(self, f"write_{node.op}", None)
        if handler is None:
            raise Undescribed(node.op)
        handler(node)

    def output(self, node: fx.Node) -> None:
        value = node.args[0]
        if isinstance(value, dict):
            value = value["out"]
        if isinstance(value, tuple):
            value = value[0]
        if isinstance(value, fx.Node) and value in self.place:
            last = len(self.words) - self.place[value]
            self.words.append("z" + (f"@{last + 1}" if last else ""))
            return
        raise Undescribed("an output of several parts")

    def put(self, node: fx.Node, word: str, inputs: list[fx.Node]) -> None:
        here = len(self.words) + 1
        back = [here - self.place[source] for source in inputs]
        tail = "" if back == [1] else "@" + ",".join(map(str, back))
        self.words.append(word + tail)
        self.place[node] = here

    def same(self, node: fx.Node, source: fx.Node) -> None:
        self.place[node] = self.place[source]

    # modules ------------------------------------------------------------------------------------------------

    def write_call_module(self, node: fx.Node) -> None:
        module = self.modules[str(node.target)]
        source = node.args[0]
        assert isinstance(source, fx.Node)
        sizes = ",".join(str(size) for size in node.args[1:])
        word = (
            PARTITIONS[kind] + sizes if (kind := type(module).__name__) in PARTITIONS else module_word(module)
        )
        if word is None:
            self.same(node, source)
        else:
            self.put(node, word, [source])

    # functions and methods -----------------------------------------------------------------------------------

    def write_call_function(self, node: fx.Node) -> None:  # noqa: PLR0912 - one branch per function
        function, args, kwargs = node.target, node.args, node.kwargs
        name = getattr(function, "__name__", str(function))
        nodes = [arg for arg in args if isinstance(arg, fx.Node)]
        if function in (operator.add, torch.add):
            self.put(node, "a", nodes)
        elif function is operator.iadd:
            self.put(node, "A", nodes)
        elif function in (operator.mul, torch.mul):
            seen = [source for source in nodes if source not in self.bare]
            self.put(node, "m" if len(seen) == 2 else "L", seen)
        elif name in ("GoogLeNetOutputs", "InceptionOutputs"):
            self.same(node, nodes[0])
        elif name == "cat":
            parts = args[0]
            self.put(node, "t", list(parts))
        elif name == "flatten":
            self.put(node, "f", nodes)
        elif name in ("relu", "relu_"):
            in_place = bool(kwargs.get("inplace", name == "relu_"))
            self.put(node, "R" if in_place else "r", nodes)
        elif name == "adaptive_avg_pool2d":
            self.put(node, f"g{pair(args[1])}", nodes)
        elif name == "avg_pool2d":
            self.put(node, pool_word("v", kwargs, args), nodes)
        elif name in ("max_pool2d", "boolean_dispatch"):
            self.put(node, pool_word("p", kwargs, args), nodes)
        elif name == "dropout":
            rate = kwargs.get("p", args[1] if len(args) > 1 else 0.5)
            self.put(node, f"o{rate}", nodes)
        elif name == "shuffled":
            self.put(node, f"h{args[1]}", nodes)
        elif name == "getitem":
            source = args[0]
            assert isinstance(source, fx.Node)
            if source in self.ends:
                origin, _ = self.ends[source]
                self.put(node, f"k{args[1]}", [origin])
            else:
                raise Undescribed("an item of something")
        elif name == "layer_norm":
            self.put(node, "n", nodes[:1])
        else:
            raise Undescribed(name)

    def write_call_method(self, node: fx.Node) -> None:
        source = node.args[0]
        assert isinstance(source, fx.Node)
        if node.target == "chunk":
            self.ends[node] = (source, 2)
        elif node.target == "mean":
            self.put(node, "M", [source])
        elif node.target == "flatten":
            self.put(node, "f", [source])
        elif node.target == "contiguous":
            self.same(node, source)
        else:
            raise Undescribed(f"method {node.target}")

    def write_get_attr(self, node: fx.Node) -> None:
        self.bare.add(node)


def module_word(module: nn.Module) -> str | None:  # noqa: PLR0912
    """The word of a module; None where it does nothing."""
    kind = type(module).__name__
    if isinstance(module, nn.Conv2d):
        return (
            f"c{module.out_channels},{pair(module.kernel_size)},{pair(module.stride)},{pair(module.padding)},"
            f"{pair(module.dilation)},{module.groups},{int(module.bias is not None)}"
        )
    if kind == "LayerNorm2d":
        return "N"
    if isinstance(module, nn.BatchNorm2d):
        return "b"
    if isinstance(module, nn.LayerNorm):
        return "n"
    if isinstance(module, nn.Linear):
        return f"l{module.out_features},{int(module.bias is not None)}"
    if isinstance(module, nn.MaxPool2d):
        return f"p{pair(module.kernel_size)},{pair(module.stride)},{pair(module.padding)},{int(module.ceil_mode)}"
    if isinstance(module, nn.AvgPool2d):
        return f"v{pair(module.kernel_size)},{pair(module.stride)},{pair(module.padding)},{int(module.ceil_mode)}"
    if isinstance(module, nn.AdaptiveAvgPool2d):
        return f"g{pair(module.output_size)}"
    if isinstance(module, nn.Dropout):
        return f"o{module.p}" if module.p else None
    if isinstance(module, StochasticDepth):
        return "d" if module.p else None
    if isinstance(module, nn.Identity):
        return None
    if isinstance(module, nn.Flatten):
        return "f"
    if isinstance(module, Permute):
        return "y" + ",".join(map(str, module.dims))
    letters = {
        "ReLU": "r", "ReLU6": "6", "Hardswish": "w", "Hardsigmoid": "x", "SiLU": "s", "Sigmoid": "i", "GELU": "u",
        "Tanh": "e",
    }  # fmt: skip
    if kind in letters:
        letter = letters[kind]
        return (
            letter.upper()
            if getattr(module, "inplace", False) and letter != "6"
            else letter + ("!" if getattr(module, "inplace", False) else "")
        )
    if isinstance(module, ShiftedWindowAttention):
        version = 2 if isinstance(module, ShiftedWindowAttentionV2) else 1
        return f"Q{module.num_heads},{module.window_size[0]},{module.shift_size[0]},{version}"
    if kind in ("PatchMerging", "PatchMergingV2"):
        return "P1" if kind == "PatchMerging" else "P2"
    if kind == "RelativePositionalMultiHeadAttention":
        return f"K{module.n_heads},{module.size}"
    if kind == "SwapAxes":
        return "T"
    raise Undescribed(kind)


def pair(value: Any) -> str:
    """One number where both sides are alike, else `3x1`."""
    if isinstance(value, int):
        return str(value)
    first, second = value
    return str(first) if first == second else f"{first}x{second}"


def pool_word(letter: str, kwargs: dict[str, Any], args: tuple[Any, ...]) -> str:
    kernel = kwargs.get("kernel_size", args[1] if len(args) > 1 else None)
    stride = kwargs.get("stride", args[2] if len(args) > 2 else None) or kernel
    padding = kwargs.get("padding", args[3] if len(args) > 3 else 0)
    return (
        f"{letter}{pair(kernel)},{pair(stride)},{pair(padding)},{int(bool(kwargs.get('ceil_mode', False)))}"
    )


if __name__ == "__main__":
    main(sys.argv[1])
