"""Small steps that compile in the ways people do."""

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

WIDTH, ROWS, CLASSES = 256, 8192, 1000


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.down(functional.gelu(self.up(self.norm(x)))))


class Net(nn.Module):
    def __init__(self, *, checkpointing=False, breaks=False):
        super().__init__()
        self.blocks = nn.ModuleList([Block()])
        self.head = nn.Linear(WIDTH, CLASSES, bias=False)
        self.checkpointing = checkpointing
        self.breaks = breaks

    def forward(self, x, y):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointing else block(x)
        if self.breaks and x.sum().item() > 0:
            x = x * 2
        return functional.cross_entropy(self.head(x), y)


def training(model, forward):
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)

    def step():
        x = torch.randn(ROWS, WIDTH, device="cuda")
        y = torch.randint(0, CLASSES, (ROWS,), device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            loss = forward(x, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def eager():
    model = Net().cuda()
    return training(model, model)


def compiled():
    model = Net().cuda()
    return training(model, torch.compile(model))


def broken_into_graphs():
    model = Net(breaks=True, checkpointing=True).cuda()
    return training(model, torch.compile(model))


def with_cuda_graphs():
    model = Net().cuda()
    return training(model, torch.compile(model, mode="reduce-overhead"))


def impossible():
    """A graph Inductor is not able to compile."""
    import torch._inductor.graph

    model = Net().cuda()
    forward = torch.compile(model)
    compile_to_module = torch._inductor.graph.GraphLowering.compile_to_module

    def fail(*_args, **_kwargs):
        raise NotImplementedError("no such lowering")

    inner = training(model, forward)

    def step():
        torch._inductor.graph.GraphLowering.compile_to_module = fail
        try:
            inner()
        finally:
            torch._inductor.graph.GraphLowering.compile_to_module = compile_to_module

    return step


def own_kernel():
    """A Triton kernel launched by the step itself, chosen among two configurations."""
    import triton
    import triton.language as tl

    @triton.autotune(configs=[triton.Config({"size": 256}), triton.Config({"size": 512})], key=["length"])
    @triton.jit
    def double(source, target, length, size: tl.constexpr):
        at = tl.program_id(0) * size + tl.arange(0, size)
        tl.store(target + at, 2 * tl.load(source + at, mask=at < length), mask=at < length)

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(_ctx, x):
            out = torch.empty_like(x)
            double[(triton.cdiv(x.numel(), 256),)](x, out, x.numel())
            return out

        @staticmethod
        def backward(_ctx, gradient):
            return 2 * gradient

    model = Net().cuda()
    return training(model, lambda x, y: model(Double.apply(x), y))
