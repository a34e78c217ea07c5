"""Admission against the real API server: every question is a server-side dry run.

Quantities, pods, claims, LimitRanges, quotas and priority classes are generated, sent to the server and
judged by our rules; what the server stored, or the set of errors it named, must be among the answers we
call possible. The second half of each kind is asked after a global default priority class has appeared.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import msgspec

from conformance.admission.asking import Asker
from conformance.admission.counting import compare_quantities, compare_usage
from conformance.admission.families import FAMILIES, Classes
from conformance.admission.worlds import (
    CLASSES_PATH,
    World,
    create_cluster_objects,
    create_default_class,
    create_worlds,
    delete_default_class,
    delete_worlds,
)
from conformance.apiserver import ApiServer
from conformance.suite import Tally

_TARGET = 0.999
_CASES_PER_WORLD = 40
_FEWEST_WORLDS, _MOST_WORLDS = 12, 60


class AdmissionSuite:
    """The suite; without a kubeconfig it starts a sandbox of its own and takes it down again."""

    name = "admission"
    full_size = 5000

    def __init__(self, kubeconfig: Path | None = None) -> None:
        self._kubeconfig = kubeconfig

    def run(self, *, seed: int, cases: int) -> list[Tally]:
        """Ask `cases` questions and count agreement, one tally per kind of object."""
        with _cluster(self._kubeconfig) as kubeconfig:
            api, random = ApiServer(kubeconfig), Random(seed)
            prefix = f"admission-{time.time_ns() // 10**6:x}"
            delete_default_class(api)
            create_cluster_objects(api, prefix)
            count = max(_FEWEST_WORLDS, min(_MOST_WORLDS, cases // _CASES_PER_WORLD))
            worlds = create_worlds(api, random, prefix, count)
            try:
                return _ask_all(api, random, worlds, cases)
            finally:
                delete_worlds(api, worlds)
                delete_default_class(api)


def _ask_all(api: ApiServer, random: Random, worlds: list[World], cases: int) -> list[Tally]:
    sizes = {family.name: max(1, round(cases * family.share)) for family in FAMILIES}
    tallies = {
        family.name: Tally(name=family.name, target=_TARGET, must_cover=(*family.messages, *family.facts))
        for family in FAMILIES
    }
    usage = compare_usage(api, worlds, _TARGET)
    rest = max(1, cases - sum(sizes.values()) - usage.cases)
    quantities = compare_quantities(api, random, rest, _TARGET)
    for with_default in (False, True):
        if with_default:
            create_default_class(api)
        classes = msgspec.convert(api.get(CLASSES_PATH).body["items"], Classes)
        for family in FAMILIES:
            half = sizes[family.name] // 2
            size = sizes[family.name] - half if with_default else half
            Asker(api=api, family=family, classes=classes).ask(tallies[family.name], random, worlds, size)
    return [*tallies.values(), quantities, usage]


@contextmanager
def _cluster(kubeconfig: Path | None) -> Iterator[Path]:
    if kubeconfig is not None:
        yield kubeconfig
        return
    from tonnage.sandbox import SandboxRequest, down, up

    sandbox = up(SandboxRequest(name=f"admission-{os.getpid()}"))
    try:
        yield sandbox.kubeconfig
    finally:
        down(sandbox.name)
