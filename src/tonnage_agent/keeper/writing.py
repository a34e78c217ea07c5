"""What a script may hand in as its state, and how it becomes files.

a function        called with the folder to write into: `lambda folder: torch.save(state, folder / "state.pt")`
bytes             one file, `state`
dict of bytes     one file each, named by the keys
anything else     with `dump`, such as `torch.save` or `lambda s, path: ...`: `dump(state, folder / "state")`
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable, Optional

from tonnage_agent.keeper.manifest import MANIFEST, is_safe_path

STATE_FILE = "state"
Dump = Optional[Callable[[Any, Path], Any]]


class UnwritableState(TypeError):  # noqa: N818 - what it is
    """A state nobody knows how to write: a mistake of the script, not of the place."""


def write_state(state: Any, folder: Path, dump: Dump = None) -> None:
    """Write the state into the folder, by whatever kind it is."""
    if dump is not None:
        dump(state, folder / STATE_FILE)
    elif callable(state):
        state(folder)
    elif isinstance(state, (bytes, bytearray, memoryview)):
        (folder / STATE_FILE).write_bytes(state)
    elif isinstance(state, Mapping) and all(
        isinstance(v, (bytes, bytearray, memoryview)) for v in state.values()
    ):
        for name, content in state.items():
            _write_named(folder, str(name), content)
    else:
        raise UnwritableState(
            f"a checkpoint cannot be made of {type(state).__name__} alone: give bytes, a dict of bytes, a function "
            "that writes into a folder, or say how it is written, such as dump=torch.save"
        )


def _write_named(folder: Path, name: str, content: Any) -> None:
    if not is_safe_path(name) or name == MANIFEST:
        raise ValueError(f"{name!r} cannot be the name of a file in a checkpoint")
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
