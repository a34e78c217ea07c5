"""A small network on CPU with torch: AdamW, dropout and a learning-rate schedule, all of it in the checkpoint.

With WORLD_SIZE above 1 it is DistributedDataParallel over gloo; SHARD=fsdp shards it with FSDP2 instead. Threads are
one and algorithms deterministic, so a resumed training must give the same bits. Variables as in `spirals.py`.
"""

import json
import os
import time

import torch
import torch.distributed as dist
from torch import nn

from tonnage_agent import sdk

STEPS, PAUSE = int(os.environ.get("STEPS", "100")), float(os.environ.get("PAUSE", "0.02"))
RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
SHARD = os.environ.get("SHARD", "ddp")
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)

journal = os.open(os.environ["JOURNAL"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def note(**values):
    who = {"attempt": int(os.environ.get("TONNAGE_ATTEMPT", "0")), "pid": os.getpid(), "when": time.time()}
    os.write(journal, (json.dumps({**who, "rank": RANK, **values}) + "\n").encode())


if WORLD > 1:
    dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 1))
if WORLD > 1 and SHARD == "fsdp":
    from torch.distributed.fsdp import fully_shard

    fully_shard(model)
elif WORLD > 1:
    model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)

run = sdk.attach()


def plain(value):
    """This rank's part of a sharded tensor, anything else as it is."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value.to_local() if hasattr(value, "to_local") else value


def like(part, parameter):
    """The sharded tensor that this rank's part belongs to, where the parameter is one."""
    if not hasattr(parameter, "to_local") or part.dim() == 0:
        return part
    from torch.distributed.tensor import DTensor

    # Its shape is said: parts are not all alike where ranks do not divide it.
    return DTensor.from_local(
        part, parameter.device_mesh, parameter.placements, shape=parameter.shape, stride=parameter.stride()
    )


def write(folder):
    """Everything the next step depends on, this rank's part of it."""
    state = {
        "model": plain(model.state_dict()), "optimizer": plain(optimizer.state_dict()),
        "schedule": schedule.state_dict(), "chance": torch.get_rng_state(),
    }  # fmt: skip
    torch.save(state, folder / f"rank-{RANK}.pt")


def load(folder):
    state = torch.load(folder / f"rank-{RANK}.pt", weights_only=False)
    with torch.no_grad():
        for name, parameter in model.state_dict().items():
            plain(parameter).copy_(state["model"][name])
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    moments = state["optimizer"]["state"]
    for index, parameter in enumerate(parameters):
        moments[index] = {name: like(part, parameter) for name, part in moments[index].items()}
    optimizer.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    torch.set_rng_state(state["chance"])


saved = run.resume()
if saved:
    load(saved.folder)
else:
    torch.manual_seed(100 + RANK)
note(begin=run.next_step)
loss = torch.tensor(float("nan"))  # a training killed after its last save has no step left to make
for step in run.steps(STEPS, save=write, sharded=WORLD > 1):
    chance = torch.Generator().manual_seed(step * WORLD + RANK)
    inputs = torch.randn(16, 8, generator=chance)
    loss = nn.functional.mse_loss(model(inputs), inputs.sin().sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    run.note(loss=loss.item())
    note(step=step, loss=loss.item().hex())
    time.sleep(PAUSE)
print(f"finished: loss {loss.item():.4f}")
if WORLD > 1:
    dist.destroy_process_group()
