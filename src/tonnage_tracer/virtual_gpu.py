"""A GPU that is not there: torch believes in it, decides as it would on it, and never runs a kernel on it.

Torch has no switch for "plan as if on an H100". Without a device it turns autocast off, takes other attention
kernels and cannot even run backward on fake tensors. So a CUDA runtime of our own (`native/`) is loaded before
torch is: the dynamic loader then binds torch's calls to it, and torch finds the GPU described by `TONNAGE_GPU_*`.

Only for a process of its own that will never use a real GPU. The stand-in for the driver carries the driver's
name, so no library in the process can reach a real one either.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIBRARIES = Path(__file__).parent / "lib"


class VirtualGpuError(RuntimeError):
    """The virtual GPU cannot be had in this process; the text says why."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def torch_versions() -> tuple[str, str | None] | None:
    """Version of the torch that would be imported, and of the CUDA it is built for; read, not imported."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None
    for folder in spec.submodule_search_locations:
        path = Path(folder) / "version.py"
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            return _assigned(text, "__version__") or "unknown", _assigned(text, "cuda")
    return "unknown", None


def load(environment: dict[str, str], cuda_version: str) -> None:
    """Put the virtual GPU described by `environment` (`TONNAGE_GPU_*`) under the torch imported after this."""
    if "torch" in sys.modules:
        raise VirtualGpuError("torch-loaded", "torch was imported before the virtual GPU was in place")
    if _cuda_is_mapped():
        raise VirtualGpuError(
            "cuda-loaded", "a real CUDA library was loaded before the virtual GPU was in place"
        )
    runtime = LIBRARIES / f"libtonnage_cudart{cuda_version.partition('.')[0]}.so"
    if not runtime.is_file():
        raise VirtualGpuError("no-library", f"there is no virtual CUDA runtime for CUDA {cuda_version}")
    os.environ.update(environment)
    _hide_real_gpus()
    # The driver first: the others' calls into it are resolved among what is already loaded.
    for library in (LIBRARIES / "libcuda.so.1", LIBRARIES / "libnvidia-ml.so.1", runtime):
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


def settle() -> None:
    """After `import torch`: what it would still ask of the machine instead of the virtual GPU."""
    import torch
    from torch.autograd import profiler

    torch.cuda._device_count_nvml = lambda: (
        -1
    )  # it knows of CUDA_VISIBLE_DEVICES; the runtime's count is meant
    for name in ("_prepare_profiler", "_enable_profiler"):
        setattr(profiler, name, _on_cpu_only(getattr(profiler, name)))


def _on_cpu_only(start: Callable[..., Any]) -> Callable[..., Any]:
    """A profiler that leaves the GPU alone: its library looks for the driver until the stack is full."""
    from torch.profiler import ProfilerActivity

    def started(config: Any, activities: Any, *more: Any, **named: Any) -> Any:
        return start(config, {each for each in activities if each != ProfilerActivity.CUDA}, *more, **named)

    return started


def _hide_real_gpus() -> None:
    """Tell CUDA libraries, not the user's code, that there is nothing: `os.environ` keeps what the user set."""
    ctypes.CDLL(None).setenv(b"CUDA_VISIBLE_DEVICES", b"", 1)


def _cuda_is_mapped() -> bool:
    """Whether something at start-up (a .pth file, a sitecustomize, LD_PRELOAD) has already brought CUDA in."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return "/libcudart.so" in maps or "/libcuda.so" in maps


def _assigned(text: str, name: str) -> str | None:
    found = re.search(rf"^{name}\s*(?::[^=]*)?=\s*['\"]([^'\"]+)['\"]", text, re.MULTILINE)
    return found.group(1) if found else None
