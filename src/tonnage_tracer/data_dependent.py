"""Operations whose result depends on data: answered where the data is known, else by an assumption that is noted.

`.item()` of a loss is 1.0, a loss is finite, a mask nobody can know selects everything (an upper bound). Copies to
the CPU become real tensors, because what reads them (NumPy, printing, metrics) cannot read fake ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from .host import said_pinned
from .known_values import Known, is_assumed, is_drawn, known_value
from .notes import Notes

Handler = Callable[[Any, Any, dict[str, Any]], Any]

MAX_BYTES_TO_HOST = 64 << 20
"""Copies to the CPU up to this size become real tensors."""


class DataDependent:
    """Answers for operations that read data."""

    def __init__(self, notes: Notes, module_path: Callable[[], str]) -> None:
        self._notes = notes
        self._module_path = module_path

    def handlers(self) -> dict[str, Handler]:
        """Which operation is answered how; a handler may return NotImplemented for a call that needs no answer."""
        return {
            "aten._local_scalar_dense.default": self._item,
            "aten.equal.default": self._equal,
            "aten.nonzero.default": self._nonzero,
            "aten.masked_select.default": self._masked_select,
            "aten.index.Tensor": self._index,
            "aten._unique2.default": self._unique2,
            "aten.unique_dim.default": self._unique_along,
            "aten.unique_consecutive.default": self._unique_consecutive,
            "aten.bincount.default": self._bincount,
            "aten.repeat_interleave.Tensor": self._repeat_interleave,
            "aten._pack_padded_sequence.default": self._pack_padded_sequence,
            "aten._to_copy.default": self._to_copy,
            "aten.is_pinned.default": lambda _func, args, _kwargs: getattr(args[0], "is_said_pinned", False),
            "aten._pin_memory.default": lambda _func, args, _kwargs: said_pinned(args[0]),
            "torchvision.nms.default": self._nms,
        }

    def _item(self, _func: Any, args: Any, _kwargs: Any) -> Any:
        """A number read from the GPU. Every single number has a value, at worst an assumed one."""
        source = args[0]
        value = known_value(source)
        if value is None:
            answer: Any = 1.0 if source.dtype.is_floating_point else 1
        else:
            with torch._C._DisableTorchDispatch():
                answer = value.item()
        if not source.dtype.is_floating_point:
            self._noted_if_drawn(source)
        if value is None or is_assumed(source):
            self._notes.add(
                "assumed-value", f"a value read from the GPU{self._inside()} was taken to be {answer}"
            )
        return answer

    def _equal(self, _func: Any, args: Any, _kwargs: Any) -> bool:
        values = known_value(args[0]), known_value(args[1])
        if values[0] is not None and values[1] is not None:
            with torch._C._DisableTorchDispatch():
                return bool(torch.equal(values[0], values[1]))
        self._notes.add("assumed-value", f"two tensors compared{self._inside()} were taken to be different")
        return False

    def _nonzero(self, _func: Any, args: Any, _kwargs: Any) -> Any:
        source = args[0]
        return self._indices(source, self._count(source, "nonzero"))

    def _masked_select(self, _func: Any, args: Any, _kwargs: Any) -> Any:
        source, mask = args
        shape = torch.broadcast_shapes(source.shape, mask.shape)
        selected = self._count(mask, "masked_select") * (_numel(shape) // max(mask.numel(), 1))
        return source.new_empty((selected,))

    def _index(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Index with boolean masks turned into the indices they stand for."""
        source, indices = args
        if not any(_is_mask(each) for each in indices):
            return NotImplemented
        plain: list[Any] = []
        for each in indices:
            if _is_mask(each):
                plain += self._indices(each, self._count(each, "a boolean mask")).unbind(1)
            else:
                plain.append(each)
        return func(source, plain, **kwargs)

    def _unique2(self, _func: Any, args: Any, kwargs: Any) -> Any:
        source = args[0]
        inverse, counts = _flags(args, kwargs, (2, "return_inverse"), (3, "return_counts"))
        number = self._unique_count(source, lambda value: torch.unique(value).numel())
        return (
            source.new_empty((number,)),
            source.new_empty(source.shape if inverse else (0,), dtype=torch.int64),
            source.new_empty((number,) if counts else (0,), dtype=torch.int64),
        )

    def _unique_along(self, _func: Any, args: Any, kwargs: Any) -> Any:
        source, dim = args[0], args[1]
        inverse, counts = _flags(args, kwargs, (3, "return_inverse"), (4, "return_counts"))
        number = self._unique_count(
            source, lambda value: torch.unique(value, dim=dim).shape[dim], source.shape[dim]
        )
        shape = list(source.shape)
        shape[dim] = number
        return (
            source.new_empty(shape),
            source.new_empty((source.shape[dim],) if inverse else (0,), dtype=torch.int64),
            source.new_empty((number,) if counts else (0,), dtype=torch.int64),
        )

    def _unique_consecutive(self, _func: Any, args: Any, kwargs: Any) -> Any:
        source = args[0]
        inverse, counts = _flags(args, kwargs, (1, "return_inverse"), (2, "return_counts"))
        number = self._unique_count(source, lambda value: torch.unique_consecutive(value).numel())
        return (
            source.new_empty((number,)),
            source.new_empty(source.shape if inverse else (0,), dtype=torch.int64),
            source.new_empty((number,) if counts else (0,), dtype=torch.int64),
        )

    def _bincount(self, _func: Any, args: Any, kwargs: Any) -> Any:
        source = args[0]
        weights = kwargs.get("weights", args[1] if len(args) > 1 else None)
        number = kwargs.get("minlength", args[2] if len(args) > 2 else 0)
        value = known_value(source)
        if value is not None and value.numel():
            with torch._C._DisableTorchDispatch():
                number = max(number, int(value.max()) + 1)
        elif value is None and not number:
            number = source.numel()
            self._bounded("bincount", number)
        dtype = (
            torch.int64
            if weights is None
            else (weights.dtype if weights.dtype == torch.float32 else torch.float64)
        )
        return source.new_empty((number,), dtype=dtype)

    def _repeat_interleave(self, _func: Any, args: Any, kwargs: Any) -> Any:
        repeats = args[0]
        number = kwargs.get("output_size", args[1] if len(args) > 1 else None)
        if number is None:
            value = known_value(repeats)
            number = int(repeats.numel())
            if value is not None:
                self._noted_if_drawn(repeats)
                with torch._C._DisableTorchDispatch():
                    number = int(value.sum())
            else:
                self._notes.add(
                    "bounded", f"repeat_interleave{self._inside()} by unknown counts was taken to repeat once"
                )
        return repeats.new_empty((number,))

    def _pack_padded_sequence(self, _func: Any, args: Any, _kwargs: Any) -> Any:
        """Sequences laid side by side; their lengths lie on the CPU and are real."""
        source, lengths, _batch_first = args
        value = known_value(lengths)
        if value is None:
            return NotImplemented
        with torch._C._DisableTorchDispatch():
            longest = int(value.max())
            sizes = (value[None, :] > torch.arange(longest)[:, None]).sum(1)
            total = int(value.sum())
        return source.new_empty((total, *source.shape[2:])), sizes

    def _nms(self, _func: Any, args: Any, _kwargs: Any) -> Any:
        """Boxes that survive non-maximum suppression: at most all."""
        boxes = args[0]
        self._bounded("nms", boxes.shape[0])
        return boxes.new_empty((boxes.shape[0],), dtype=torch.int64)

    def _to_copy(self, _func: Any, args: Any, kwargs: Any) -> Any:
        """A copy from the GPU to the CPU, as a real tensor: its known value, else ones."""
        source, device = args[0], kwargs.get("device")
        leaves = (
            isinstance(source, FakeTensor)
            and device is not None
            and torch.device(device).type == "cpu"
            and source.fake_device.type == "cuda"
        )
        if not leaves or source.numel() * source.element_size() > MAX_BYTES_TO_HOST:
            return NotImplemented
        value = known_value(source)
        if not source.dtype.is_floating_point:
            self._noted_if_drawn(source)
        dtype = kwargs.get("dtype") or source.dtype
        with torch._C._DisableTorchDispatch():
            if value is not None:
                return value.to(dtype=dtype, copy=True)
            return torch.ones(tuple(source.shape), dtype=dtype)

    def _indices(self, source: Any, count: int) -> Any:
        """Where a tensor is not zero: one row per element, laid out by column as CUDA's kernel does."""
        dims = source.dim()
        made = torch.empty_strided((count, dims), (1, max(count, 1)), dtype=torch.int64, device=source.device)
        value = known_value(source)
        if value is not None and isinstance(made, FakeTensor):
            with torch._C._DisableTorchDispatch():
                made.__dict__["known_value"] = (value.nonzero(), Known(is_drawn=is_drawn(source)))
        return made

    def _count(self, mask: Any, what: str) -> int:
        """How many elements of a mask are set."""
        value = known_value(mask)
        if value is not None:
            self._noted_if_drawn(mask)
            with torch._C._DisableTorchDispatch():
                return int(torch.count_nonzero(value))
        self._bounded(what, mask.numel())
        return int(mask.numel())

    def _unique_count(self, source: Any, count: Callable[[Any], int], bound: int = -1) -> int:
        value = known_value(source)
        if value is not None:
            self._noted_if_drawn(source)
            with torch._C._DisableTorchDispatch():
                return int(count(value))
        number = int(source.numel()) if bound < 0 else int(bound)
        self._bounded("unique", number)
        return number

    def _noted_if_drawn(self, source: Any) -> None:
        """A size (or a count read back, which becomes one) that a random choice decided: other draws, other sizes."""
        if is_drawn(source):
            self._notes.add(
                "drawn-sizes",
                f"sizes{self._inside()} follow from a choice taken to be random; they vary by step",
            )

    def _bounded(self, what: str, number: int) -> None:
        self._notes.add(
            "bounded",
            f"{what}{self._inside()} depends on data; it was taken to select all {number} elements",
        )

    def _inside(self) -> str:
        return inside(self._module_path())


def inside(path: str) -> str:
    """ " in layers.*.mlp": where something was assumed; layers that differ only by number are one place."""
    return " in " + re.sub(r"(?<![^.])\d+(?![^.])", "*", path) if path else ""


def _is_mask(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)


def _numel(shape: Any) -> int:
    number = 1
    for size in shape:
        number *= size
    return number


def _flags(args: Any, kwargs: Any, *places: tuple[int, str]) -> list[bool]:
    return [bool(kwargs.get(name, args[place] if len(args) > place else False)) for place, name in places]
