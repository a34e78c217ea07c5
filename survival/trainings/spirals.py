"""A small network learns to tell two spirals apart, in plain Python, with momentum and chance of its own.

Everything that decides the next step is in the checkpoint (weights, momentum, the state of its random numbers), so a
training that was killed and resumed must give the same losses and, bit for bit, the same weights. Each step is
written down in a journal the instant it is made: what the proof is judged by comes from here, not from what is being
proved. What may go wrong is asked for by variables and files; without them it is an ordinary script.

    STEPS, PAUSE     how many steps, and seconds that each rests
    JOURNAL          file that gets a line for every step
    TROUBLE          folder; a file `leak` there makes it hold on to memory from the next step on, `error` raises
    LEAK             bytes per step that are never let go, from the beginning
    LEAK_FROM        from this step on it leaks much, once: the attempt that made step 0 does, later ones do not
    GPU_MOST         micro-batches above this end as a GPU that is too small ends them
    ON_FAILURE       raise: a checkpoint that cannot be written ends the training
"""

import json
import math
import os
import random
import sys
import time
from pathlib import Path

from tonnage_agent import sdk

STEPS, PAUSE = int(os.environ.get("STEPS", "200")), float(os.environ.get("PAUSE", "0.02"))
TROUBLE = Path(os.environ.get("TROUBLE", "."))
LEAK = int(os.environ.get("LEAK", "0"))
LEAK_FROM = int(os.environ.get("LEAK_FROM", "1000000"))
MICRO_BATCH = int(os.environ.get("TONNAGE_MICRO_BATCH", "16"))
ACCUMULATION = int(os.environ.get("TONNAGE_ACCUMULATION", "1"))
HIDDEN, RATE, MOMENTUM = 6, 0.5, 0.9
CUDA_OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB "
    "of which 1.42 GiB is free. Including non-PyTorch memory, this process has 77.68 GiB memory in use. Of the "
    "allocated memory 76.11 GiB is allocated by PyTorch, and 612.34 MiB is reserved by PyTorch but unallocated. If "
    "reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
    "fragmentation.  See documentation for Memory Management  "
    "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
)

journal = (
    os.open(os.environ["JOURNAL"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    if "JOURNAL" in os.environ
    else None
)


def note(**values):
    """One line in one write: it is whole or absent, however the process ends."""
    if journal is not None:
        who = {
            "attempt": int(os.environ.get("TONNAGE_ATTEMPT", "0")),
            "pid": os.getpid(),
            "when": time.time(),
        }
        os.write(journal, (json.dumps({**who, **values}) + "\n").encode())


def fresh():
    chance = random.Random(0)
    into = [[chance.uniform(-1, 1) for _ in range(3)] for _ in range(HIDDEN)]
    out = [chance.uniform(-1, 1) for _ in range(HIDDEN + 1)]
    return {"into": into, "out": out, "push": [0.0] * (4 * HIDDEN + 1), "chance": chance.getstate()}


def batch_of(chance, count):
    """Points on two spirals, drawn from the training's own chance."""
    for _ in range(count):
        side, turn = chance.randint(0, 1), chance.uniform(0.2, 1.0)
        angle = 2 * math.pi * turn + math.pi * side
        yield (turn * math.cos(angle), turn * math.sin(angle), 1.0), side


def gradients(batch, slopes):
    """Add one micro-batch's gradients, sample by sample: the same sum however the batch is cut."""
    total = 0.0
    for inputs, wanted in batch:
        hidden = [math.tanh(sum(w * x for w, x in zip(row, inputs))) for row in state["into"]] + [1.0]
        guess = 1 / (1 + math.exp(-sum(w * h for w, h in zip(state["out"], hidden))))
        total -= math.log(max(guess if wanted else 1 - guess, 1e-9))
        slope = guess - wanted
        for unit in range(HIDDEN):
            back = slope * state["out"][unit] * (1 - hidden[unit] ** 2)
            for column in range(3):
                slopes[3 * unit + column] += back * inputs[column]
        for unit, value in enumerate(hidden):
            slopes[3 * HIDDEN + unit] += slope * value
    return total


def train_step(chance):
    """One optimizer step over the global batch; returns its loss."""
    slopes, total = [0.0] * (4 * HIDDEN + 1), []
    for _ in range(ACCUMULATION):
        for sample in batch_of(chance, MICRO_BATCH):
            total.append(gradients([sample], slopes))
    size = MICRO_BATCH * ACCUMULATION
    for index, slope in enumerate(slopes):
        state["push"][index] = MOMENTUM * state["push"][index] + slope / size
        if index < 3 * HIDDEN:
            state["into"][index // 3][index % 3] -= RATE * state["push"][index]
        else:
            state["out"][index - 3 * HIDDEN] -= RATE * state["push"][index]
    return sum(total) / size


def write(folder):
    (folder / "model.json").write_text(json.dumps({**state, "chance": chance.getstate()}))


run = sdk.attach(on_failure=os.environ.get("ON_FAILURE", "warn"))
saved = run.resume()
state = json.loads((saved.folder / "model.json").read_text()) if saved else fresh()
chance = random.Random()
chance.setstate((state["chance"][0], tuple(state["chance"][1]), state["chance"][2]))
note(begin=run.next_step)

kept, loss = [], math.nan  # a training killed after its last save has no step left to make
for step in run.steps(STEPS, save=write):
    if int(os.environ.get("GPU_MOST", "1000000")) < MICRO_BATCH:
        sys.exit(f'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n{CUDA_OOM}')
    loss = train_step(chance)
    if LEAK:
        kept.append(bytearray(LEAK))
    if (TROUBLE / "leak").exists() or (step >= LEAK_FROM and run.next_step == 0):
        kept.append(bytearray(6 * 1024 * 1024))
    if (TROUBLE / "error").exists():
        raise ValueError("size mismatch for head.weight: expected (10, 6), got (12, 6)")
    run.note(loss=loss)
    note(step=step, loss=loss.hex())
    time.sleep(PAUSE)

print(f"finished: loss {loss:.4f} after {STEPS} steps")
