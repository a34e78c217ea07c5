"""What a machine must have before a real node can be started on it, asked before anything is made.

All that is missing is named at once, with the one command that installs it.
"""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

from tonnage.errors import EnvironmentProblem, Problem
from tonnage.sandbox.realnode.configuring import CNI_PLUGINS

# program or file -> the Debian package that brings it
_PROGRAMS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "containerd-shim-runc-v2": "containerd",
    "runc": "runc",
    "ip": "iproute2",
    "nft": "nftables",
    "iptables": "iptables",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mkfs.ext4": "e2fsprogs",
    "bash": "bash",
}
_FILES = {
    f"{CNI_PLUGINS}/bridge": "containernetworking-plugins",
    f"{CNI_PLUGINS}/portmap": "containernetworking-plugins",
    "/bin/busybox": "busybox-static",
}
PACKAGES = tuple(dict.fromkeys([*_PROGRAMS.values(), *_FILES.values()]))


def check_machine() -> None:
    """Raise one error naming everything this machine lacks for real nodes."""
    if platform.system() != "Linux":
        raise _refusal(
            "real nodes need Linux", found=platform.system(), hint="use simulated nodes: --nodes 8xh100=4"
        )
    if os.geteuid() != 0:
        raise _refusal(
            "real nodes need root: they make namespaces, cgroups and network links",
            found=f"user id {os.geteuid()}",
            hint="run the command as root, or leave --real-nodes out: everything else works without root",
        )
    missing = missing_packages()
    if missing:
        raise _refusal(
            "programs that real nodes are made of are not installed",
            found=", ".join(f"no {thing}" for thing in missing),
            hint=f"apt-get update && apt-get install -y {' '.join(dict.fromkeys(missing.values()))}",
        )


def may_lower_oom_scores() -> bool:
    """Whether this process has CAP_SYS_RESOURCE, without which nobody may lower an oom_score_adj."""
    lines = Path("/proc/self/status").read_text().splitlines()
    effective = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
    return bool(effective >> 24 & 1)


def missing_packages() -> dict[str, str]:
    """What is not here, with the Debian package that brings it."""
    programs = {name: package for name, package in _PROGRAMS.items() if not _which(name)}
    files = {name: package for name, package in _FILES.items() if not Path(name).exists()}
    return programs | files


def _which(name: str) -> str | None:
    # A user's PATH may lack the system folders that PID 1 of a node has.
    return shutil.which(name) or shutil.which(name, path="/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")


def _refusal(what: str, *, found: str, hint: str) -> EnvironmentProblem:
    return EnvironmentProblem(Problem(code="BOX-201", what=what, found=found, hint=hint))
