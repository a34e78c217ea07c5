"""Steps as scripts write them every day: each function is one `build`."""

from __future__ import annotations

import copy
import math

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

BUILDS = (
    "default_adamw",
    "default_sgd_momentum",
    "fused_adamw",
    "forloop_adamw",
    "adafactor",
    "clipped",
    "moved_after_optimizer",
    "moved_by_data",
    "device_context",
    "default_device",
    "tied_weights",
    "averaged_copy",
    "copied_under_autocast",
    "scripted_function",
    "gathered_gradients",
    "dropped_out",
    "states_saved_and_loaded",
    "logging_loss",
    "autocast_bf16",
    "autocast_fp16_scaled",
    "recomputed_reentrant",
    "recomputed_nonreentrant",
    "recomputed_residual",
    "accumulated",
    "evaluated_between",
    "own_function",
    "adapters",
    "shaped_by_the_first_batch",
)

WIDTH, BATCH = 256, 64


def network(**options):
    return nn.Sequential(
        nn.Linear(WIDTH, 4 * WIDTH, **options), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH, **options)
    )


def loop(model, optimizer, *, batch=None, forward=None):
    def step():
        x = batch() if batch else torch.randn(BATCH, WIDTH, device="cuda")
        loss = (forward or model)(x).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step


def default_adamw():
    model = network(device="cuda")
    return loop(model, torch.optim.AdamW(model.parameters()))


def default_sgd_momentum():
    model = network(device="cuda")
    return loop(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))


def fused_adamw():
    model = network(device="cuda")
    return loop(model, torch.optim.AdamW(model.parameters(), fused=True))


def forloop_adamw():
    model = network(device="cuda")
    return loop(model, torch.optim.AdamW(model.parameters(), foreach=False))


def adafactor():
    model = network(device="cuda")
    return loop(model, torch.optim.Adafactor(model.parameters()))


def clipped():
    model = network(device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        model(torch.randn(BATCH, WIDTH, device="cuda")).sum().backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not torch.isfinite(norm):
            raise RuntimeError("diverged")
        optimizer.step()
        optimizer.zero_grad()

    return step


def moved_after_optimizer():
    """The optimizer holds the parameters of a model that moves to the GPU only afterwards."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters())
    model.to("cuda")
    assert all(each.is_cuda for group in optimizer.param_groups for each in group["params"])
    return loop(model, optimizer)


def moved_by_data():
    model = network()
    for parameter in model.parameters():
        parameter.data = parameter.data.cuda().bfloat16()
    assert all(each.device.type == "cuda" for each in model.parameters())
    batch = lambda: torch.randn(BATCH, WIDTH, device="cuda", dtype=torch.bfloat16)  # noqa: E731
    return loop(model, torch.optim.AdamW(model.parameters()), batch=batch)


def device_context():
    torch.manual_seed(0)
    with torch.device("cuda"):
        model = network()
        scale = torch.tensor([0.5, 2.0])
    assert scale.is_cuda
    assert scale.tolist() == [0.5, 2.0]
    return loop(model, torch.optim.AdamW(model.parameters()))


def default_device():
    torch.set_default_device("cuda")
    try:
        model = network()
    finally:
        torch.set_default_device(None)
    return loop(model, torch.optim.AdamW(model.parameters()))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(1000, WIDTH)
        self.head = nn.Linear(WIDTH, 1000, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        return self.head(self.embedding(ids))


def tied_weights():
    model = Tied().to("cuda", torch.bfloat16)
    assert model.head.weight is model.embedding.weight
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        ids = torch.randint(0, 1000, (BATCH,), device="cuda")
        nn.functional.cross_entropy(model(ids).float(), ids).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def averaged_copy():
    """An exponential moving average of the weights, kept as a copy of the model."""
    model = network(device="cuda")
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters())
    one = loop(model, optimizer)

    def step():
        one()
        with torch.no_grad():
            for mean, now in zip(average.parameters(), model.parameters(), strict=True):
                mean.lerp_(now, 0.01)

    return step


def copied_under_autocast():
    """Layers that are copies of one, as nn.TransformerEncoder makes them, in mixed precision."""
    layer = nn.Linear(WIDTH, WIDTH)
    model = nn.Sequential(copy.deepcopy(layer), copy.deepcopy(layer)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(torch.randn(BATCH, WIDTH, device="cuda")).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def dropped_out():
    model = nn.Sequential(nn.Dropout(0.1), nn.Linear(WIDTH, WIDTH)).to("cuda")
    return loop(model, torch.optim.SGD(model.parameters()))


def gathered_gradients():
    """Rows picked by index and by gather: their gradients are zeros that are written into."""
    table = nn.Parameter(torch.randn(1000, WIDTH, device="cuda"))

    def step():
        rows = torch.randint(0, 1000, (BATCH,), device="cuda")
        (table[rows].sum() + table.gather(0, rows[:, None]).sum()).backward()
        table.grad = None

    return step


@torch.jit.script
def scripted(x, bias):
    return torch.tanh(x + bias) * torch.sigmoid(x)


def scripted_function():
    """Functions that TorchScript compiles, called often enough for it to fuse them on a real device."""
    model = network(device="cuda")
    bias = nn.Parameter(torch.zeros(1, device="cuda"))
    optimizer = torch.optim.AdamW([*model.parameters(), bias])

    def step():
        for _ in range(3):
            scripted(model(torch.randn(BATCH, WIDTH, device="cuda")), bias).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def states_saved_and_loaded():
    model = network(device="cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    one = loop(model, optimizer)

    def step():
        one()
        torch.save(
            {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "/nonexistent/checkpoint.pt"
        )
        model.load_state_dict(model.state_dict())
        optimizer.load_state_dict(optimizer.state_dict())

    return step


def logging_loss():
    """What loops print: losses, formatted and compared, memory, time, a schedule's rate."""
    model = network(device="cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5 * (1 + math.cos(step / 10)))
    one = loop(model, optimizer)
    history = []

    def step():
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        loss = one()
        end.record()
        torch.cuda.synchronize()
        history.append(loss.item())
        lines = [
            f"loss {loss:.4f}",
            f"{loss}",
            str(loss),
            repr(loss.detach()),
            f"{begin.elapsed_time(end):.1f} ms",
        ]
        lines.append(
            f"{torch.cuda.memory_allocated() / 2**20:.1f} of {torch.cuda.max_memory_reserved() >> 20} MiB"
        )
        lines.append(torch.cuda.memory_summary())
        assert torch.cuda.memory_allocated() > 0
        free, total = torch.cuda.mem_get_info()
        assert 0 < free < total
        if loss < 0.1 or math.isnan(float(loss)):
            raise RuntimeError("never")
        np.mean(loss.detach().cpu().numpy())
        schedule.step()
        assert schedule.get_last_lr()[0] < 1e-3
        torch.cuda.empty_cache()

    return step


def autocast_bf16():
    model = network(device="cuda")

    def forward(x):
        with torch.autocast("cuda", torch.bfloat16):
            return model(x)

    return loop(model, torch.optim.AdamW(model.parameters()), forward=forward)


def autocast_fp16_scaled():
    model = network(device="cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")

    def step():
        with torch.autocast("cuda", torch.float16):
            loss = model(torch.randn(BATCH, WIDTH, device="cuda")).float().pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        assert scaler.get_scale() == 65536.0

    return step


def recomputed(reentrant):
    blocks = nn.ModuleList(network(device="cuda") for _ in range(4))
    dropout = nn.Dropout(0.1)
    optimizer = torch.optim.AdamW(blocks.parameters())

    def step():
        x = torch.randn(BATCH, WIDTH, device="cuda", requires_grad=reentrant)
        for block in blocks:
            x = checkpoint(lambda y, block=block: dropout(block(y)), x, use_reentrant=reentrant)
        x.sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def recomputed_reentrant():
    return recomputed(True)


def recomputed_residual():
    """Two sums per block, the first with the gradient that the nested backward pass was given."""
    blocks = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4)).cuda()

    def block(x, one, other):
        x = x + one(x.sin())
        return x + other(x.sin())

    def forward(x):
        x = x.requires_grad_() * 2
        for one, other in (blocks[:2], blocks[2:]):
            x = checkpoint(block, x, one, other, use_reentrant=True)
        return x

    return loop(blocks, torch.optim.SGD(blocks.parameters(), lr=0.1), forward=forward)


def recomputed_nonreentrant():
    return recomputed(False)


def accumulated():
    model = network(device="cuda")
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        for _ in range(3):
            (model(torch.randn(BATCH, WIDTH, device="cuda")).pow(2).mean() / 3).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    return step


def evaluated_between():
    model = network(device="cuda")
    one = loop(model, torch.optim.AdamW(model.parameters()))

    def step():
        one()
        model.eval()
        with torch.no_grad():
            for _ in range(2):
                model(torch.randn(2 * BATCH, WIDTH, device="cuda")).argmax(-1).sum().item()
        with torch.inference_mode():
            model(torch.randn(BATCH, WIDTH, device="cuda"))
        model.train()

    return step


class Doubling(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 + 0 * x


def own_function():
    model = network(device="cuda")
    return loop(model, torch.optim.AdamW(model.parameters()), forward=lambda x: model(Doubling.apply(x)))


class Adapter(nn.Module):
    def __init__(self, frozen, rank=4):
        super().__init__()
        self.frozen = frozen.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, frozen.in_features) * 0.01)
        self.up = nn.Parameter(torch.zeros(frozen.out_features, rank))

    def forward(self, x):
        return self.frozen(x) + (x @ self.down.t()) @ self.up.t()


def adapters():
    model = network()
    model[0], model[2] = Adapter(model[0]), Adapter(model[2])
    model.cuda()
    trained = [each for each in model.parameters() if each.requires_grad]
    return loop(model, torch.optim.AdamW(trained))


def shaped_by_the_first_batch():
    model = nn.Sequential(nn.LazyLinear(4 * WIDTH), nn.GELU(), nn.LazyLinear(WIDTH)).to("cuda")
    early = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.randn(1, WIDTH, device="cuda"))
    assert early.param_groups[0]["params"][0] is model[0].weight
    return loop(model, torch.optim.AdamW(model.parameters()))
