"""Scripts without a checkpoint are shown the lines to add, and with those lines they really survive."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tonnage.sdk.advising import advise, apply

SOURCE = Path(__file__).parents[2] / "src"

SAVING = {
    "torch.save in the loop": "import torch\nfor s in range(9):\n    loss.backward()\n    torch.save(m, 'x')\n",
    "in a function called from the loop": (
        "import torch\ndef keep(m):\n    torch.save(m, 'x')\n"
        "def train():\n    for s in range(9):\n        loss.backward()\n        if s % 10 == 0: keep(m)\n"
    ),
    "a method called from the loop": (
        "class T:\n    def keep(self): self.model.save_pretrained('x')\n"
        "    def fit(self):\n        while True:\n            loss.backward(); self.keep()\n"
    ),
    "accelerate": "for b in loader:\n    accelerator.backward(loss)\n    accelerator.save_state('x')\n",
    "deepspeed": "for b in loader:\n    engine.backward(loss)\n    engine.save_checkpoint('x')\n",
    "distributed checkpoint": (
        "import torch.distributed.checkpoint as dcp\nfor b in l:\n    loss.backward()\n    dcp.save(s)\n"
    ),
    "lightning's callback": "from lightning.pytorch.callbacks import ModelCheckpoint\nc = ModelCheckpoint()\n",
    "the Trainer of transformers": (
        "from transformers import Trainer\ntrainer = Trainer(model)\ntrainer.train()\n"
    ),
    "trl": "from trl import SFTTrainer\ntrainer = SFTTrainer(model)\ntrainer.train()\n",
    "lightning's Trainer": "import lightning as L\ntrainer = L.Trainer()\ntrainer.fit(m)\n",
    "our own": "from tonnage_agent import sdk\nrun = sdk.attach()\nfor s in run.steps(9, save=w):\n    pass\n",
    "safetensors": "for b in l:\n    loss.backward()\n    save_file(weights, 'x')\n",
    "keras": "model.fit(x, callbacks=[keras.callbacks.BackupAndRestore('x')])\n",
    "orbax": "m = ocp.CheckpointManager('x')\n",
}

NOT_SAVING = {
    "only the result, after the loop": "for s in range(9):\n    loss.backward()\ntorch.save(m, 'result')\n",
    "a log in the loop": "import json\nfor s in range(9):\n    loss.backward()\n    plt.savefig('x'); logger.save()\n",
    "a Trainer told not to": (
        "from transformers import Trainer, TrainingArguments\n"
        "trainer = Trainer(model, TrainingArguments('x', save_strategy='no'))\ntrainer.train()\n"
    ),
    "Lightning told not to": (
        "from lightning import Trainer\ntrainer = Trainer(enable_checkpointing=False)\ntrainer.fit(m)\n"
    ),
}


@pytest.mark.parametrize("text", SAVING.values(), ids=SAVING)
def test_scripts_that_save_their_progress_are_left_alone(text: str) -> None:
    advice = advise(text)

    assert advice.saves
    assert advice.lines == ()
    assert "saves its progress" in advice.evidence


@pytest.mark.parametrize("text", NOT_SAVING.values(), ids=NOT_SAVING)
def test_scripts_that_do_not_are_shown_lines_that_make_them(text: str) -> None:
    advice = advise(text)

    assert not advice.saves
    changed = apply(text, advice.lines)
    assert advise(changed).saves, changed


def test_the_lines_for_a_plain_torch_loop_name_the_scripts_own_things() -> None:
    text = """import torch

net = torch.nn.Linear(1, 1)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
decay = torch.optim.lr_scheduler.StepLR(opt, 10)
for step in range(1000):
    loss = net(x).sum()
    loss.backward()
    opt.step()
"""

    assert (
        advise(text, "train.py").as_text()
        == """train.py saves no checkpoint; these lines would make it survive:
  after line 1:
    + from tonnage_agent import sdk
  before line 6:
    + run = sdk.attach()
    + state = sdk.TorchState(model=net, optimizer=opt, schedule=decay)
    + run.resume(state.load)
  instead of line 6:
    + for step in run.steps(1000, save=state.write):"""
    )


def test_epochs_over_a_loader_are_counted_step_by_step() -> None:
    text = """import torch
def main(model, loader):
    optimizer = torch.optim.SGD(model.parameters())
    for epoch in range(3):
        for x, y in loader:
            loss = (model(x) - y).sum()
            loss.backward()
            optimizer.step()
        print(epoch)
"""

    changed = apply(text, advise(text).lines)

    compile(changed, "changed", "exec")
    assert (
        """        for x, y in loader:
            if (step := run.count()) < run.next_step:
                continue  # made before the interruption
            loss = (model(x) - y).sum()
            loss.backward()
            optimizer.step()
            run.step(step)
            run.save_if_due(step, state.write)
            run.end_if_asked(step)
        print(epoch)
"""
        in changed
    )


def test_the_trainers_call_gets_where_to_resume() -> None:
    text = NOT_SAVING["a Trainer told not to"]

    changed = apply(text, advise(text).lines)

    assert (
        "trainer.add_callback(keeping)\ntrainer.train(resume_from_checkpoint=keeping.checkpoint)" in changed
    )


def test_a_script_that_is_no_python_is_told_of_with_its_line() -> None:
    advice = advise("import torch\nfor x in:\n", "train.py")

    assert not advice.saves
    assert advice.evidence == "train.py cannot be read as Python, line 2: invalid syntax"


@pytest.mark.parametrize("text", ["", "print('hello')\n", "\x00"])
def test_a_script_that_trains_nothing_is_shown_nothing(text: str) -> None:
    assert advise(text).lines == ()


def test_a_plain_python_loop_with_the_lines_added_survives_an_end(tmp_path: Path) -> None:
    text = '''"""Sums."""
import sys

total = 0
for step in range(int(sys.argv[1])):
    total += step
print("total", total)
'''
    changed = apply(text, advise(text).lines)
    changed = changed.replace("write_text(...)", "write_text(str(total))")
    changed = changed.replace("run = sdk.attach()", "run = sdk.attach(every=0)")
    changed = changed.replace(
        "\nfor step", "\nif saved:\n    total = int((saved / 'state').read_text())\nfor step"
    )
    (tmp_path / "script.py").write_text(changed)

    for steps, expected in (("5", 10), ("10", 45)):
        ended = subprocess.run(
            [sys.executable, tmp_path / "script.py", steps],
            env={"PYTHONPATH": str(SOURCE), "TONNAGE_CHECKPOINTS": str(tmp_path / "c")},
            capture_output=True,
            text=True,
            check=True,
        )
        assert f"total {expected}" in ended.stdout
    assert "resumed from step 4" in ended.stderr


def test_both_names_of_the_sdk_are_the_same_thing() -> None:
    import tonnage.sdk
    import tonnage_agent.sdk

    assert tonnage.sdk.__all__ == tonnage_agent.sdk.__all__
    assert all(getattr(tonnage.sdk, name) is getattr(tonnage_agent.sdk, name) for name in tonnage.sdk.__all__)
