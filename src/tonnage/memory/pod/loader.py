"""The data loader: what its workers hold, what lies in shared memory, and what is pinned.

A worker holds the samples of the batch it is making. What it has finished waits in shared memory, at most
workers x prefetch batches, and two more are with the training loop: the one in use, the one being taken. With
pinning a thread copies each into page-locked blocks, of which as many stay as were ever alive at once.
"""

from __future__ import annotations

from tonnage.figures import plural
from tonnage.memory.pod import constants as c
from tonnage.memory.pod.needs import NeedPart
from tonnage.memory.pod.rounding import pages, pinned_block
from tonnage.memory.pod.wish import LoaderWish, PodWish


def loader_parts(wish: PodWish) -> list[NeedPart]:
    """RAM of the loaders of all ranks, shared memory included."""
    loader, ranks = wish.loader, wish.ranks
    if loader.workers == 0:
        held = loader.batch_bytes * c.MAIN_PROCESS_BATCHES + retained(loader)
        formula = f"{plural(ranks, 'rank')} x {c.MAIN_PROCESS_BATCHES} batches, made in the rank itself"
        parts = [NeedPart("data loader", ranks * held, formula, "measured", "train.loader.workers")]
    else:
        parts = [_workers(loader, ranks), _samples(loader, ranks), _shared(loader, ranks)]
        if loader.dataset_bytes:
            copies = ranks * loader.workers
            formula = (
                f"{plural(copies, 'worker')} x the dataset's Python objects, un-shared by reference counts"
            )
            parts.append(
                NeedPart(
                    "dataset copies", copies * loader.dataset_bytes, formula, "measured",
                    "keep the index in numpy or Arrow",
                )
            )  # fmt: skip
    if loader.pins and wish.gpus and loader.batch_bytes:
        blocks = batches_alive(loader)
        formula = f"{plural(ranks, 'rank')} x {blocks} batches, each rounded up to a power of two"
        amount = ranks * blocks * pinned_block(loader.batch_bytes)
        parts.append(NeedPart("pinned batches", amount, formula, "computed", "train.loader.pinMemory"))
    return [part for part in parts if part.amount]


def batches_alive(loader: LoaderWish) -> int:
    """Finished batches that can be alive at once: those waiting, the one in use, the one being handed over."""
    return loader.workers * loader.prefetch + c.BATCHES_BEYOND_PREFETCH


def shared_bytes(loader: LoaderWish) -> int:
    """Most bytes of one rank's batches in /dev/shm."""
    return batches_alive(loader) * pages(loader.batch_bytes) if loader.workers else 0


def retained(loader: LoaderWish) -> int:
    """Freed samples that one process's malloc does not give back."""
    if loader.malloc_is_told or not c.RETAINED_FROM <= loader.sample_bytes <= c.RETAINED_TO:
        return 0
    return c.RETAINED_SAMPLES * loader.sample_bytes


def _workers(loader: LoaderWish, ranks: int) -> NeedPart:
    each = c.FORKED_WORKER if loader.start == "fork" else c.SPAWNED_WORKER
    server = c.SPAWNED_WORKER if loader.start == "forkserver" else 0
    workers = plural(loader.workers, "worker")
    formula = f"{plural(ranks, 'rank')} x {workers}, {loader.start}ed, {each // c.MIB} MiB each"
    return NeedPart(
        "loader workers",
        ranks * (loader.workers * each + server),
        formula,
        "measured",
        "train.loader.workers",
    )


def _samples(loader: LoaderWish, ranks: int) -> NeedPart:
    kept = retained(loader)
    amount = ranks * loader.workers * (loader.batch_bytes + kept)
    formula = f"{plural(ranks, 'rank')} x {plural(loader.workers, 'worker')} x the batch being made"
    flag = "train.loader.workers"
    if kept:
        formula += f", and {c.RETAINED_SAMPLES} freed samples that malloc keeps"
        flag = "env MALLOC_MMAP_THRESHOLD_=65536"
    return NeedPart("samples in workers", amount, formula, "measured", flag)


def _shared(loader: LoaderWish, ranks: int) -> NeedPart:
    workers = plural(loader.workers, "worker")
    formula = (
        f"{plural(ranks, 'rank')} x ({workers} x {loader.prefetch} + {c.BATCHES_BEYOND_PREFETCH}) batches "
        "in /dev/shm, which counts as memory"
    )
    return NeedPart(
        "batches in shared memory", ranks * shared_bytes(loader), formula, "measured", "train.loader.prefetch"
    )
