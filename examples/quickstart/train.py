"""A small network learns to tell two spirals apart, in plain Python: no packages, no GPU.

It has the most common fault of training scripts: something is appended to a list in every step and never let go.
The three lines with `run` are all that Tonnage asks of a script.
"""

import json
import math
import random

from tonnage_agent import sdk

STEPS, BATCH, HIDDEN, RATE = 300, 2048, 12, 1.0

run = sdk.attach()
saved = run.resume()
model = json.loads((saved.folder / "model.json").read_text()) if saved else None
if model is None:
    chance = random.Random(0)
    model = {
        "into": [[chance.uniform(-1, 1) for _ in range(3)] for _ in range(HIDDEN)],
        "out": [chance.uniform(-1, 1) for _ in range(HIDDEN + 1)],
    }


def batch_of(step):
    """Points on two spirals; the same ones for the same step, so that a resumed training repeats nothing."""
    chance = random.Random(step)
    for _ in range(BATCH):
        side, turn = chance.randint(0, 1), chance.uniform(0.2, 1.0)
        angle = 2 * math.pi * turn + math.pi * side
        yield (turn * math.cos(angle), turn * math.sin(angle), 1.0), side


def train_on(batch):
    """One step of gradient descent; returns the loss."""
    total = 0.0
    for inputs, wanted in batch:
        hidden = [math.tanh(sum(w * x for w, x in zip(row, inputs))) for row in model["into"]] + [1.0]
        guess = 1 / (1 + math.exp(-sum(w * h for w, h in zip(model["out"], hidden))))
        total -= math.log(max(guess if wanted else 1 - guess, 1e-9))
        slope = guess - wanted
        for unit, row in enumerate(model["into"]):
            back = slope * model["out"][unit] * (1 - hidden[unit] ** 2)
            for column in range(3):
                row[column] -= RATE / BATCH * back * inputs[column]
        for unit, value in enumerate(hidden):
            model["out"][unit] -= RATE / BATCH * slope * value
    return total / BATCH


def write(folder):
    (folder / "model.json").write_text(json.dumps(model))


kept = []
for step in run.steps(STEPS, save=write):
    batch = list(batch_of(step))
    loss = train_on(batch)
    kept.append(bytearray(1024 * 1024))  # the fault: a mebibyte of every step is never let go
    run.note(loss=loss)

print(f"finished: loss {loss:.4f} after {STEPS} steps")
