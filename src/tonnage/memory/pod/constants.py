"""What was measured once and is used everywhere: host memory that does not depend on the model.

Every figure is what a container's limit counts: anonymous, shared and kernel memory, without file pages, which
the kernel can take back. Those of processes without a GPU were read from a memory cgroup (`accuracy/host`, table
`measured.json`), those with one from the kernel's account of a process on an H200 (`on_gpu.json`). Tests recompute
each figure from the tables.
"""

from __future__ import annotations

MIB = 1024**2
GIB = 1024**3

RANK_ON_CPU = 285 * MIB
"""A process that has imported torch."""
TRANSFORMERS = 125 * MIB
"""torchvision and transformers imported and used, on top."""
RANK_ON_GPU = 500 * MIB
"""torch, CUDA context, cuBLAS, cuDNN and attention kernels: 471 MiB anonymous and 20 shared on an H200."""
NCCL = 315 * MIB
"""A communicator's host side, on top."""

COMPILER = 150 * MIB
"""Dynamo, AOTAutograd and Inductor in the rank itself, at their peak."""
COMPILE_POOL = 350 * MIB
"""The process that Inductor's workers are forked from."""
COMPILE_WORKER = 100 * MIB
"""One of its workers after it compiled; 4 MiB before. Not measured under load: an assumption."""
MOST_COMPILE_WORKERS = 32

FORKED_WORKER = 18 * MIB
"""A loader worker's own pages: what Python un-shares by counting references, and its page tables."""
SPAWNED_WORKER = 290 * MIB
"""A loader worker that imported everything again."""
BATCHES_BEYOND_PREFETCH = 2
"""Batches in shared memory beyond workers x prefetch: the one in use and the one being handed over."""
MAIN_PROCESS_BATCHES = 3
"""Batches held at once by a loader without workers: samples, the collated batch, and the one in use."""

RETAINED_SAMPLES = 140
"""Freed samples that glibc's malloc keeps for tensors of 128 KiB to 32 MiB: aligned blocks are not found again
until glibc 2.38. A worker reaches this after some hundred batches."""
RETAINED_FROM = 128 * 1024
RETAINED_TO = 32 * MIB

BACKGROUND_COPY = 1.03
"""A background save's copy of what it writes, in ordinary memory."""
PINNED_COPY = 1.3
"""A sharded save's copy of what it writes: page-locked on its way from the GPU, kept for the next save. Measured
is 1.0 for tensors that are powers of two; the blocks of others are rounded up."""
SAVE_BUFFERS = 10 * MIB
"""Any save: writer's buffers and the kernel's bookkeeping for the file."""

NCCL_SHM_PER_RANK = 64 * MIB
"""Room for NCCL's transport through shared memory between ranks of a pod."""
DEFAULT_SHM = 64 * MIB
"""What a container runtime gives /dev/shm where nothing is mounted."""

CACHE_FLOOR_GPU = 2 * GIB
CACHE_FLOOR_CPU = GIB // 2
"""File pages that are in use all the time: the libraries themselves and the files being read."""
DIRTY_SHARE = 0.2
"""Of a container's memory that may be dirty file pages before writers are stopped (the kernel's `dirty_ratio`)."""

LOG_FILES = 5 * 10 * MIB
"""A container's logs before the kubelet rotates the oldest away."""
COMPILE_CACHE = 3 * GIB
"""Inductor's and Triton's caches: 0.1 to 3 GB is usual."""
SCRATCH = GIB
"""Temporary files, experiment logs, profiles."""

CORES_PER_GPU_RANK = 1500
"""Thousandths: the thread that launches kernels is never idle; autograd's, pinning and NCCL's take turns."""
CORES_PER_CPU_RANK = 1000
CORES_PER_WORKER = 1000
CORES_WHILE_COMPILING = 4
"""Cores per rank worth allowing for the minutes of compiling."""
