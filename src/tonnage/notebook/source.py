"""A function as a file that runs on its own: its source, what it uses, and its arguments. Pure.

What a function uses from around it is found by the names in its code. A module is imported again, a function or class
of an importable module likewise; what the notebook itself defined goes along as source; numbers, texts and plain
collections as they are. Anything else (an open file, a tensor, a closure) has no honest form as text and is refused.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tonnage.errors import Problem, UsageError

HEADER = '"""Written by tonnage.notebook: one function, what it uses, and its call."""\n'


def script_of(function: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """The text of a script that calls the function; raise UsageError where it cannot be one."""
    refuse_what_has_no_source(function)
    gathered = _Gathered()
    gathered.add(function)
    call = ", ".join(
        [*(_literal(value, "an argument") for value in arguments)]
        + [f"{name}={_literal(value, f'argument {name}')}" for name, value in keywords.items()]
    )
    try:
        inspect.signature(function).bind(*arguments, **keywords)
    except TypeError as error:
        raise _refused(
            f"{function.__name__} {error}", f"its arguments are {inspect.signature(function)}"
        ) from None
    parts = [HEADER, *gathered.imports, "", *gathered.values, "", *gathered.sources]
    parts.append(
        f'if __name__ == "__main__":\n    result = {function.__name__}({call})\n'
        "    if result is not None:\n        print(result)\n"
    )
    return "\n".join(parts)


def refuse_what_has_no_source(function: Callable[..., Any]) -> None:
    """A lambda, a method, a closure or a builtin cannot be sent as source."""
    if not isinstance(function, types.FunctionType):
        raise _refused(f"{function!r} is a {type(function).__name__}", "pass a function made with `def`")
    if function.__name__ == "<lambda>":
        raise _refused("a lambda has no source of its own", "give it a name: def train(...): ...")
    if function.__code__.co_freevars:
        names = ", ".join(function.__code__.co_freevars)
        raise _refused(
            f"{function.__name__} is a closure over {names}",
            f"pass {names} as arguments, and define it at the top",
        )


class _Gathered:
    """What goes into the script, each once, in an order that works."""

    def __init__(self) -> None:
        self.imports: list[str] = []
        self.values: list[str] = []
        self.sources: list[str] = []
        self._seen: set[str] = set()

    def add(self, thing: Any) -> None:
        """The source of a function or class, after everything it uses."""
        name = thing.__name__
        if name in self._seen:
            return
        self._seen.add(name)
        around = _globals_of(thing)
        for used in sorted(_names_in(thing)):
            if used not in self._seen and used in around:
                self._add_used(used, around[used], name)
        self.sources.append(_source(thing) + "\n")

    def _add_used(self, name: str, value: Any, by: str) -> None:
        if inspect.ismodule(value):
            self._seen.add(name)
            self.imports.append(
                f"import {value.__name__}" + ("" if value.__name__ == name else f" as {name}")
            )
        elif isinstance(value, types.FunctionType | type) and value.__module__ != "__main__":
            if value.__module__ == "builtins":
                return
            self._seen.add(name)
            self.imports.append(f"from {value.__module__} import {value.__name__}"
                                + ("" if value.__name__ == name else f" as {name}"))  # fmt: skip
        elif isinstance(value, types.FunctionType | type):
            if isinstance(value, types.FunctionType):
                refuse_what_has_no_source(value)
            self.add(value)
            if value.__name__ != name:
                self.sources.append(f"{name} = {value.__name__}\n")
        elif isinstance(value, types.BuiltinFunctionType) and value.__module__:
            self._seen.add(name)
            self.imports.append(f"from {value.__module__} import {value.__name__} as {name}")
        else:
            self._seen.add(name)
            self.values.append(f"{name} = {_literal(value, f'{name}, which {by} uses,')}")


def _globals_of(thing: Any) -> Mapping[str, Any]:
    if isinstance(thing, types.FunctionType):
        return thing.__globals__
    module = inspect.getmodule(thing)
    return vars(module) if module is not None else {}


def _names_in(thing: Any) -> set[str]:
    """Global names its code reads, those of functions inside it included."""
    tree = ast.parse(_source(thing))
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return {name for name in found if not hasattr(builtins, name)} - _arguments(tree)


def _arguments(tree: ast.AST) -> set[str]:
    """Names of parameters: they hide what is outside."""
    return {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def _source(thing: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError):
        raise _refused(
            f"the source of {thing.__name__} cannot be found",
            "define it in a cell or a file, not in a string",
        ) from None


def _literal(value: Any, what: str) -> str:
    """A plain value as Python writes it."""
    text = repr(value)
    try:
        is_same = ast.literal_eval(text) == value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        is_same = False
    if not is_same:
        raise _refused(
            f"{what} is a {type(value).__name__}, which cannot be written as text",
            "pass numbers, texts and plain collections; load the rest inside the function",
        )
    return text


def _refused(what: str, hint: str) -> UsageError:
    return UsageError(Problem(code="NOTEBOOK-001", what=f"cannot send this function: {what}", hint=hint))
