"""A plain torch loop, on one process or on several: `python THIS checkpoints output`."""

import hashlib
import os
import signal
import sys

import torch
import torch.distributed as dist

from tonnage_agent import sdk

torch.set_num_threads(1)
world = int(os.environ.get("WORLD_SIZE", "1"))
rank = int(os.environ.get("RANK", "0"))
if world > 1:
    dist.init_process_group("gloo")
torch.manual_seed(rank)

model = torch.nn.Sequential(
    torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1)
)
if world > 1:
    model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
chance = torch.Generator().manual_seed(0)
inputs = torch.randn(96, 8, generator=chance)
data = torch.utils.data.TensorDataset(inputs, inputs.sum(1))
sampler = torch.utils.data.distributed.DistributedSampler(data, world, rank) if world > 1 else None
loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=sampler is None, sampler=sampler)

run = sdk.attach(checkpoints=sys.argv[1], every=float(os.environ.get("EVERY", "0")))
batches = sdk.Batches(loader, seed=3)
state = sdk.TorchState(model=model, optimizer=optimizer, schedule=schedule, batches=batches)
run.resume(state.load)
for step in run.steps(20, save=state.write, sharded=world > 1):
    if os.environ.get("DIE_AT") == str(step) and os.environ.get("DIE_RANK", "0") == str(rank):
        os.kill(os.getpid(), getattr(signal, os.environ["DIE_BY"]))
    x, y = next(batches)
    loss = torch.nn.functional.mse_loss(model(x).squeeze(1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    run.note(loss=loss.item())
weights = b"".join(value.detach().numpy().tobytes() for value in model.parameters())
if rank == 0:
    print("WEIGHTS", hashlib.sha256(weights).hexdigest())
if world > 1:
    dist.destroy_process_group()
