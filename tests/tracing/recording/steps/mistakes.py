"""Build functions with a mistake each, and operations that nobody can foresee."""

from __future__ import annotations

import torch
from torch import nn

BUILDS = (
    "not_a_function", "returns_nothing", "needs_an_argument", "raises", "exits", "step_raises", "knob_unknown",
    "knob_taken", "knob_by_default", "own_operation", "own_operation_described", "bounded_by_data",
    "sparse_gradients",
)  # fmt: skip

not_a_function = 7


def returns_nothing():
    nn.Linear(4, 4, device="cuda")


def needs_an_argument(rows, columns=3):
    return lambda: None


def raises():
    raise ValueError("no such dataset")


def exits():
    raise SystemExit("usage: train.py CONFIG")


class Head(nn.Module):
    def forward(self, x):
        return x @ torch.ones(3, 3, device="cuda")


def step_raises():
    model = nn.Sequential(nn.Linear(4, 4, device="cuda"), Head())
    return lambda: model(torch.ones(2, 4, device="cuda"))


def knob_unknown():
    return lambda: None


knob_unknown.request = {"knobs": {"batch_size": 4}}


def knob_taken(micro_batch=1, *, sequence):
    return lambda: torch.empty(micro_batch, sequence, device="cuda")


knob_taken.request = {"knobs": {"micro_batch": 16, "sequence": 1024, "precision": "bf16"}, "steps": 3}


def knob_by_default(accumulation=4):
    return lambda: [torch.empty(1, device="cuda") for _ in range(accumulation)]


@torch.library.custom_op("mistakes::secret", mutates_args=())
def secret(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@torch.library.custom_op("mistakes::open", mutates_args=())
def described(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@described.register_fake
def _(x):
    return torch.empty_like(x)


class Secretive(nn.Module):
    def forward(self, x):
        return torch.ops.mistakes.secret(x)


def own_operation():
    model = nn.Sequential(nn.Identity(), Secretive())
    return lambda: model(torch.ones(4, device="cuda"))


def own_operation_described():
    return lambda: torch.ops.mistakes.open(torch.ones(4, device="cuda"))


def bounded_by_data():
    """A size that comes from an operation of somebody else, which refuses to say."""
    model = nn.Linear(4, 4, device="cuda")

    def step():
        x = model(torch.randn(100, 4, device="cuda"))
        kept = x[x.sum(-1) > 0]
        assert kept.shape == (100, 4)

    return step


def sparse_gradients():
    table = nn.Embedding(1000, 64, sparse=True, device="cuda")
    words = torch.zeros(8, dtype=torch.long, device="cuda")
    return lambda: table(words).sum().backward()
