"""The wheel carries the virtual runtime, and the runtime works wherever the wheel is unpacked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tonnage.cluster.gpus import find_gpu
from tonnage.tracing.pretending import gpu_environment

PROJECT = Path(__file__).parents[2]

# Asks the libraries themselves, without torch: counts devices, reads facts, makes and frees memory, copies.
QUESTIONS = """
import ctypes, sys
from pathlib import Path
lib = Path(sys.argv[1])
ctypes.CDLL(str(lib / "libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)
cuda = ctypes.CDLL(str(lib / sys.argv[2]), mode=ctypes.RTLD_GLOBAL)
number, size, total, place = ctypes.c_int(), ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_void_p()
assert cuda.cudaGetDeviceCount(ctypes.byref(number)) == 0
print("devices", number.value)
for name, attribute in (("major", 75), ("minor", 76), ("sms", 16), ("shared", 97), ("l2", 38)):
    assert cuda.cudaDeviceGetAttribute(ctypes.byref(number), attribute, 0) == 0
    print(name, number.value)
assert cuda.cudaSetDevice(2) == 101, "there is no third device"
cuda.cudaMemGetInfo(ctypes.byref(size), ctypes.byref(total))
before = size.value
assert cuda.cudaMalloc(ctypes.byref(place), ctypes.c_size_t(1 << 34)) == 0, "16 GiB, of which none is touched"
cuda.cudaMemGetInfo(ctypes.byref(size), ctypes.byref(total))
print("taken", before - size.value)
host = (ctypes.c_char * 4)(*b"abcd")
assert cuda.cudaMemcpy(host, place, ctypes.c_size_t(4), 2) == 0
print("read", host.raw)
refused = ctypes.c_void_p()
assert cuda.cudaMalloc(ctypes.byref(refused), ctypes.c_size_t(1 << 40)) == 2, "more than the device has"
assert cuda.cudaFree(place) == 0 and cuda.cudaFree(place) == 1, "freed twice"
assert cuda.cudaStreamBeginCapture(None, 0) == 801
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as built from this checkout, laid out as an installer would."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([_uv(), "build", "--quiet", "--wheel", "--out-dir", folder, PROJECT], check=True)
    (wheel,) = folder.glob("*.whl")
    assert wheel.name.split("-", 2)[2].startswith("py3-none-manylinux_2_17_")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def _uv() -> str:
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tonnage"
    found = os.environ.get("UV") or shutil.which("uv") or next(map(str, cached.glob("uv-*/bin/uv")), None)
    assert found, "uv is needed to build the wheel: ./test brings its own"
    return found


@pytest.mark.parametrize("runtime", ["libtonnage_cudart12.so", "libtonnage_cudart13.so"])
def test_the_runtime_in_the_wheel_pretends_what_it_is_told(unpacked: Path, runtime: str) -> None:
    kind = find_gpu("a100-40")
    assert kind is not None
    told = subprocess.run(
        [sys.executable, "-c", QUESTIONS, unpacked / "tonnage_tracer" / "lib", runtime],
        env={**os.environ, **gpu_environment(kind, 2)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    said = dict(line.split(" ", 1) for line in told.splitlines())
    assert said == {
        "devices": "2",
        "major": "8",
        "minor": "0",
        "sms": "108",
        "shared": str(163 * 1024),
        "l2": str(40 * 2**20),
        "taken": str(2**34),
        "read": repr(bytes(4)),
    }


def test_without_a_description_there_is_no_device(unpacked: Path) -> None:
    lib = unpacked / "tonnage_tracer" / "lib"
    ask = (
        "import ctypes, sys\n"
        "ctypes.CDLL(sys.argv[1] + '/libcuda.so.1', mode=ctypes.RTLD_GLOBAL)\n"
        "cuda = ctypes.CDLL(sys.argv[1] + '/libtonnage_cudart13.so')\n"
        "count = ctypes.c_int(7)\n"
        "print(cuda.cudaGetDeviceCount(ctypes.byref(count)), count.value)\n"
    )
    bare = {name: value for name, value in os.environ.items() if not name.startswith("TONNAGE_GPU_")}

    told = subprocess.run(
        [sys.executable, "-c", ask, lib], env=bare, capture_output=True, text=True, check=True
    )

    assert told.stdout.split() == ["100", "0"]
