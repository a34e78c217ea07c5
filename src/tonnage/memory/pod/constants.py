"""What was measured once and is used everywhere: host memory that does not depend on the model.

Everything in mebibytes or counts was read from a memory cgroup (`accuracy/host`, table `measured.json`), and is
what a container's limit counts: anonymous, shared and kernel memory, without file pages, which the kernel can
take back. Tests recompute each figure from the table. Figures of GPU processes are resident sizes on an H200
and include file pages, so they are on the safe side.
"""

from __future__ import annotations

MIB = 1024**2
GIB = 1024**3

RANK_ON_CPU = 285 * MIB
"""A process that has imported torch."""
TRANSFORMERS = 125 * MIB
"""torchvision and transformers imported and used, on top."""
RANK_ON_GPU = 974 * MIB
"""torch, torchvision, transformers, CUDA context, cuBLAS, cuDNN: resident size on an H200."""
NCCL = 337 * MIB
"""A communicator's host side, on top: 1,311 - 974 MiB on an H200."""

COMPILER = 145 * MIB
"""Dynamo, AOTAutograd and Inductor in the rank itself, at their peak."""
COMPILE_POOL = 335 * MIB
"""The process that Inductor's workers are forked from."""
COMPILE_WORKER = 100 * MIB
"""One of its workers after it compiled; 9 MiB before. Not measured under load: an assumption."""
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
"""A background save's copy of what it writes."""
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
