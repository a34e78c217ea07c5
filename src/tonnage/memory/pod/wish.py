"""What the rest of a pod depends on, as plain values: nothing here knows documents, models or clusters.

Bytes are bytes of one pod's node unless a name says otherwise; a rank is a training process.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Start = Literal["fork", "spawn", "forkserver"]
"""How loader workers come to be; Linux forks up to Python 3.13."""

Loading = Literal["none", "mapped", "built", "read", "built and read"]
"""How weights reach a rank: not through host memory; from a mapped file, tensor by tensor (safetensors);
made on the CPU first; read whole (`torch.load`); made and then read over."""

Saving = Literal["none", "streamed", "gathered", "sharded", "background"]
"""How progress is written: tensor by tensor by one rank; gathered whole in its memory; each rank its part;
each rank its part from a copy while training goes on."""


class LoaderWish(msgspec.Struct, frozen=True, kw_only=True):
    """The data loader of each rank."""

    workers: int = 4
    prefetch: int = 2
    pins: bool = True
    start: Start = "fork"
    batch_bytes: int = 0
    """One batch as tensors in host memory."""
    sample_bytes: int = 0
    """One sample of it, before collating."""
    dataset_bytes: int = 0
    """What the dataset keeps as Python objects (lists of paths, dicts), which forked workers un-share."""
    malloc_is_told: bool = False
    """Whether MALLOC_MMAP_THRESHOLD_ or another allocator keeps freed samples from staying."""


class CheckpointWish(msgspec.Struct, frozen=True, kw_only=True):
    """Saving progress."""

    saving: Saving = "none"
    bytes: int = 0
    """One checkpoint, all ranks together."""
    keep: int = 1
    is_on_pod_disk: bool = False
    """Whether it lands on the pod's own disk (container file system, emptyDir) and not on a volume that stays."""
    is_in_memory: bool = False
    """Whether it lands on a memory volume."""
    passes_page_cache: bool = True
    """Whether it is written to a mounted file system, and not straight to a bucket."""


class PodWish(msgspec.Struct, frozen=True, kw_only=True):
    """One pod of a training run."""

    ranks: int = 1
    pods: int = 1
    gpus: int = 0
    """GPUs of the pod; 0 where it trains on the CPU."""
    parameter_bytes: int = 0
    """The whole model in the precision it is trained in."""
    largest_tensor_bytes: int = 0
    loading: Loading = "built"
    loads_on_every_rank: bool = True
    host_state_bytes: int = 0
    """Weights, gradients, optimizer and activations that live in host memory: all ranks of the pod together."""
    offload_bytes: int = 0
    """Of a GPU run, states kept in host memory: all ranks of the pod together."""
    offload_is_pinned: bool = True
    loader: LoaderWish = LoaderWish()
    checkpoint: CheckpointWish = CheckpointWish()
    compiles: bool = False
    compile_workers: int = 0
    """Inductor's worker processes per rank: its own rule, up to 32, where 0."""
    uses_transformers: bool = True
    cores_per_node: int | None = None
    """Cores of the node, where known: they bound compile workers."""
    download_bytes: int = 0
    """Model and tokenizer fetched into a cache on the pod's disk."""
    staged_bytes: int = 0
    """Datasets copied to the pod's disk."""
    staged_in_memory_bytes: int = 0
    output_bytes: int = 0
    """Results that land on the pod's disk."""
    containers: int = 1
    cpu_seconds_per_sample: float | None = None
    samples_per_second: float | None = None
    """Samples that one rank consumes per second, where known."""
