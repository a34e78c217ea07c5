"""FSDP2 on two processes (gloo), saved in shards by torch.distributed.checkpoint: `python THIS checkpoints output`."""

import hashlib
import os
import signal
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from tonnage_agent import sdk

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)


def parts():
    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments}


def write(folder):
    dcp.save(parts(), checkpoint_id=str(folder))


def load(folder):
    loaded = parts()
    dcp.load(loaded, checkpoint_id=str(folder))
    set_state_dict(model, optimizer, model_state_dict=loaded["model"], optim_state_dict=loaded["optimizer"])


run = sdk.attach(checkpoints=sys.argv[1], every=float(os.environ.get("EVERY", "0")))
run.resume(load)
for step in run.steps(12, save=write, sharded=True):
    if os.environ.get("DIE_AT") == str(step) and os.environ.get("DIE_RANK", "0") == str(rank):
        os.kill(os.getpid(), getattr(signal, os.environ["DIE_BY"]))
    x = torch.randn(8, 8, generator=torch.Generator().manual_seed(step * world + rank))
    loss = torch.nn.functional.mse_loss(model(x).squeeze(1), x.sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
whole = [value.full_tensor() for value in model.parameters()]
if rank == 0:
    weights = b"".join(value.detach().numpy().tobytes() for value in whole)
    print("WEIGHTS", hashlib.sha256(weights).hexdigest())
dist.destroy_process_group()
