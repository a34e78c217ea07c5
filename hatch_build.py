"""Compiles the virtual CUDA runtime (`src/tonnage_tracer/native`) when Tonnage is built.

One library per CUDA major, and stand-ins for the driver and its management library, go into
`src/tonnage_tracer/lib`; the wheel is tagged for the platform then. They need nothing but a C library of 2012, so
one wheel serves every Linux there is CUDA for. With no C compiler on the machine, the one on PyPI (`ziglang`) is
asked for as a build requirement.

On a platform without CUDA builds of torch (macOS, Windows, musl) nothing is compiled: the wheel is a pure one,
and exact mode says there that it needs Linux.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CUDA_MAJORS = (12, 13)
MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
GLIBC = "2.17"
FLAGS = ("-shared", "-fPIC", "-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", "-s")


class NativeHook(BuildHookInterface):  # type: ignore[type-arg]
    """Hatchling's build hook of the wheel, editable or not."""

    def dependencies(self) -> list[str]:
        """What must be installed to build: a compiler, if the machine has none."""
        return ["ziglang>=0.15,<0.17"] if supported_machine() and not _own_compiler() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        machine = supported_machine()
        tracer = Path(self.root) / "src" / "tonnage_tracer"
        if machine is None:
            self.app.display_warning("no virtual CUDA runtime on this platform: exact mode will say so")
            return
        compile_all(tracer / "native", tracer / "lib", machine)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_{GLIBC.replace('.', '_')}_{machine}"
        if version != "editable":
            build_data["artifacts"] += ["src/tonnage_tracer/lib/*"]


def supported_machine() -> str | None:
    """The processor, where torch has CUDA builds: Linux with the GNU C library on x86-64 or ARM64."""
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        return None
    return MACHINES.get(platform.machine().lower())


def compile_all(native: Path, lib: Path, machine: str) -> None:
    """The stand-ins and one runtime per CUDA major, each replaced in one move."""
    lib.mkdir(exist_ok=True)
    driver = [native / name for name in ("pretended.c", "memory.c", "driver.c")]
    _compile(driver, lib / "libcuda.so.1", machine, "-Wl,-soname,libcuda.so.1")
    _compile([native / "nvml.c"], lib / "libnvidia-ml.so.1", machine, "-Wl,-soname,libnvidia-ml.so.1")
    runtime = sorted(native.glob("runtime_*.c"))
    for major in CUDA_MAJORS:
        _compile(runtime, lib / f"libtonnage_cudart{major}.so", machine, f"-DCUDA_MAJOR={major}")


def _compile(sources: list[Path], library: Path, machine: str, *options: str) -> None:
    part = library.with_name(library.name + ".part")
    command = [*_compiler(machine), *FLAGS, *options, "-o", str(part), *map(str, sources)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as failure:
        raise RuntimeError(f"{shlex.join(command)}\n{failure.stderr}") from None
    part.replace(library)


def _compiler(machine: str) -> list[str]:
    """The machine's own, else zig's, which is told how old a C library to build for."""
    return _own_compiler() or [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-target",
        f"{machine}-linux-gnu.{GLIBC}",
    ]


def _own_compiler() -> list[str] | None:
    """`$CC`, else the usual names."""
    asked = os.environ.get("CC")
    if asked:
        return shlex.split(asked)
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    return [found] if found else None
