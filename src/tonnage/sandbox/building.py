"""A component built from source: the Go module of its group pins every line of it.

The result appears in the cache whole or not at all (built aside, then renamed), and two sandboxes that need
the same component at the same time build it once. Go's own build cache makes a second build quick.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tonnage.errors import EnvironmentProblem, Problem
from tonnage.sandbox.components import Asset, Component
from tonnage.sandbox.showing import Progress, Show


def build(component: Component, go: Path, show: Show, why: str) -> None:
    """Build the component into its cache folder; the caller holds the lock on it."""
    home = component.folder.parent
    with tempfile.TemporaryDirectory(dir=home, prefix=f".{component.name}-") as scratch:
        target = Path(scratch) / "made"
        target.mkdir()
        with show.running(
            component.title, f"building from source{why}", component.typical_seconds
        ) as progress:
            _compile(component, go, target / component.name, progress)
            for asset in component.assets:
                _copy(component, go, asset, target / asset.target)
        shutil.rmtree(component.folder, ignore_errors=True)
        target.chmod(0o755)
        target.rename(component.folder)
    show.step(component.title, "built from source")


def go_environment() -> dict[str, str]:
    """What every call of Go gets: this module as it stands, this Go, no C compiler."""
    return {
        **os.environ,
        "GOFLAGS": "-mod=readonly",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "CGO_ENABLED": "0",
    }


def _compile(component: Component, go: Path, output: Path, progress: Progress) -> None:
    flags = f"-s -w {component.ldflags}".strip()
    command = [str(go), "build", "-trimpath", "-ldflags", flags, "-o", str(output), component.package]
    said: list[str] = []
    num_downloaded = 0
    with subprocess.Popen(
        command,
        cwd=component.module,
        env=go_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("go: downloading "):
                num_downloaded += 1
                progress.text = f"building, {num_downloaded} modules downloaded"
            else:
                said.append(line.rstrip())
    if process.returncode != 0:
        raise _failed(component, said)


def _copy(component: Component, go: Path, asset: Asset, target: Path) -> None:
    answer = subprocess.run(
        [go, "mod", "download", "-json", asset.module],
        cwd=component.module,
        env=go_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise _failed(component, answer.stderr.splitlines())
    source = Path(json.loads(answer.stdout)["Dir"]) / asset.source
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    # Go's module cache is read-only, and the copy must be removable.
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _failed(component: Component, said: list[str]) -> EnvironmentProblem:
    shown = "\n".join(f"      {line[:240]}" for line in said[-6:])
    return EnvironmentProblem(
        Problem(
            code="BOX-031",
            what=f"{component.name} {component.version} could not be built",
            hint="Go said last (is its module proxy reachable? see `go env GOPROXY`):\n" + shown,
        )
    )
