"""Gradient descent in plain Python, with Tonnage's SDK: kill it as often as you like, the result is the same.

python train.py
"""

import json
import random

from tonnage_agent import sdk

run = sdk.attach(checkpoints="checkpoints", every=1)

chance = random.Random(0)
weights = [0.0, 0.0]


def write(folder):
    state = {"weights": weights, "random": chance.getstate()}
    (folder / "state.json").write_text(json.dumps(state))


def load(path):
    state = json.loads(path.read_text())
    weights[:] = state["weights"]
    version, numbers, gauss = state["random"]
    chance.setstate((version, tuple(numbers), gauss))


run.resume(load)
for _ in run.steps(2000, save=write):
    x = chance.uniform(-1, 1)
    error = weights[0] + weights[1] * x - (3 + 2 * x + chance.gauss(0, 0.3))
    weights[0] -= 0.1 * error
    weights[1] -= 0.1 * error * x
    run.note(loss=error * error)

print(f"y = {weights[0]!r} + {weights[1]!r} x")
