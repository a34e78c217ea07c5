"""One of a thing is said as one: most runs have a single rank."""

from __future__ import annotations

import re

from tonnage.memory.pod import LoaderWish, PodWish, pod_needs


def test_no_formula_speaks_of_one_ranks_or_one_workers() -> None:
    loader = LoaderWish(workers=1, batch_bytes=2**20)
    needs = pod_needs(PodWish(ranks=1, gpus=1, parameter_bytes=2**30, loader=loader, compiles=True))
    found = [*needs.ram.parts, *needs.shm.parts, *needs.disk.parts, *needs.cpu.parts]

    assert any("1 rank x" in part.formula for part in found)
    assert not [part.formula for part in found if re.search(r"\b1 (ranks|workers)\b", part.formula)]
