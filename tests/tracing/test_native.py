"""The virtual CUDA runtime against the real thing's interface: layouts, entry points, what it needs to be loaded."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import tonnage_tracer

pytestmark = pytest.mark.torch

TRACER = Path(tonnage_tracer.__file__).parent
MAJORS = {"13": "2.11", "12": "2.10"}
# NVIDIA's headers want a file that only comes with the compiler; these words mean nothing to C.
HOST_DEFINES = """
#define __device_builtin__
#define __device_builtin_surface_type__
#define __device_builtin_texture_type__
#define __cudart_builtin__
#define __host__
#define __device__
#define CUDARTAPI
#define CUDART_DEVICE
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
"""


@pytest.fixture(params=sorted(MAJORS), scope="module")
def site(request: pytest.FixtureRequest, torch_python: str, torch_python_cuda12: str) -> tuple[str, Path]:
    """A CUDA major and the packages of an environment built for it."""
    python = Path(torch_python if request.param == "13" else torch_python_cuda12)
    return request.param, next((python.parents[1] / "lib").glob("python3*/site-packages"))


def symbols(library: Path, *options: str) -> set[str]:
    told = subprocess.run(
        ["nm", "-D", *options, str(library)], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[-1].partition("@")[0] for line in told.splitlines()}


def fields_of(struct: str, major: str) -> list[str]:
    """Names of the fields we declare for a CUDA major, less the ones that only fill space."""
    header = TRACER / "native" / "runtime_types.h"
    text = subprocess.run(
        ["cc", "-E", "-P", f"-DCUDA_MAJOR={major}", header], capture_output=True, text=True, check=True
    ).stdout
    body = re.search(rf"struct {struct} {{(.*?)}};", text, re.DOTALL)
    assert body is not None
    names = re.findall(r"(\w+)(?:\[\d+\])?;", body.group(1))
    return [name for name in names if name not in ("textures_and_surfaces", "reserved")]


@pytest.mark.parametrize(
    ("struct", "least"), [("cudaDeviceProp", 65), ("cudaFuncAttributes", 9), ("cudaPointerAttributes", 4)]
)
def test_structs_lie_in_memory_as_in_nvidias_headers(
    site: tuple[str, Path], struct: str, least: int, tmp_path: Path
) -> None:
    major, packages = site
    header = next(packages.glob("nvidia/*/include/driver_types.h"))
    (tmp_path / "crt").mkdir()
    (tmp_path / "crt" / "host_defines.h").write_text(HOST_DEFINES)
    named = fields_of(struct, major)
    assert len(named) >= least

    def layout(include: str, folder: Path) -> list[str]:
        lines = [
            f'printf("{name} %zu %zu\\n", offsetof(struct {struct}, {name}), sizeof(((struct {struct} *)0)->{name}));'
            for name in named
        ]
        source, program = tmp_path / "layout.c", tmp_path / "layout"
        source.write_text(
            f"#include <stddef.h>\n#include <stdio.h>\n{include}\nint main(void) {{ {' '.join(lines)} "
            f'printf("sizeof %zu\\n", sizeof(struct {struct})); return 0; }}\n'
        )
        options = ["-w", f"-DCUDA_MAJOR={major}", f"-I{tmp_path}", f"-I{folder}"]
        subprocess.run(["cc", *options, "-o", program, source], check=True)
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()

    assert layout('#include "runtime_types.h"', TRACER / "native") == layout(
        "#include <driver_types.h>", header.parent
    )


def test_no_call_of_torch_falls_through_to_the_real_runtime(site: tuple[str, Path]) -> None:
    major, packages = site
    ours = symbols(TRACER / "lib" / f"libtonnage_cudart{major}.so", "--defined-only")
    real = next(packages.glob("nvidia/*/lib/libcudart.so.*"))
    runtime = symbols(real, "--defined-only")
    libraries = [*packages.glob("torch/lib/lib*.so"), *packages.glob("torchvision/*.so")]
    assert len(libraries) > 5

    asked = {name for library in libraries for name in symbols(library, "--undefined-only")} & runtime

    assert len(asked) > 80
    assert asked - ours == set()


def test_no_call_of_torch_into_the_driver_is_left_open(site: tuple[str, Path]) -> None:
    _, packages = site
    ours = symbols(TRACER / "lib" / "libcuda.so.1", "--defined-only")

    asked = symbols(packages / "torch" / "lib" / "libcaffe2_nvrtc.so", "--undefined-only")

    assert {name for name in asked if re.match(r"cu[A-Z]", name)} - ours == set()


def test_cuda_libraries_find_no_driver_to_wake_up() -> None:
    ours = symbols(TRACER / "lib" / "libcuda.so.1", "--defined-only")

    assert "cuInit" not in ours
    assert not any(name.startswith("cuGetProcAddress") for name in ours)


@pytest.mark.parametrize("library", sorted((TRACER / "lib").glob("lib*")), ids=lambda path: path.name)
def test_the_libraries_load_on_every_linux_the_wheel_is_tagged_for(library: Path) -> None:
    told = subprocess.run(["nm", "-D", str(library)], capture_output=True, text=True, check=True).stdout

    needed = [tuple(map(int, found.split("."))) for found in re.findall(r"@GLIBC_([\d.]+)", told)]

    assert all(version <= (2, 17) for version in needed)
    assert needed or library.name == "libnvidia-ml.so.1"  # the only one that needs nothing
