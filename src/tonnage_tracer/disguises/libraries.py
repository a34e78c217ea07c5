"""Libraries that ask whether a tensor is fake, and then build masks and skip kernels a real run would not.

Hugging Face transformers treats a fake tensor as "somebody is tracing a graph": attention masks are materialised
and `is_causal` and grouped attention are given up. Its question is answered with no. The library is imported by the
user's code, so the answer is changed when the import happens.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any


def _never(_tensor: Any) -> bool:
    return False


def _transformers(module: Any) -> None:
    if hasattr(module, "is_fake_tensor"):
        module.is_fake_tensor = _never


CHANGES: dict[str, Callable[[Any], None]] = {"transformers.utils.import_utils": _transformers}


@contextlib.contextmanager
def disguise() -> Iterator[None]:
    """Change what is imported already, and the rest when it is."""
    originals = {}
    for name, change in CHANGES.items():
        if name in sys.modules:
            originals[name] = dict(vars(sys.modules[name]))
            change(sys.modules[name])
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name, before in originals.items():
            vars(sys.modules[name]).update(before)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules to change as everybody else does, and wraps how they are executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in CHANGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Changing(spec.loader, CHANGES[fullname])
        return spec


class _Changing(importlib.abc.Loader):
    def __init__(self, loader: Any, change: Callable[[Any], None]) -> None:
        self._loader = loader
        self._change = change

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self._loader.exec_module(module)
        self._change(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
