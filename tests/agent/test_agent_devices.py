"""GPUs are read through NVML's C interface: a library of the same shape stands in for the driver's."""

# ruff: noqa: E501 - text as programs and kernels write it
from __future__ import annotations

import ctypes
import shutil
import subprocess

import pytest

from tonnage_agent.sampling.gpu import Nvml, open_nvml

# Signatures as in nvml.h: structs are plain, results are codes, texts go to buffers of a given length.
STAND_IN = r"""
#include <string.h>
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned gpu, memory; } busy_t;
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 4; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    if (index == 2) return 15;  /* fell off the bus */
    *handle = (void *)(long)(index + 1); return 0;
}
int nvmlDeviceGetName(void *handle, char *text, unsigned length) { strncpy(text, "NVIDIA H100 80GB HBM3", length); return 0; }
int nvmlDeviceGetUUID(void *handle, char *text, unsigned length) {
    strncpy(text, "GPU-aaaa", length); text[7] = (char)('0' + (long)handle); return 0;
}
int nvmlDeviceGetMemoryInfo(void *handle, memory_t *m) {
    if ((long)handle == 4) return 15;
    m->total = 85899345920ULL; m->used = 1000000000ULL * (long)handle; m->free = m->total - m->used; return 0;
}
int nvmlDeviceGetUtilizationRates(void *handle, busy_t *busy) {
    if ((long)handle >= 4) return 3;  /* not supported, as on MIG */
    busy->gpu = 97; busy->memory = 40; return 0;
}
int nvmlDeviceGetPowerUsage(void *handle, unsigned *milliwatts) { *milliwatts = 412345; return (long)handle >= 4 ? 3 : 0; }
int nvmlDeviceGetMigMode(void *handle, unsigned *now, unsigned *later) { *now = *later = (long)handle == 2; return 0; }
int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *most) { *most = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **instance) {
    if (index > 1) return 6;
    *instance = (void *)(long)(10 + index); return 0;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here")
    folder = tmp_path_factory.mktemp("nvml")
    (folder / "nvml.c").write_text(STAND_IN)
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", str(folder / "libnvidia-ml.so.1"), str(folder / "nvml.c")],
        check=True,
    )
    return ctypes.CDLL(str(folder / "libnvidia-ml.so.1"))


def test_a_gpu_tells_memory_activity_and_power(library):
    first = Nvml(library).read()[0]

    assert first == {
        "index": 0, "name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-aaa1", "used": 10**9, "total": 80 << 30,
        "activity": 97, "watts": 412.3,
    }  # fmt: skip


def test_instances_of_a_gpu_are_told_instead_of_the_whole(library):
    second, third = Nvml(library).read()[1:3]

    assert [(each["index"], each["instance"], each["used"]) for each in (second, third)] == [
        (1, 0, 10 * 10**9), (1, 1, 11 * 10**9),
    ]  # fmt: skip
    assert "activity" not in second


def test_lost_gpus_are_told_as_lost(library):
    lost = [gpu["index"] for gpu in Nvml(library).read() if gpu.get("lost")]

    assert lost == [2, 3]


@pytest.mark.parametrize(
    ("visible", "seen"), [("0", {0}), ("GPU-aaa1,3", {0, 3}), ("", set()), (None, {0, 1, 2, 3})]
)
def test_only_gpus_the_command_may_see_are_told(library, visible, seen):
    assert {gpu["index"] for gpu in Nvml(library, visible).read()} == seen


def test_a_function_this_driver_lacks_is_a_number_less(library, tmp_path):
    (tmp_path / "old.c").write_text(
        STAND_IN.replace("nvmlDeviceGetPowerUsage", "other").replace("nvmlDeviceGetMig", "x")
    )
    subprocess.run(
        [
            shutil.which("cc") or "gcc",
            "-shared",
            "-fPIC",
            "-o",
            str(tmp_path / "old.so"),
            str(tmp_path / "old.c"),
        ],
        check=True,
    )
    first = Nvml(ctypes.CDLL(str(tmp_path / "old.so"))).read()[0]

    assert "watts" not in first
    assert first["used"] == 10**9


def test_without_a_driver_there_is_nothing():
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        assert open_nvml() is None
    else:
        pytest.skip("this machine has a driver")
