"""How a model is trained, as far as memory and time care: the knobs of a step."""

from __future__ import annotations

from typing import Literal

import msgspec

Precision = Literal["bf16", "amp-bf16", "amp-fp16", "fp16", "fp32"]
Optimizer = Literal["adamw", "adamw-fused", "adamw-forloop", "sgd", "sgdm", "adafactor"]
Checkpointing = Literal["none", "full", "selective"]
Attention = Literal["sdpa", "eager", "flash"]
Offload = Literal["none", "optimizer", "all"]


class Parallel(msgspec.Struct, frozen=True):
    """How ranks share the work. `ddp` and `fsdp` are degrees; their product with the others is the world size."""

    ddp: int = 1
    fsdp: int = 1
    zero: Literal[0, 1, 2, 3] = 0
    """DeepSpeed's stage over the data-parallel ranks; 0 where it is not used."""
    tensor: int = 1
    pipeline: int = 1
    expert: int = 1

    @property
    def data(self) -> int:
        """Ranks that see different samples."""
        return self.ddp * self.fsdp

    @property
    def world_size(self) -> int:
        return self.data * self.tensor * self.pipeline


class Recipe(msgspec.Struct, frozen=True):
    """One optimizer step on one rank."""

    micro_batch: int
    sequence: int | None = None
    image: int | None = None
    precision: Precision = "amp-bf16"
    optimizer: Optimizer = "adamw"
    checkpointing: Checkpointing = "none"
    attention: Attention = "sdpa"
    accumulation: int = 1
    lora_rank: int | None = None
    parallel: Parallel = Parallel()
    offload: Offload = "none"
