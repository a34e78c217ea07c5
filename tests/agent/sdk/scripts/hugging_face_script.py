"""A tiny language model trained by the Hugging Face Trainer: `python THIS checkpoints output`."""

import hashlib
import os
import signal
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

from tonnage_agent import sdk

torch.set_num_threads(1)
set_seed(1)


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        chance = torch.Generator().manual_seed(index)
        tokens = torch.randint(0, 64, (16,), generator=chance)
        return {"input_ids": tokens, "labels": tokens}


class Dying(TrainerCallback):
    """Sends this process a signal in the middle of a step, where the test says so."""

    def on_step_begin(self, _args, state, _control, **_):
        is_it = os.environ.get("DIE_RANK", os.environ.get("RANK")) == os.environ.get("RANK")
        if is_it and os.environ.get("DIE_AT") == str(state.global_step):
            os.kill(os.getpid(), getattr(signal, os.environ["DIE_BY"]))


model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=64, n_positions=16))
run = sdk.attach(checkpoints=sys.argv[1], every=float(os.environ.get("EVERY", "0")))
keeping = sdk.hugging_face(run)
arguments = TrainingArguments(
    output_dir=sys.argv[2],
    max_steps=20,
    per_device_train_batch_size=8,
    save_strategy="no",
    report_to=[],
    use_cpu=True,
    disable_tqdm=True,
)
if arguments.world_size > 1:
    # Several ranks on CPUs are given the device `cpu:0`, which torch.load does not know; GPUs have no such trouble.
    arguments.__dict__["_setup_devices"] = torch.device("cpu")
trainer = Trainer(model, arguments, train_dataset=Numbers(), callbacks=[keeping, Dying()])
trainer.train(resume_from_checkpoint=keeping.checkpoint)
weights = b"".join(value.detach().numpy().tobytes() for value in model.parameters())
print("WEIGHTS", hashlib.sha256(weights).hexdigest())
