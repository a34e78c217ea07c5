"""Calling `tonnage sandbox` as a user does: a process of its own, in a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


class Command:
    """The command with its state in one folder; the components come from the machine's own cache."""

    def __init__(self, state: Path, prefix: tuple[str, ...] = (), env: dict[str, str] | None = None) -> None:
        self.state = state
        self.prefix = prefix
        self.env = {**os.environ, "XDG_STATE_HOME": str(state), **(env or {})}

    def argv(self, *words: str) -> list[str]:
        return [*self.prefix, sys.executable, "-m", "tonnage", "sandbox", *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.argv(*words), env=self.env, capture_output=True, text=True, check=False, cwd="/", timeout=240
        )

    def json(self, *words: str) -> Any:
        done = self.run(*words, "-o", "json")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.argv(*words), env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/"
        )

    def processes(self) -> list[str]:
        """Every process of the machine that has to do with this folder."""
        found = []
        for folder in Path("/proc").iterdir():
            try:
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if folder.name.isdigit() and str(self.state) in words:
                found.append(words)
        return found

    def files(self) -> list[Path]:
        return list(self.state.rglob("*"))
