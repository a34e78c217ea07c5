"""Install the torch environments that exact mode is tested in, once each, under the user's cache folder.

    python dev/obtain_torch.py              what ./test needs: one per CUDA major, and the frameworks above torch
    python dev/obtain_torch.py 2.9 2.15     the proven build of these minors

torch is never a dependency of ours. It lives in environments of its own, as it does for users, and exact mode is
given their interpreters. Some 6 GB each; quiet where there is nothing to do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tonnage.tracing.supported import TORCH

PINNED = {
    "2.9": ("torch==2.9.1",),
    "2.10": ("torch==2.10.0",),
    "2.11": ("torch==2.11.0", "torchvision==0.26.0", "transformers==5.17.0"),
    "2.12": ("torch==2.12.1",),
    "2.13": ("torch==2.13.0",),
    "2.14": ("torch==2.14.1",),
    "2.15": ("torch==2.15.0",),
}
"""What is installed for a minor: the version the report speaks of. The accuracy figures are of 2.11."""

TESTED = ("2.11", "2.10")
"""What every test run uses: CUDA 13 and CUDA 12."""

FRAMEWORKS = (
    "accelerate==1.15.0",
    "lightning==2.6.6",
    "lightning-utilities==0.15.3",
    "psutil==7.2.2",
    "torchmetrics==1.9.0",
)
"""What the SDK's callbacks are tested with, beside torch 2.11: pure Python, in a folder of its own for PYTHONPATH."""

assert set(PINNED) == set(TORCH), "every supported minor has a pinned version"


def interpreter_of(minor: str) -> Path:
    """Where the environment of a minor has its Python, installed or not."""
    version = PINNED[minor][0].partition("==")[2]
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = f"torch-{version}-py{sys.version_info.major}.{sys.version_info.minor}"
    return Path(home) / "tonnage" / "torch" / name / "bin" / "python"


def obtain(minor: str) -> Path:
    """The interpreter of a minor's environment, which is installed if it is not there yet."""
    python = interpreter_of(minor)
    stamp = python.parent.parent / ".complete"
    wanted = "\n".join(PINNED[minor])
    if stamp.is_file() and stamp.read_text() == wanted and python.exists():
        return python
    print(f"installing {' '.join(PINNED[minor])} (once, some 3 GB to fetch)", flush=True)
    uv = _uv()
    if not python.exists():
        python.parent.parent.parent.mkdir(parents=True, exist_ok=True)
        _run(uv, "venv", "--quiet", "--python", sys.executable, str(python.parent.parent))
    _run(uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python), *PINNED[minor])
    stamp.write_text(wanted)
    return python


def frameworks_folder() -> Path:
    """Where the frameworks lie, installed or not."""
    return interpreter_of("2.11").parent.parent.with_name(
        f"frameworks-lightning-2.6.6-py{sys.version_info.minor}"
    )


def obtain_frameworks() -> Path:
    """The folder of the frameworks, which are installed if they are not there yet."""
    folder = frameworks_folder()
    stamp = folder / ".complete"
    wanted = "\n".join(FRAMEWORKS)
    if stamp.is_file() and stamp.read_text() == wanted:
        return folder
    print(f"installing {' '.join(FRAMEWORKS)} (once, some 20 MB)", flush=True)
    python = str(obtain("2.11"))
    shutil.rmtree(folder, ignore_errors=True)
    # Without what they depend on: torch and its company are in the environment already.
    options = ("--quiet", "--no-deps", "--compile-bytecode", "--python", python, "--target", str(folder))
    _run(_uv(), "pip", "install", *options, *FRAMEWORKS)
    stamp.write_text(wanted)
    return folder


def _uv() -> str:
    """The uv that ./test found or fetched."""
    found = os.environ.get("UV") or shutil.which("uv")
    if not found:
        sys.exit("uv is needed to install torch environments; ./test brings its own, or set UV to one")
    return found


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def main() -> None:
    for minor in sys.argv[1:] or TESTED:
        if minor not in PINNED:
            sys.exit(f"torch {minor} is not one of {', '.join(PINNED)}")
        obtain(minor)
    if not sys.argv[1:]:
        obtain_frameworks()


if __name__ == "__main__":
    main()
