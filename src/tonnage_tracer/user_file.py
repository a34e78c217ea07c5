"""The user's file, loaded as `python FILE.py` would run it, short of `if __name__ == "__main__"`.

Working folder and environment are inherited from the parent; the file's folder comes first on `sys.path`;
`sys.argv` holds the file alone. The module goes by the file's name, so that classes defined in it can be pickled
and worker processes can import it again.
"""

from __future__ import annotations

import difflib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import allocator_environment
from .failing import CannotRecord

_SHOWN = 8
"""Functions that are named where the one asked for is not there."""


def load_build(file: str, function: str) -> Callable[..., Any]:
    """The build function of the user's file, which is run once."""
    module = _run(Path(file))
    build = getattr(module, function, None)
    if build is None:
        raise CannotRecord(
            "no-function",
            f"{Path(file).name} has no function {function!r}.",
            _nearest(module, function) or "Name a function of the file: --step FILE.py:build.",
        )
    return build  # type: ignore[no-any-return]


def _run(path: Path) -> Any:
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    sys.argv = [os.path.relpath(path)]
    usable = path.stem.isidentifier() and path.stem not in sys.modules
    name = path.stem if usable else "step_file"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CannotRecord("not-python", f"{path.name} is not a Python file.", "Its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with allocator_environment.listening():
        spec.loader.exec_module(module)
    return module


def _nearest(module: Any, asked: str) -> str:
    """Functions the file itself defines, those most like the one asked for first."""
    mine = [
        name
        for name, value in vars(module).items()
        if callable(value)
        and getattr(value, "__module__", None) == module.__name__
        and not name.startswith("_")
    ]
    more = f" and {len(mine) - _SHOWN} more" if len(mine) > _SHOWN else ""
    shown = difflib.get_close_matches(asked, mine, n=_SHOWN, cutoff=0.0)
    return f"It has {', '.join(shown)}{more}." if mine else ""
