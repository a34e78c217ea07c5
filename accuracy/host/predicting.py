"""A measured run as the wish that the pod model answers: what is predicted before it is measured."""

from __future__ import annotations

from typing import Any

from tonnage.memory.pod import CheckpointWish, LoaderWish, PodWish

MIB = 1024**2
SAMPLES = 8


def predicted_wish(row: dict[str, Any]) -> PodWish:
    """On the CPU, weights, gradients and AdamW's two moments are all in host memory."""
    said, is_told = row["arguments"], "MALLOC_MMAP_THRESHOLD_" in row["environment"]
    largest, ranks = said["width"] ** 2 * 4, said["ranks"]
    weights, batch = largest * said["layers"], said["batch_mib"] * MIB
    is_behind = said["save"] == "async"
    return PodWish(
        ranks=ranks,
        parameter_bytes=weights,
        largest_tensor_bytes=largest,
        loading="built and read" if said["load"] == "bin" else "built",
        host_state_bytes=ranks * 4 * weights,
        uses_transformers=False,
        loader=LoaderWish(
            workers=said["workers"],
            prefetch=said["prefetch"],
            batch_bytes=batch,
            sample_bytes=batch // SAMPLES,
            malloc_is_told=is_told,
        ),
        checkpoint=CheckpointWish(
            saving="background" if is_behind else "streamed", bytes=3 * weights * (ranks if is_behind else 1)
        ),
    )
