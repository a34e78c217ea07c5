"""A plain torch loop with Tonnage's SDK; with several ranks: torchrun --nproc-per-node 2 train.py

python train.py
"""

import os

import torch
import torch.distributed as dist

from tonnage_agent import sdk

world = int(os.environ.get("WORLD_SIZE", "1"))
if world > 1:
    dist.init_process_group("gloo")
torch.manual_seed(0)

model = torch.nn.Sequential(
    torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(32, 1)
)
if world > 1:
    model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
inputs = torch.randn(512, 8, generator=torch.Generator().manual_seed(1))
data = torch.utils.data.TensorDataset(inputs, inputs.sum(1))
sampler = torch.utils.data.distributed.DistributedSampler(data) if world > 1 else None
loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=sampler is None, sampler=sampler)

run = sdk.attach(checkpoints="checkpoints", every=1)
batches = sdk.Batches(loader, seed=2)
state = sdk.TorchState(model=model, optimizer=optimizer, batches=batches)
run.resume(state.load)
for _ in run.steps(300, save=state.write, sharded=world > 1):
    with run.waiting("data"):
        x, y = next(batches)
    loss = torch.nn.functional.mse_loss(model(x).squeeze(1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    run.note(loss=loss.item())

if run.settings.rank == 0:
    print(f"loss {loss.item():.6f}")
if world > 1:
    dist.destroy_process_group()
