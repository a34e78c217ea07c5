"""What is measured: small programs that hold host memory the way training does, one per process.

Each runs in the interpreter of a training environment (torch and the standard library only) inside a memory
cgroup of its own. `mark(name)` stops the program until the watcher has read the cgroup, and starts a new peak;
what is counted is therefore what a container's limit would count.

    PYTHON probes.py NAME JSON-ARGUMENTS
"""

from __future__ import annotations

import importlib
import io
import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MIB = 1024**2


def mark(name: str, **facts: Any) -> None:
    """Tell the watcher where the program stands, and wait until it has looked."""
    print(json.dumps({"mark": name, **facts}), flush=True)
    sys.stdin.readline()


def imports(modules: list[str]) -> None:
    """A rank before it has done anything: the interpreter, then each library on top of the last."""
    mark("python")
    for name in modules:
        __import__(name)
        mark(name, version=getattr(sys.modules[name], "__version__", ""))


def loader(workers: int, prefetch: int, batch_mib: int, **how: Any) -> None:
    """A DataLoader whose consumer is slower than its workers, so that every queue fills up.

    `objects` small Python objects, or an array of `arrays_mib`, are what the dataset itself keeps.
    """
    import torch
    from torch.utils.data import DataLoader

    samples, batches = how.get("samples", 8), how.get("batches", 24)
    objects = how.get("objects", 0)
    dataset = _Samples(samples * batches, batch_mib * MIB // samples, objects, how.get("arrays_mib", 0))
    dataset.touch()
    mark("before", dataset_objects=objects)
    options: dict[str, Any] = {"batch_size": samples, "num_workers": workers}
    if workers:
        options |= {"prefetch_factor": prefetch, "multiprocessing_context": how.get("start", "fork")}
    kept: Any = None
    for index, batch in enumerate(DataLoader(dataset, **options)):
        if index == 0:
            mark("first batch", batch_bytes=batch.numel() * batch.element_size())
        time.sleep(how.get("pause", 0.05))
        kept = batch
        if index == batches // 2:
            mark("half", torch=torch.__version__)
    del kept
    mark("end")


class _Samples:
    """A map-style dataset at module level, so that spawned workers can find it."""

    def __init__(self, count: int, sample_bytes: int, objects: int, arrays_mib: int) -> None:
        import torch

        self.count, self.sample_bytes = count, sample_bytes
        self.objects: list[dict[str, Any]] = [
            {"path": f"/data/{i:09d}.jpg", "label": i} for i in range(objects)
        ]
        self.array = torch.ones(arrays_mib * MIB // 4) if arrays_mib else None

    def touch(self) -> float:
        return float(self.array.sum()) if self.array is not None else 0.0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        import torch

        seen = sum(len(item["path"]) + item["label"] for item in self.objects)
        return torch.full((self.sample_bytes,), (index + seen) % 251, dtype=torch.uint8)


def saving(style: str, size_mib: int, folder: str) -> None:
    """Writing a state of `size_mib` that lies in host memory."""
    import torch

    state = _state(size_mib)
    target = Path(folder) / "checkpoint"
    if style.startswith("dcp"):
        import torch.distributed.checkpoint as dcp

        mark("before")
        saved = dcp.async_save(state, checkpoint_id=target, no_dist=True) if style == "dcp-async" else None
        if saved is None:
            dcp.save(state, checkpoint_id=target, no_dist=True)
        else:
            saved.result()
        mark("saved")
        if saved is not None:
            dcp.async_save(state, checkpoint_id=f"{target}2", no_dist=True).result()
            mark("saved again")
        return
    safetensors = _safetensors() if style == "safetensors" else None
    mark("before")
    if style == "memory":
        buffer = io.BytesIO()
        torch.save(state, buffer)
    elif safetensors is not None:
        safetensors.save_file(state, target)
    else:
        torch.save(state, target)
    mark("saved")


def loading(style: str, size_mib: int, folder: str) -> None:
    """Reading a state of `size_mib` back, the ways training programs do."""
    import torch

    path = Path(folder) / f"model.{'safetensors' if style == 'safetensors' else 'bin'}"
    reader: Callable[[], Any] = lambda: torch.load(path)  # noqa: E731
    if style == "safetensors":
        load_file = _safetensors().load_file
        reader = lambda: load_file(path)  # noqa: E731
    elif style == "bin-mmap":
        reader = lambda: torch.load(path, mmap=True)  # noqa: E731
    _write_apart(style, path, size_mib)
    model = _Model(size_mib) if style == "build-then-load" else None
    mark("before")
    state = reader()
    total = sum(float(tensor.sum()) for tensor in state.values())
    if model is not None:
        model.load(state)
    mark("loaded", total=total)


def _safetensors() -> Any:
    return importlib.import_module("safetensors.torch")


def _write_apart(style: str, path: Path, size_mib: int) -> None:
    """The file is written by another process: what that one held must not be counted here."""
    if path.exists():
        return
    context = multiprocessing.get_context("spawn")
    writer = context.Process(target=_write, args=(style, path, size_mib))
    writer.start()
    writer.join()


def _write(style: str, path: Path, size_mib: int) -> None:
    import torch

    if style == "safetensors":
        _safetensors().save_file(_state(size_mib), path)
    else:
        torch.save(_state(size_mib), path)


def pretrained(size_mib: int, folder: str) -> None:
    """`from_pretrained` of a transformers model from a local folder."""
    from transformers import GPT2Config, GPT2LMHeadModel

    width = 768
    layers = max(1, (size_mib * MIB // 4 - 50257 * width) // (12 * width * width))
    if not Path(folder, "config.json").exists():
        context = multiprocessing.get_context("spawn")
        writer = context.Process(target=_write_pretrained, args=(folder, width, layers))
        writer.start()
        writer.join()
    GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=100))
    mark("before")
    model = GPT2LMHeadModel.from_pretrained(folder)
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    mark("loaded", model_bytes=size)
    float(sum(p.float().sum() for p in model.parameters()))
    mark("read", model_bytes=size)


def _write_pretrained(folder: str, width: int, layers: int) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_embd=width, n_layer=layers, n_head=12)
    GPT2LMHeadModel(config).save_pretrained(folder)


class _Model:
    def __init__(self, size_mib: int) -> None:
        self.state = _state(size_mib)

    def load(self, state: dict[str, Any]) -> None:
        for name, tensor in self.state.items():
            tensor.copy_(state[name])


def _state(size_mib: int, tensors: int = 16) -> dict[str, Any]:
    import torch

    each = size_mib * MIB // tensors // 4
    return {f"layer.{i}.weight": torch.full((each,), float(i)) for i in range(tensors)}


def compiling(workers: int) -> None:
    """The compiler in a rank, and the pool of worker processes that Inductor keeps beside it."""
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = str(workers)
    import torch

    mark("torch")
    from torch._inductor.async_compile import AsyncCompile

    torch.compile(torch.nn.Linear(4, 4), backend="aot_eager")(torch.randn(2, 4)).sum().backward()
    mark("compiler")
    AsyncCompile.warm_pool()
    AsyncCompile.wait_pool_ready()
    time.sleep(2)
    mark("pool", processes=_children())


def _children() -> int:
    """Processes of this cgroup beside this one."""
    listed = Path(os.environ["TONNAGE_CGROUP"], "cgroup.procs").read_text().split()
    return len(listed) - 1


def training(ranks: int, folder: str, **how: Any) -> None:
    """A whole run on the CPU: ranks that load a model, read batches, step and save, as people write it."""
    context = multiprocessing.get_context("spawn")
    barrier, queue = context.Barrier(ranks + 1), context.Queue()
    started = [
        context.Process(target=_train, args=(rank, ranks, folder, how, barrier, queue))
        for rank in range(ranks)
    ]
    for process in started:
        process.start()
    threading.Thread(target=_give_up_with, args=(started,), daemon=True).start()
    for name in ("imported", "loaded", "trained", "saved"):
        barrier.wait()
        mark(name, **(queue.get() if name == "saved" else {}))
        barrier.wait()
    for process in started:
        process.join()


def _give_up_with(ranks: list[Any]) -> None:
    """A rank that is killed leaves the others waiting for ever: end with it."""
    while not all(rank.exitcode == 0 for rank in ranks):
        if any(rank.exitcode not in (None, 0) for rank in ranks):
            for rank in ranks:
                rank.kill()
            os._exit(1)
        time.sleep(0.2)


def _train(rank: int, ranks: int, folder: str, how: dict[str, Any], barrier: Any, queue: Any) -> None:
    import torch
    import torch.distributed as dist
    from torch.utils.data import DataLoader

    torch.set_num_threads(1)
    if ranks > 1:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks)
    barrier.wait(), barrier.wait()
    width, layers = how["width"], how["layers"]
    model = torch.nn.Sequential(*(torch.nn.Linear(width, width, bias=False) for _ in range(layers)))
    if how["load"] == "bin":
        if rank == 0:
            torch.save(model.state_dict(), f"{folder}/first.pt")
        if ranks > 1:
            dist.barrier()
        model.load_state_dict(torch.load(f"{folder}/first.pt"))
    barrier.wait(), barrier.wait()
    rule = torch.optim.AdamW(model.parameters(), foreach=False)
    data = _Samples(8 * how["batches"], how["batch_mib"] * MIB // 8, how.get("objects", 0), 0)
    feed = DataLoader(
        data, 8, num_workers=how["workers"], prefetch_factor=how["prefetch"], multiprocessing_context="fork"
    )
    for batch in feed:
        time.sleep(0.05)
        model(batch[:, :width].float()).square().mean().backward()
        rule.step()
        rule.zero_grad()
    barrier.wait(), barrier.wait()
    state = {"model": model.state_dict(), "optimizer": rule.state_dict()}
    if how["save"] == "async":
        import torch.distributed.checkpoint as dcp

        dcp.async_save(state, checkpoint_id=f"{folder}/{rank}", no_dist=True).result()
    elif rank == 0:
        torch.save(state, f"{folder}/last.pt")
    if rank == 0:
        parameters = sum(p.numel() * p.element_size() for p in model.parameters())
        queue.put({"parameter_bytes": parameters, "largest_bytes": width * width * 4})
    barrier.wait(), barrier.wait()


def probes() -> Iterator[Callable[..., None]]:
    """Everything that can be asked for by name."""
    yield from (imports, loader, saving, loading, pretrained, compiling, training)


if __name__ == "__main__":
    by_name = {probe.__name__: probe for probe in probes()}
    by_name[sys.argv[1]](**json.loads(sys.argv[2]))
