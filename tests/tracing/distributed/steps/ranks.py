"""Small steps of one rank among eight, written as for torchrun."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

WIDTH, LAYERS, ROWS = 1024, 4, 64


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = functional.gelu(layer(x))
        return x


def start():
    if dist.is_initialized():
        dist.destroy_process_group()
    dist.init_process_group("nccl")
    assert dist.get_backend() == "nccl"
    assert (dist.get_rank(), dist.get_world_size()) == (3, 8)
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


def training(model, forward, optimizer=None, sync=None):
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), foreach=True)

    def step():
        x = torch.randn(ROWS, WIDTH, device="cuda")
        forward(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def ddp(**options):
    start()
    model = Net().cuda()
    return training(
        model, DistributedDataParallel(model, device_ids=[torch.cuda.current_device()], **options)
    )


def ddp_copies():
    return ddp(bucket_cap_mb=4)


def ddp_views():
    return ddp(bucket_cap_mb=4, gradient_as_bucket_view=True)


def ddp_unused():
    return ddp(find_unused_parameters=True, static_graph=False)


def ddp_compressed():
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

    start()
    model = Net().cuda()
    parallel = DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])
    parallel.register_comm_hook(None, bf16_compress_hook)
    return training(model, parallel)


def zero():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    start()
    model = Net().cuda()
    parallel = DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])
    return training(model, parallel, ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-3))


def sharded(mesh=None):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    model = Net().cuda()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy, mesh=mesh)
    fully_shard(model, mp_policy=policy, mesh=mesh)
    return training(model, model)


def fsdp2():
    start()
    return sharded()


def hybrid():
    from torch.distributed.device_mesh import init_device_mesh

    start()
    return sharded(init_device_mesh("cuda", (2, 4), mesh_dim_names=("replicate", "shard")))


def fsdp1():
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    start()
    model = FullyShardedDataParallel(
        Net().cuda(), auto_wrap_policy=ModuleWrapPolicy({nn.Linear}), device_id=torch.cuda.current_device()
    )
    return training(model, model)


def tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    start()
    model = Net().cuda()
    halves = {"layers.0": ColwiseParallel(), "layers.1": RowwiseParallel()}
    halves |= {"layers.2": ColwiseParallel(), "layers.3": RowwiseParallel()}
    parallelize_module(model, init_device_mesh("cuda", (8,)), halves)
    return training(model, model)


def talking():
    """Ranks exchange objects and numbers, in groups of their own."""
    start()
    said = [None] * 8
    dist.all_gather_object(said, {"loss": 1.5})
    assert said == [{"loss": 1.5}] * 8
    pair = dist.new_group([2, 3], backend="gloo")
    number = torch.ones(2)
    dist.all_reduce(number, group=pair)
    dist.barrier()
    half = dist.new_group([0, 1, 2, 3])
    tensor = torch.ones(1024, device="cuda")
    dist.all_reduce(tensor, group=half)
    gathered = [torch.empty_like(tensor) for _ in range(8)]
    dist.all_gather(gathered, tensor)
    model = Net().cuda()
    return training(model, model)


def prefetching():
    """Batches come on a stream of their own, one ahead."""
    model = Net().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    side = torch.cuda.Stream()

    def load():
        with torch.cuda.stream(side):
            return torch.randn(4096, WIDTH, device="cuda")

    batches = [load()]

    def step():
        torch.cuda.current_stream().wait_stream(side)
        batch = batches.pop()
        batch.record_stream(torch.cuda.current_stream())
        model(batch).sum().backward()
        del batch
        batches.append(load())
        optimizer.step()
        optimizer.zero_grad()

    return step
