"""What is trained: enough about the model and the step to predict memory and time."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tonnage.spec.fields import Flag, Text, Whole
from tonnage.spec.parts import Part, ShortPart, unsaid

Positive = Annotated[Whole, Field(ge=1)]
NotNegative = Annotated[Whole, Field(ge=0)]


class Shape(ShortPart):
    """A model by its dimensions. Short form: a preset name, or the path of a Hugging Face `config.json`."""

    short: ClassVar[str] = "preset"

    preset: Text | None = None
    """Preset name like `llama-3-8b` or `resnet50`, or the path of a `config.json`."""

    family: Literal["gpt2", "llama", "mixtral", "bert", "t5", "vit", "convnet"] | None = None
    """Architecture family whose formulas apply to the dimensions below."""

    layers: Positive | None = None
    """Number of transformer blocks."""

    hidden: Positive | None = None
    """Width of the residual stream."""

    heads: Positive | None = None
    """Attention heads."""

    kv_heads: Positive | None = None
    """Key and value heads, where fewer than `heads` (grouped-query attention)."""

    intermediate: Positive | None = None
    """Width of the feed-forward part."""

    vocabulary: Positive | None = None
    """Number of tokens."""

    experts: Positive | None = None
    """Experts per layer of a mixture of experts."""

    experts_per_token: Positive | None = None
    """Experts that each token visits."""

    parameters: Positive | None = None
    """Total number of parameters, where the dimensions are not known."""


class Model(Part):
    """The model: a step to trace (exact) or a shape (an estimate)."""

    step: Text | None = None
    """`FILE.py:function` that builds model and optimizer and returns one full step to trace."""

    shape: Shape | None = None
    """Preset, `config.json` or dimensions, when there is nothing to trace."""

    python: Text | None = None
    """Interpreter of the training environment that traces `step`; this one by default."""


class Parallel(Part):
    """How the model is spread over ranks; the product must equal the number of ranks."""

    ddp: Positive | None = None
    """Data-parallel copies."""

    fsdp: Positive | None = None
    """Ranks that share one sharded copy (FSDP)."""

    zero: Annotated[Whole, Field(ge=0, le=3)] | None = None
    """DeepSpeed ZeRO stage."""

    tensor: Positive | None = None
    """Tensor-parallel ranks."""

    pipeline: Positive | None = None
    """Pipeline stages."""

    expert: Positive | None = None
    """Expert-parallel ranks."""


class Loader(Part):
    """The data loader, which decides RAM and /dev/shm more often than the model does."""

    workers: NotNegative = 4
    """Worker processes per rank."""

    prefetch: NotNegative = 2
    """Batches each worker prepares ahead."""

    pin_memory: Flag = True
    """Whether batches are copied through page-locked memory."""

    persistent: Flag = False
    """Whether workers live from epoch to epoch."""

    sample_seconds: Annotated[float, Field(gt=0, le=3600)] | None = None
    """Core-seconds a worker spends on one sample; with it, the time the GPUs wait for data is predicted."""


class Train(Part):
    """The training step; these are also the knobs that `tonnage plan --fit` may turn."""

    micro_batch: Positive | None = None
    """Samples per rank and forward pass."""

    accumulation: Positive = 1
    """Forward passes per optimizer step."""

    precision: Literal["bf16", "amp-bf16", "amp-fp16", "fp16", "fp32"] = "amp-bf16"
    """Number format; `amp-` keeps fp32 weights and computes in half precision."""

    checkpointing: Literal["none", "full", "selective"] = "none"
    """Activation checkpointing: recompute instead of keeping activations."""

    sequence: Positive | None = None
    """Tokens per sample."""

    image_size: Positive | None = None
    """Pixels per image side."""

    optimizer: Literal["adamw", "adamw-fused", "adamw-forloop", "sgd", "sgdm", "adafactor"] = "adamw"
    """Optimizer; decides how many bytes each parameter costs."""

    attention: Literal["sdpa", "eager", "flash"] = "sdpa"
    """Attention implementation."""

    lora_rank: Positive | None = None
    """Rank of LoRA adapters; without it all parameters are trained."""

    parallel: Parallel = unsaid()
    """How the model is spread over ranks; plain data parallel by default."""

    offload: Literal["none", "optimizer", "all"] = "none"
    """What is kept in host RAM instead of GPU memory."""

    compile: Flag = False
    """Whether `torch.compile` is used."""

    steps: Positive | None = None
    """Optimizer steps to the end; with it, hours and dollars can be predicted."""

    loader: Loader = unsaid()
    """The data loader."""
