"""`dataclass` as the standard library has it, made in a fifth of the time.

Before Python 3.13 the standard decorator compiles up to six functions for every class, one by one, each time the
program starts; a plan needs three hundred such classes, and compiling them was the largest part of its start. Here
only `__init__` is compiled. Comparing, hashing, showing and refusing to change are the same few functions for all
classes, closed over the names of the fields. Fields, defaults, slots and inheritance are still the standard
library's own, so `replace`, `fields`, `asdict` and `match` work as everywhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def dataclass(cls: type[T], /) -> type[T]: ...


@overload
def dataclass(
    *, frozen: bool = ..., slots: bool = ..., kw_only: bool = ..., order: bool = ...
) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(field_specifiers=(field, Field))
def dataclass(
    cls: type[T] | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
    order: bool = False,
) -> type[T] | Callable[[type[T]], type[T]]:
    """A class of fields; compared by them, hashed by them where it is frozen."""

    def made(given: type[T]) -> type[T]:
        if order or "__post_init__" in given.__dict__:  # seldom: the standard library's own
            return dataclasses.dataclass(frozen=frozen, slots=slots, kw_only=kw_only, order=order)(given)
        return _made(given, frozen=frozen, slots=slots, kw_only=kw_only)

    return made if cls is None else made(cls)


def _made(given: type[T], *, frozen: bool, slots: bool, kw_only: bool) -> type[T]:
    own = set(given.__dict__)
    plain = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)
    cls: Any = plain(given)
    fields = [one for one in dataclasses.fields(cls) if one.init]
    methods: dict[str, Any] = {"__init__": _initialiser(cls, fields, frozen), "__repr__": _shown}
    compared = [one.name for one in dataclasses.fields(cls) if one.compare]
    methods["__eq__"], hashed = _comparing(compared)
    methods["__hash__"] = hashed if frozen else None
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        if slots:
            methods |= {"__getstate__": _state, "__setstate__": _restore}
    for name, method in methods.items():
        if name not in own or (name == "__hash__" and cls.__dict__.get(name) is None):
            setattr(cls, name, method)
    return cls  # type: ignore[no-any-return]


def _initialiser(cls: type, fields: list[Field[Any]], frozen: bool) -> Callable[..., None]:
    """`__init__`, the one method whose text depends on the fields."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_absent": MISSING}
    positional, by_name, lines = ["self"], list[str](), list[str]()
    for one in fields:
        name, text = one.name, one.name
        if one.default is not MISSING:
            known[f"_default_{name}"] = one.default
            text += f"=_default_{name}"
        elif one.default_factory is not MISSING:
            known[f"_make_{name}"] = one.default_factory
            text += "=_absent"
            lines.append(f" if {name} is _absent: {name} = _make_{name}()")
        (by_name if one.kw_only else positional).append(text)
        lines.append(f" _set(self, {name!r}, {name})" if frozen else f" self.{name} = {name}")
    arguments = ", ".join([*positional, *(["*", *by_name] if by_name else [])])
    # The names come from a class body of ours, and the defaults are passed by name: nothing else becomes code.
    exec(f"def __init__({arguments}):\n" + ("\n".join(lines) or " pass"), known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = {one.name: one.type for one in fields} | {"return": None}
    return made


def _comparing(names: list[str]) -> tuple[Callable[[Any, object], bool], Callable[[Any], int]]:
    values: Callable[[Any], object] = attrgetter(*names) if names else lambda _: ()

    def equals(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented  # type: ignore[no-any-return]
        return self is other or bool(values(self) == values(other))

    def hashed(self: Any) -> int:
        return hash(values(self))

    return equals, hashed


def _shown(self: Any) -> str:
    names = [one.name for one in dataclasses.fields(self) if one.repr]
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


def _refuse_to_set(_self: Any, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _restore(self: Any, state: list[object]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
