"""One file per family of failures, each with its `FAMILY`: texts as rules, and what numbers and objects say.

A new family is a new file and its name in `FAMILIES`.
"""

from __future__ import annotations

from tonnage.diagnosis.families import (
    application,
    disruption,
    gpu,
    killing,
    memory,
    network,
    recorded,
    scheduling,
    shared_memory,
    storage,
    workers,
)
from tonnage.diagnosis.rules import Family

FAMILIES: tuple[Family, ...] = (
    disruption.FAMILY,
    scheduling.FAMILY,
    memory.FAMILY,
    workers.FAMILY,
    shared_memory.FAMILY,
    recorded.FAMILY,
    killing.FAMILY,
    gpu.FAMILY,
    storage.FAMILY,
    network.FAMILY,
    application.FAMILY,
)
