"""A checkpoint as the training script sees it: a folder with its files, the step it was made after, and notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, TypeVar

from tonnage_agent.keeper.manifest import Manifest
from tonnage_agent.keeper.naming import Name

Loaded = TypeVar("Loaded")


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint. `saved / "model.pt"` is the path of one of its files."""

    name: Name
    manifest: Manifest
    path: str
    """Where it lies: a folder, or s3://..."""
    folder: Path | None = None
    """Its files on this machine; None right after a save to a bucket."""
    seconds: float = 0.0
    """How long saving took."""
    state: Any = field(default=None, compare=False)
    """What `load` returned, where `resume` was given one."""

    @property
    def step(self) -> int:
        """The last step it contains."""
        return self.manifest.step

    @property
    def meta(self) -> dict[str, Any]:
        return self.manifest.meta

    def __truediv__(self, file: str) -> Path:
        if self.folder is None:
            raise FileNotFoundError(f"{self.path} is not on this machine; resume() fetches it")
        return self.folder / file

    def load(self, load: Callable[[Path], Loaded]) -> Loaded:
        """`load` of its only file; of its folder, where it has several."""
        files = self.manifest.files
        return load(self / files[0].path if len(files) == 1 else self / "")
