"""Friendly literals: one small value and one parser per way of writing an amount.

Each literal reads what people write (`64Gi..128Gi`, `$400/week`, `20m`, `8 x h100`), keeps the exact amount
(bytes, millicores, seconds, micro-dollars: whole numbers, never floats), and prints itself back in the
friendliest form that reads as the same value: `parse(str(value)) == value` is a property test for every one
of them. A parser raises `LiteralError`, which says what was expected and what to try; it knows nothing of
files or fields.
"""

from tonnage.spec.literals.counts import CountRange
from tonnage.spec.literals.cpus import Cpus, CpuShare
from tonnage.spec.literals.durations import Duration, DurationOrAuto, DurationRange
from tonnage.spec.literals.gpus import Gpus
from tonnage.spec.literals.money import Money
from tonnage.spec.literals.places import Place
from tonnage.spec.literals.refusals import LiteralError
from tonnage.spec.literals.sizes import Size, SizeShare

__all__ = [
    "CountRange",
    "CpuShare",
    "Cpus",
    "Duration",
    "DurationOrAuto",
    "DurationRange",
    "Gpus",
    "LiteralError",
    "Money",
    "Place",
    "Size",
    "SizeShare",
]
