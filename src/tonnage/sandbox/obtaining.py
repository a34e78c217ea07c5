"""From a component's name to a program that runs: PATH, then the cache, then an official download, then Go.

Each way is tried in that order, and the one that was taken is said aloud, with why the ones before it were
not. A download is used only after its SHA-256 matched the pinned one; a machine that cannot reach the
download (a closed network) goes on to build from source after a few seconds.
"""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import subprocess
import tarfile
import tempfile
import textwrap
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path

from tonnage.errors import EnvironmentProblem, Problem
from tonnage.sandbox.building import build
from tonnage.sandbox.components import Component, Download, platform_name
from tonnage.sandbox.golang import find_go
from tonnage.sandbox.locking import locked
from tonnage.sandbox.showing import Show

_CONNECT_SECONDS = 5


def obtain(components: Iterable[Component], show: Show) -> dict[str, Path]:
    """The program of each component, by name; whatever is missing is fetched or built first."""
    found: dict[str, Path] = {}
    missing: list[Component] = []
    for component in components:
        program = _on_path(component) or _in_cache(component)
        if program is None:
            missing.append(component)
        else:
            found[component.name] = program
    if missing:
        _announce(missing, show)
    for component in missing:
        found[component.name] = _make(component, show)
    return found


def _announce(missing: list[Component], show: Show) -> None:
    minutes = max(1, round(sum(component.typical_seconds for component in missing) / 60))
    names = ", ".join(component.name for component in missing)
    lines = textwrap.wrap(
        f"first use: {names} neither on PATH nor in the cache, so fetched or built now; up to {minutes} min "
        "if all is built from source. The next start takes seconds.",
        76,
    )
    for line in lines:
        show.line(f"  {line}")


def _on_path(component: Component) -> Path | None:
    program = shutil.which(component.name) if component.accepts and not component.assets else None
    if program is None:
        return None
    try:
        said = subprocess.run(
            [program, *component.version_arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(program) if re.search(component.accepts, said.stdout + said.stderr) else None


def _in_cache(component: Component) -> Path | None:
    return component.cached if component.cached.is_file() else None


def _make(component: Component, show: Show) -> Path:
    with locked(component.folder.parent.parent / "locks" / component.folder.name):
        # Someone else may have made it while we waited for the lock.
        if _in_cache(component) is None:
            component.folder.parent.mkdir(parents=True, exist_ok=True)
            why = _download(component, show)
            if why is not None:
                build(component, find_go(show), show, why)
    return component.cached


def _download(component: Component, show: Show) -> str | None:
    """Fetch the official build into the cache; otherwise return what to say about it, often nothing."""
    download = component.download
    pinned = download.sha256.get(platform_name()) if download else None
    if download is None or pinned is None:
        return ""
    if component.assets:
        return ""
    url = _filled(download.url, component)
    try:
        with show.running(component.title, "downloading"):
            content = _fetch(url)
    except (OSError, urllib.error.URLError) as problem:
        return f" (no download: {getattr(problem, 'reason', problem)})"
    _check(component, url, content, pinned)
    _store(component, _unpacked(content, download, component))
    show.step(component.title, "downloaded, checksum right")
    return None


def _fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=_CONNECT_SECONDS) as answer:
        content: bytes = answer.read()
        return content


def _check(component: Component, url: str, content: bytes, pinned: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != pinned:
        raise EnvironmentProblem(
            Problem(
                code="BOX-032",
                what=f"the download of {component.name} {component.version} is not the file it should be",
                where=url,
                found=f"sha256 {found}",
                expected=pinned,
                hint="nothing was kept; a proxy may have changed it. Put the program on PATH to go on",
            )
        )


def _unpacked(content: bytes, download: Download, component: Component) -> bytes:
    if download.member is None:
        return content
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        member = archive.extractfile(_filled(download.member, component))
        assert member is not None, "a pinned archive holds what it is pinned for"
        return member.read()


def _store(component: Component, program: bytes) -> None:
    with tempfile.TemporaryDirectory(dir=component.folder.parent, prefix=f".{component.name}-") as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        (made / component.name).write_bytes(program)
        (made / component.name).chmod(0o755)
        shutil.rmtree(component.folder, ignore_errors=True)
        made.rename(component.folder)


def _filled(pattern: str, component: Component) -> str:
    system, _, machine = platform_name().partition("-")
    return pattern.format(version=component.version, os=system, arch=machine)
