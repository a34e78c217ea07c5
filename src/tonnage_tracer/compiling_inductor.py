"""Inductor without a device: it plans, fuses and writes its program as always, and nothing is compiled or computed.

The program Inductor writes ("wrapper") is what makes and drops memory in a compiled step: `empty_strided_cuda`,
`del buf7`, calls of library kernels. Run on fake tensors it makes and drops the same memory in the same order. For
that, each place where Inductor would touch a device is given an answer here, and no decision is changed that does not
depend on timing. Where a decision does (padding of matrix products in `compiling_padding`, choice between kernels),
the rule taken is written down beside it.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .compiling_kernels import BYTES_MARK, Kernel, Launches, choice_instead_of_autotuner, host_kernel
from .compiling_padding import decider
from .recorder import Recorder

CONFIG: dict[str, Any] = {
    # Kernels chosen by timing: the library's are taken. Which one wins does not change what is allocated in a step.
    "max_autotune": False,
    "max_autotune_gemm": False,
    "max_autotune_pointwise": False,
    "coordinate_descent_tuning": False,
    "triton.cudagraphs": False,
    "fx_graph_cache": False,
    "fx_graph_remote_cache": False,
    "compile_threads": 1,
    "cpp_wrapper": False,
}
"""What is set for every graph, whatever mode the user asked for."""


def prepare(recorder: Recorder, launches: Launches, folder: str) -> None:
    """Give Inductor everything it would ask a device for. Programs it writes go to `folder`."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    import torch._functorch.config
    import torch._inductor.config

    torch._functorch.config.enable_autograd_cache = False
    torch._inductor.config.compile_threads = 1
    _prepare_triton()
    _prepare_kernels(launches)
    _prepare_memory()
    _prepare_constants()
    _prepare_padding(recorder)


class _Driver:
    """The part of Triton's driver that code generation asks: what it would compile for."""

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        major, minor = torch.cuda.get_device_capability()
        return GPUTarget("cuda", 10 * major + minor, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int = 0) -> int:
        return 0

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    @staticmethod
    def is_active() -> bool:
        return True


def _prepare_triton() -> None:
    from triton.runtime import driver

    driver.set_active(_Driver())


def _prepare_kernels(launches: Launches) -> None:
    from torch._inductor.async_compile import AsyncCompile
    from torch._inductor.codegen.triton import TritonKernel
    from torch._inductor.runtime import triton_heuristics

    made: dict[tuple[str, str], Kernel] = {}

    def triton(_self: Any, kernel_name: str, source_code: str, device_str: str = "cuda") -> Kernel:
        del device_str
        key = (kernel_name, source_code)
        if key not in made:
            made[key] = Kernel(launches, kernel_name, source_code)
        return made[key]

    AsyncCompile.triton = triton
    AsyncCompile.cpp = AsyncCompile.cpp_pybinding = lambda *_args, **_kwargs: host_kernel
    triton_heuristics.cached_autotune = choice_instead_of_autotuner
    generate = TritonKernel.codegen_kernel

    def generate_with_bytes(self: Any, *args: Any, **kwargs: Any) -> str:
        source: str = generate(self, *args, **kwargs)
        with contextlib.suppress(Exception):  # traffic is a refinement; without it tensors' sizes are taken
            source = f"{BYTES_MARK}{int(self.estimate_kernel_num_bytes())}\n{source}"
        return source

    TritonKernel.codegen_kernel = generate_with_bytes


def _prepare_memory() -> None:
    """What a wrapper calls to make and view memory goes through torch's dispatcher, so that it is seen."""
    guards = torch._C._dynamo.guards
    guards._empty_strided_cuda = _empty_strided
    guards._reinterpret_tensor = _reinterpret
    guards.assert_size_stride = guards.assert_alignment = lambda *_args, **_kwargs: None
    import torch._inductor.utils as inductor_utils

    # A fake tensor has no address; torch's allocator aligns every block, only odd slices of it would be copied.
    inductor_utils.copy_misaligned_inputs = lambda *_args, **_kwargs: ([], [])
    inductor_utils.remove_unaligned_input_idxs = lambda _inputs, static, *_args: static
    with contextlib.suppress(ImportError):
        from torch._inductor import compile_fx

        compile_fx.remove_unaligned_input_idxs = inductor_utils.remove_unaligned_input_idxs
        compile_fx.copy_misaligned_inputs = inductor_utils.copy_misaligned_inputs


def _empty_strided(size: Any, stride: Any, dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device="cuda")


def _reinterpret(tensor: torch.Tensor, size: Any, stride: Any, offset: int = 0) -> torch.Tensor:
    return torch.as_strided(tensor, size, stride, tensor.storage_offset() + offset)


class _OnHost(TorchDispatchMode):  # type: ignore[misc]
    """Tensors that would be made on the GPU are made on the CPU."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        device = kwargs.get("device")
        if device is not None and torch.device(device).type == "cuda":
            kwargs["device"] = torch.device("cpu")
        return func(*args, **kwargs)


def _prepare_constants() -> None:
    """Constants are folded by computing them; the CPU gives the same ones."""
    from torch._inductor.constant_folding import ConstantFolder
    from torch._inductor.fx_passes import joint_graph

    folder = joint_graph.UniformValueConstantFolder
    run = ConstantFolder.run
    peephole: Any = getattr(folder, "_add_peephole_patterns", None)

    def run_on_host(self: Any) -> Any:
        with _OnHost():
            return run(self)

    def peephole_on_host(self: Any) -> Any:
        with _OnHost():
            return peephole(self)

    ConstantFolder.run = run_on_host
    if peephole is not None:
        folder._add_peephole_patterns = peephole_on_host


def _prepare_padding(recorder: Recorder) -> None:
    from torch._inductor.fx_passes import pad_mm

    pad_mm._should_pad = decider(recorder)


def settings_for(asked: dict[str, Any]) -> dict[str, Any]:
    """What a graph is compiled with: the user's settings, save those that need a device."""
    from torch._inductor import config

    known = config.get_config_copy()
    return {**asked, **{name: value for name, value in CONFIG.items() if name in known}}
