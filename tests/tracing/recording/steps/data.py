"""Steps whose data comes from the CPU, or decides what happens."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BUILDS = (
    "data_loader",
    "data_loader_with_workers",
    "numpy_and_pinned",
    "masked_tokens",
    "lengths_from_the_batch",
    "unknown_mask",
    "looped_experts",
    "looped_experts_autocast",
    "grouped_experts_autocast",
    "counted_experts",
    "recurrent_lstm",
    "recurrent_gru",
    "packed_lstm",
    "embedding_bag",
)

WIDTH, BATCH = 128, 64


def trained(model, forward):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        forward().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def loaded(workers):
    model = nn.Linear(WIDTH, 10, device="cuda")
    data = TensorDataset(torch.randn(4 * BATCH, WIDTH), torch.randint(0, 10, (4 * BATCH,)))
    loader = DataLoader(data, batch_size=BATCH, shuffle=True, num_workers=workers, pin_memory=True)

    def forward():
        x, y = next(iter(loader))
        assert x.shape == (BATCH, WIDTH)
        x, y = x.to("cuda", non_blocking=True), y.cuda(non_blocking=True)
        return nn.functional.cross_entropy(model(x), y)

    return trained(model, forward)


def data_loader():
    return loaded(0)


def data_loader_with_workers():
    return loaded(2)


def numpy_and_pinned():
    model = nn.Linear(WIDTH, 1, device="cuda")
    static = torch.empty(BATCH, WIDTH, device="cuda")

    def forward():
        array = np.random.default_rng(0).standard_normal((BATCH, WIDTH)).astype(np.float32)
        static.copy_(torch.from_numpy(array).pin_memory(), non_blocking=True)
        return model(static).mean() + torch.as_tensor(array[:1]).cuda().sum()

    return trained(model, forward)


def masked_tokens():
    """A masked language model's loss on the masked tokens alone: 15 % of them, known because the mask is."""
    embedding, head = nn.Embedding(500, WIDTH, device="cuda"), nn.Linear(WIDTH, 500, device="cuda")
    model = nn.ModuleList((embedding, head))

    def forward():
        ids = torch.randint(0, 500, (BATCH, 32), device="cuda")
        masked = torch.rand(BATCH, 32, device="cuda") < 0.15
        hidden = embedding(ids.masked_fill(masked, 0))[masked]
        assert 0.1 < hidden.shape[0] / ids.numel() < 0.2
        return nn.functional.cross_entropy(head(hidden), ids[masked])

    return trained(model, forward)


def lengths_from_the_batch():
    model = nn.Linear(WIDTH, 1, device="cuda")

    def forward():
        lengths = torch.tensor([3, 7, 5]).cuda()
        longest = int(lengths.max().item())
        assert longest == 7
        mask = torch.arange(longest, device="cuda")[None] < lengths[:, None]
        assert mask.nonzero().shape == (15, 2)
        assert torch.unique(lengths).numel() == 3
        assert torch.masked_select(mask, mask).numel() == 15
        return model(torch.randn(int(mask.sum()), WIDTH, device="cuda")).mean()

    return trained(model, forward)


def unknown_mask():
    """Nobody can know which activations are positive: everything is assumed to be selected."""
    model = nn.Linear(WIDTH, WIDTH, device="cuda")

    def forward():
        y = model(torch.randn(BATCH, WIDTH, device="cuda"))
        positive = y[y > 0]
        assert positive.numel() == BATCH * WIDTH
        values, order = y.sort(dim=-1)
        return (
            positive.mean()
            + values.gather(1, order).mean()
            + torch.topk(y, 3).values.sum()
            + y.argsort().sum()
        )

    return trained(model, forward)


class Experts(nn.Module):
    """The loop over experts of most mixtures: each takes the tokens routed to it and adds its share."""

    def __init__(self, experts=8, chosen=2):
        super().__init__()
        self.chosen = chosen
        self.router = nn.Linear(WIDTH, experts, bias=False)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(experts))

    def forward(self, x):
        weights, routed = self.router(x).softmax(-1).topk(self.chosen, dim=-1)
        mask = nn.functional.one_hot(routed, len(self.experts)).permute(2, 1, 0)
        out = torch.zeros_like(x)
        for number in (mask.sum((-1, -2)) > 0).nonzero():
            place, token = torch.where(mask[number[0]])
            mine = self.experts[int(number[0])](x[token]) * weights[token, place, None]
            out.index_add_(0, token, mine.to(out.dtype))
        return out


def looped_experts():
    model = Experts().cuda()
    return trained(model, lambda: model(torch.randn(4096, WIDTH, device="cuda")).mean())


def looped_experts_autocast():
    model = Experts().cuda()

    def forward():
        with torch.autocast("cuda", torch.bfloat16):
            return model(torch.randn(4096, WIDTH, device="cuda")).mean()

    return trained(model, forward)


def grouped_experts_autocast():
    """Grouped products of float32 weights: what autocast leaves of a grouped mixture."""
    weight = nn.Parameter(torch.randn(4, WIDTH, 2 * WIDTH, device="cuda"))
    model = nn.ParameterList([weight])

    def forward():
        ends = torch.tensor([16, 32, 48, 64], device="cuda", dtype=torch.int32)
        with torch.autocast("cuda", torch.bfloat16):
            out = torch._grouped_mm(torch.randn(BATCH, WIDTH, device="cuda"), weight, offs=ends)
        assert out.shape == (BATCH, 2 * WIDTH)
        assert out.dtype == torch.float32
        return out.mean()

    return trained(model, forward)


class Sequences(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layer = kind(WIDTH, 2 * WIDTH, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(2 * WIDTH, 1)

    def forward(self, x):
        return self.head(self.layer(x)[0])


def counted_experts():
    """Tokens are sorted by the expert they chose and cut by counts, as grouped kernels and balancing losses do."""
    router, experts = nn.Linear(WIDTH, 4), nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4))
    model = nn.ModuleList((router, experts)).cuda()

    def forward():
        x = torch.randn(1024, WIDTH, device="cuda")
        weight, chosen = router(x).softmax(-1).topk(2, -1)
        counts = torch.bincount(chosen.flatten(), minlength=4)
        order = chosen.flatten().argsort(stable=True)
        parts = (x[order // 2]).split(counts.tolist())
        mixed = torch.cat([expert(part) for expert, part in zip(experts, parts, strict=True)])
        owner = torch.arange(4, device="cuda").repeat_interleave(counts)
        assert owner.shape == (2048,)
        return (mixed * weight.flatten()[order, None]).mean() + (counts.float() / 2048).square().sum()

    return trained(model, forward)


def recurrent_lstm():
    model = Sequences(nn.LSTM).cuda()
    return trained(model, lambda: model(torch.randn(BATCH, 20, WIDTH, device="cuda")).mean())


def recurrent_gru():
    model = Sequences(nn.GRU).cuda()
    return trained(model, lambda: model(torch.randn(BATCH, 20, WIDTH, device="cuda")).mean())


def packed_lstm():
    layer = nn.LSTM(WIDTH, WIDTH).cuda()

    def forward():
        lengths = torch.tensor([9, 6, 4])
        x = torch.randn(9, 3, WIDTH, device="cuda")
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
        out, _ = nn.utils.rnn.pad_packed_sequence(layer(packed)[0])
        assert out.shape == (9, 3, WIDTH)
        return out.mean()

    return trained(layer, forward)


def embedding_bag():
    model = nn.EmbeddingBag(1000, WIDTH, mode="mean").cuda()

    def forward():
        ids = torch.randint(0, 1000, (BATCH * 5,), device="cuda")
        return model(ids, torch.arange(0, BATCH * 5, 5, device="cuda")).mean()

    return trained(model, forward)
