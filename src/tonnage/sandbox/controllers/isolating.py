"""A `/tmp` of its own for a program that insists on a fixed name below it.

The program is started in a mount namespace where the given folder lies over `/tmp`.
Root needs only that; anybody else also a user namespace, which some machines forbid: so we try it first.
The binary may itself lie below `/tmp`: the shell goes to its folder before the mount hides the way there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tonnage.errors import EnvironmentProblem, Problem

_SCRIPT = 'cd "$1" && mount --bind "$2" /tmp && program=$3 && shift 3 && exec "./$program" "$@"'


def with_private_tmp(binary: Path, arguments: Sequence[str], folder: Path) -> list[str]:
    """The command that runs `binary` with `folder` as its `/tmp`; its process id is the program's own."""
    return [*_unshare(), "sh", "-c", _SCRIPT, "sh", str(binary.parent), str(folder), binary.name, *arguments]


def require_private_tmp(title: str) -> None:
    """Raise, with what to do about it, where this machine gives no mount namespace to this user."""
    if shutil.which("unshare") is None:
        raise _refusal(title, "no program `unshare` on PATH", "install the package util-linux")
    trial = subprocess.run([*_unshare(), "true"], capture_output=True, text=True, check=False)
    if trial.returncode != 0:
        raise _refusal(
            title,
            trial.stderr.strip() or f"unshare ended with {trial.returncode}",
            "run as root, or allow user namespaces (sysctl user.max_user_namespaces, on Ubuntu also "
            "kernel.apparmor_restrict_unprivileged_userns=0), or leave training-operator out of --with",
        )


def _unshare() -> list[str]:
    return (
        ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    )


def _refusal(title: str, found: str, hint: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        Problem(
            code="BOX-212",
            what=f"{title} cannot be given a /tmp of its own, which it needs for its certificate",
            found=found,
            expected="a mount namespace",
            hint=hint,
        )
    )
