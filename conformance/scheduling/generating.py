"""Clusters and pods to ask about: seeded, varied, and bent towards the corners where rules differ.

Purely random pods would nearly always fit or nearly never; each question therefore starts from a theme (a
rule it is meant to touch), themes take turns, and random company is added. What a run has really touched is
counted elsewhere, from the answers.
"""

from __future__ import annotations

import random

from conformance.scheduling.filling import a_node, a_pod, add_owners, fill, fill_alike, some_budgets
from conformance.scheduling.questions import Scenario
from conformance.scheduling.storage import add_storage
from conformance.scheduling.themes import THEMES, a_question, squeezing

EMPTY_EVERY = 20
"""One cluster in so many has no nodes at all."""


def generate(seed: int, index: int, *, questions: int = 8) -> Scenario:
    """The cluster with this number, and some pods that come to it."""
    rng = random.Random(f"scheduling-{seed}-{index}")
    scenario = Scenario()
    mark = f"c{index}"
    if index % EMPTY_EVERY == EMPTY_EVERY - 1:
        scenario.questions = [{"pod": a_pod(rng, f"{mark}-q0", {"cpu": "100m"})}]
        return scenario
    nodes = [a_node(rng, f"{mark}-n{number}") for number in range(rng.randint(5, 12))]
    scenario.objects["nodes"] = nodes
    add_owners(rng, scenario)
    alike = rng.random() < 0.2
    for node in nodes:
        (fill_alike if alike else fill)(rng, scenario, node)
    scenario.objects["budgets"] = some_budgets(rng, mark)
    add_storage(rng, scenario, mark)
    for number in range(questions):
        scenario.turn = index * questions + number
        theme = squeezing if alike and rng.random() < 0.25 else THEMES[scenario.turn % len(THEMES)]
        scenario.questions.append(a_question(rng, scenario, f"{mark}-q{number}", theme))
    return scenario
