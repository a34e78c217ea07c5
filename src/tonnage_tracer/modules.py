"""Which module is at work: in the forward pass the innermost call, in the backward pass the one that made the node.

Autograd numbers its nodes in the order the forward pass makes them, per thread. Noting the number whenever a
module is entered or left is enough to find, for the node autograd is running, the module that made it. The calls
themselves are watched by standing in for `Module.__call__`, which (unlike global hooks) leaves torch's own paths
through a module as they are.
"""

from __future__ import annotations

import bisect
import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

NOWHERE = 0
"""Index of the empty path: outside all modules."""

_sequence_number: Callable[[], int] = torch._C._autograd._get_sequence_nr
_current_node: Callable[[], Any] = torch._C._current_autograd_node


class _Thread:
    """The module stack of one thread, and where in its sequence of nodes each change happened."""

    def __init__(self) -> None:
        self.stack: list[int] = []
        self.numbers: list[int] = []
        self.modules: list[int] = []

    def moved(self) -> None:
        number = _sequence_number()
        now = self.stack[-1] if self.stack else NOWHERE
        if self.numbers and self.numbers[-1] == number:
            self.modules[-1] = now
        else:
            self.numbers.append(number)
            self.modules.append(now)


class Modules:
    """Paths of modules, and the one at work in this thread."""

    def __init__(self) -> None:
        self._paths: list[tuple[int, str]] = [(0, "")]
        self._roots: list[str] = [""]
        self._indices: dict[int, tuple[Any, int]] = {}
        self._parameters: dict[int, tuple[Any, int]] = {}
        self._local = threading.local()
        self._graphs: list[_Thread] = []
        """Threads whose forward pass the running backward passes (innermost last) belong to."""
        self.on_outermost: list[Callable[[nn.Module, Any, Any], None]] = []
        """Told before a module is called from outside all modules of its thread."""
        self.on_left: list[Callable[[], None]] = []
        """Told after such a call has ended."""

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch module calls."""
        original = nn.Module.__call__

        def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            thread = self._thread()
            if not thread.stack:
                for told in self.on_outermost:
                    told(module, args, kwargs)
            thread.stack.append(self._index(module, thread))
            thread.moved()
            try:
                return original(module, *args, **kwargs)
            finally:
                thread.stack.pop()
                thread.moved()
                if not thread.stack:
                    for left in self.on_left:
                        left()

        nn.Module.__call__ = call
        try:
            yield
        finally:
            nn.Module.__call__ = original

    @contextlib.contextmanager
    def backward(self) -> Iterator[None]:
        """A backward pass of what this thread's forward pass made."""
        self._graphs.append(self._thread())
        try:
            yield
        finally:
            self._graphs.pop()

    def current(self) -> int:
        """Index of the module at work in this thread."""
        thread = self._thread()
        if thread.stack:
            return thread.stack[-1]
        if not self._graphs:
            return NOWHERE
        node = _current_node()
        return NOWHERE if node is None else self._maker(node)

    def is_inside(self) -> bool:
        """Whether this thread is inside a module's call."""
        return bool(self._thread().stack)

    def path(self, index: int) -> str:
        """The path by which a reader finds a module: `layers.3.mlp`, with its root's class where there are several."""
        root, path = self._paths[index]
        several = len(self._roots) > 2
        if not path or not several:
            return path or self._roots[root]
        return f"{self._roots[root]}.{path}"

    def paths(self) -> list[str]:
        """All paths, by index."""
        return [self.path(index) for index in range(len(self._paths))]

    def _thread(self) -> _Thread:
        found: _Thread | None = getattr(self._local, "thread", None)
        if found is None:
            found = self._local.thread = _Thread()
        return found

    def _maker(self, node: Any) -> int:
        """The module that made an autograd node; a gradient's accumulation belongs to its parameter's owner."""
        variable = getattr(node, "variable", None)
        if variable is not None:
            known = self._parameters.get(id(variable))
            return known[1] if known is not None and known[0]() is variable else NOWHERE
        thread = self._graphs[-1]
        place = bisect.bisect_right(thread.numbers, node._sequence_nr()) - 1
        return thread.modules[place] if place >= 0 else NOWHERE

    def _index(self, module: nn.Module, thread: _Thread) -> int:
        known = self._indices.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        if thread.stack:  # made on the fly inside another module
            root, path = self._paths[thread.stack[-1]]
            name = type(module).__name__
            return self._remember(module, root, f"{path}.{name}" if path else name)
        self._roots.append(type(module).__name__)
        root = len(self._roots) - 1
        for path, inner in module.named_modules():
            self._remember(inner, root, path)
        return self._indices[id(module)][1]

    def _remember(self, module: nn.Module, root: int, path: str) -> int:
        index = len(self._paths)
        self._paths.append((root, path))
        self._indices[id(module)] = (weakref.ref(module), index)
        for parameter in module._parameters.values():
            if parameter is not None:
                self._parameters[id(parameter)] = (weakref.ref(parameter), index)
        return index
