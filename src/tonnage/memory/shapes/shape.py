"""A model as dimensions.

One value serves every family; what a family does not have stays at its default. Names are those of the
documents (`layers`, `hidden`, `kv_heads`, ...); `architecture` is the library's own name for the code that the
dimensions belong to (`llama`, `qwen3`, `resnet50`), because two models of equal dimensions keep different
tensors when they are written differently.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tonnage.errors import DocumentError, Problem

Family = Literal["gpt2", "gpt_neox", "opt", "llama", "mixtral", "bert", "t5", "vit", "convnet"]
Head = Literal["language", "sequence", "tokens"]
QkNorm = Literal["none", "head", "full"]


class ShapeError(DocumentError):
    """A model's description that no model can have, or that we do not know."""


class ModelShape(msgspec.Struct, frozen=True):
    """Everything that decides a model's memory and work."""

    name: str
    family: Family
    architecture: str
    layers: int = 0
    hidden: int = 0
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    intermediate: int = 0
    vocabulary: int = 0
    positions: int = 0
    """Rows of a learned position table; the longest sequence or the trained image."""
    experts: int = 0
    experts_per_token: int = 0
    decoder_layers: int = 0
    """Decoder blocks of an encoder-decoder."""
    tied: bool = False
    """Whether the output projection is the input embedding."""
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    qk_norm: QkNorm = "none"
    fused_qkv: bool = False
    gated: bool = True
    """Whether the feed-forward part multiplies two projections."""
    activation: str = "silu"
    post_norms: bool = False
    """Norms after attention and feed-forward too (Gemma 2 and 3), or only there (OPT 350M)."""
    softcap: bool = False
    """Logits squashed by tanh (Gemma 2)."""
    embedding_scale: bool = False
    parallel_blocks: bool = False
    """Attention and feed-forward side by side (GPT-NeoX)."""
    window: int = 0
    """Sliding window; 0 for none."""
    window_every: int = 1
    """Every how many layers the window does not apply; 1: it applies in all."""
    dropout: float = 0.0
    attention_dropout: float = 0.0
    patch: int = 0
    image: int = 0
    channels: int = 3
    classes: int = 0
    head: Head = "language"
    """What a text is for: its own tokens, one class for all of it, or one per token (`classes`)."""
    rotary: int = 0
    """How much of a head's width is turned by its position; 0: all of it."""
    embedding_width: int = 0
    """Width of the embedding where it is projected to the model's; 0 where it is the model's."""
    types: int = 0
    """Segment types of BERT's input."""
    relative_buckets: int = 0
    router_loss: bool = False

    @property
    def query(self) -> int:
        """Width of all query heads together."""
        return self.heads * self.head_dim

    @property
    def key(self) -> int:
        """Width of all key heads together."""
        return self.kv_heads * self.head_dim

    @property
    def is_language_model(self) -> bool:
        return self.family not in ("vit", "convnet")

    @property
    def is_vision(self) -> bool:
        return not self.is_language_model


MOST_WEIGHTS = 10**15
"""A hundred times the largest models anybody speaks of; beyond it a number has digits too many."""


def checked(shape: ModelShape, where: str | None = None) -> ModelShape:
    """The shape itself; raise ShapeError where its dimensions contradict each other."""
    problems = []
    if (weights := _roughly(shape)) > MOST_WEIGHTS:
        problems.append(("no model that is known is so large", f"about {weights:.0e} weights"))
    if shape.family != "convnet":
        if shape.heads and not shape.head_dim and shape.hidden % shape.heads:
            problems.append(("heads do not divide the width", f"{shape.heads} heads, width {shape.hidden}"))
        if shape.kv_heads and shape.heads % shape.kv_heads:
            problems.append(
                ("key heads do not divide the heads", f"{shape.heads} heads, {shape.kv_heads} key heads")
            )
        if shape.experts and shape.experts_per_token > shape.experts:
            problems.append(
                (
                    "a token visits more experts than there are",
                    f"{shape.experts_per_token} of {shape.experts}",
                )
            )
    if problems:
        raise ShapeError(
            *(Problem(code="SHAPE-004", what=what, where=where, found=found) for what, found in problems)
        )
    return shape


def _roughly(shape: ModelShape) -> int:
    """Weights of the large matrices: enough to see a slip in a number."""
    feed_forward = 3 * shape.hidden * shape.intermediate * max(1, shape.experts)
    blocks = (shape.layers + shape.decoder_layers) * (4 * shape.hidden * shape.query + feed_forward)
    return blocks + shape.hidden * (shape.vocabulary + shape.positions + shape.classes)
