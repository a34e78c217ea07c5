"""A tiny network with dropout, trained by Lightning: `python THIS checkpoints output`."""

import hashlib
import os
import signal
import sys

import torch
from lightning.pytorch import Callback, LightningModule, Trainer, seed_everything

from tonnage_agent import sdk

torch.set_num_threads(1)
world, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
seed_everything(1 + rank, verbose=False)  # ranks that draw alike would hide whose generators came back


class Network(LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1)
        )

    def training_step(self, batch, _):
        inputs, targets = batch
        return torch.nn.functional.mse_loss(self.layers(inputs).squeeze(1), targets)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


class Dying(Callback):
    def on_train_batch_start(self, trainer, *_):
        is_it = os.environ.get("DIE_RANK", str(rank)) == str(rank)
        if is_it and os.environ.get("DIE_AT") == str(trainer.global_step):
            os.kill(os.getpid(), getattr(signal, os.environ["DIE_BY"]))


chance = torch.Generator().manual_seed(0)
inputs = torch.randn(64, 8, generator=chance)
data = torch.utils.data.TensorDataset(inputs, inputs.sum(1))
sampler = torch.utils.data.distributed.DistributedSampler(data, world, rank) if world > 1 else None
loading = torch.utils.data.DataLoader(data, batch_size=8, shuffle=sampler is None, sampler=sampler)
loader = sdk.Batches(loading, seed=3)
run = sdk.attach(checkpoints=sys.argv[1], every=float(os.environ.get("EVERY", "0")))
keeping = sdk.lightning(run)
trainer = Trainer(
    max_steps=20,
    accelerator="cpu",
    devices=world,
    strategy="ddp" if world > 1 else "auto",
    use_distributed_sampler=False,
    callbacks=[keeping, Dying()],
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    logger=False,
    default_root_dir=sys.argv[2],
)
network = Network()
trainer.fit(network, loader, ckpt_path=keeping.checkpoint, weights_only=False)
weights = b"".join(value.detach().numpy().tobytes() for value in network.parameters())
print("WEIGHTS", hashlib.sha256(weights).hexdigest())
