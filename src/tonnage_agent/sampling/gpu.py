"""GPU memory, activity and power by NVML, the driver's own library, called through ctypes.

The library comes with the driver and is put into the container by its runtime; where it is not, there are no numbers
and nothing is said. A GPU that fell off the bus answers every call with its own error, or not at all: what does not
answer is told as `lost`, and all calls are made by a thread nobody waits for.

On a GPU cut into MIG instances the instances are told, not the whole; NVML knows no activity for those.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from typing import Any

_LIBRARIES = ("libnvidia-ml.so.1", "libnvidia-ml.so")
_GPU_IS_LOST = 15
_TEXT_BYTES = 96


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class Nvml:
    """The library, started; `close` it when done."""

    def __init__(self, library: ctypes.CDLL, visible: str | None = None) -> None:
        self._library = library
        self._visible = _wanted(visible)

    def read(self) -> list[dict[str, Any]]:
        """One object per GPU or MIG instance: index, name, uuid, used, total, activity (%), watts; what is known."""
        return [
            found
            for index, handle in self._handles()
            for found in self._device(index, handle)
            if self._is_ours(found)
        ]

    def close(self) -> None:
        self._library.nvmlShutdown()

    def _handles(self) -> Iterator[tuple[int, ctypes.c_void_p | None]]:
        count = ctypes.c_uint()
        if self._call("nvmlDeviceGetCount_v2", ctypes.byref(count)):
            return
        for index in range(count.value):
            handle = ctypes.c_void_p()
            failed = self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
            yield index, None if failed else handle

    def _device(self, index: int, handle: ctypes.c_void_p | None) -> Iterator[dict[str, Any]]:
        if handle is None:
            yield {"index": index, "lost": True}
            return
        instances = list(self._instances(handle))
        if not instances:
            yield {"index": index, **self._measured(handle)}
        for number, instance in instances:
            yield {"index": index, "instance": number, **self._measured(instance)}

    def _instances(self, handle: ctypes.c_void_p) -> Iterator[tuple[int, ctypes.c_void_p]]:
        mode, pending, most = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
        if (
            self._call("nvmlDeviceGetMigMode", handle, ctypes.byref(mode), ctypes.byref(pending))
            or not mode.value
        ):
            return
        if self._call("nvmlDeviceGetMaxMigDeviceCount", handle, ctypes.byref(most)):
            return
        for number in range(most.value):
            found = ctypes.c_void_p()
            if not self._call(
                "nvmlDeviceGetMigDeviceHandleByIndex", handle, ctypes.c_uint(number), ctypes.byref(found)
            ):
                yield number, found

    def _measured(self, handle: ctypes.c_void_p) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, function in (("name", "nvmlDeviceGetName"), ("uuid", "nvmlDeviceGetUUID")):
            text = ctypes.create_string_buffer(_TEXT_BYTES)
            if not self._call(function, handle, text, ctypes.c_uint(_TEXT_BYTES)):
                found[name] = text.value.decode("ascii", "replace")
        memory, busy, power = _Memory(), _Utilization(), ctypes.c_uint()
        failed = self._call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
        if failed == _GPU_IS_LOST:
            found["lost"] = True
        elif not failed:
            found["used"], found["total"] = memory.used, memory.total
        if not self._call("nvmlDeviceGetUtilizationRates", handle, ctypes.byref(busy)):
            found["activity"] = busy.gpu
        if not self._call("nvmlDeviceGetPowerUsage", handle, ctypes.byref(power)):
            found["watts"] = round(power.value / 1000, 1)
        return found

    def _is_ours(self, found: Mapping[str, Any]) -> bool:
        """Whether CUDA_VISIBLE_DEVICES names it; it may do so by number or by (the beginning of) its uuid."""
        if self._visible is None:
            return True
        uuid = str(found.get("uuid", ""))
        return any(want == str(found["index"]) or (uuid and uuid.startswith(want)) for want in self._visible)

    def _call(self, function: str, *arguments: Any) -> int:
        """NVML's return code; -1 where this driver has no such function."""
        try:
            return int(getattr(self._library, function)(*arguments))
        except AttributeError:
            return -1


def open_nvml(visible: str | None = None) -> Nvml | None:
    """NVML, started; None where there is none. `visible` is CUDA_VISIBLE_DEVICES."""
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
            if library.nvmlInit_v2() == 0:
                return Nvml(library, visible)
        except (OSError, AttributeError):
            continue
    return None


def _wanted(visible: str | None) -> tuple[str, ...] | None:
    if visible is None or visible in ("all", "void"):
        return None
    return tuple(part.strip() for part in visible.split(",") if part.strip())
