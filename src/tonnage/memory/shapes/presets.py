"""Well-known models, as the configurations they are published with; only what differs from the library's defaults."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.memory.shapes.configs import shape_from_config
from tonnage.memory.shapes.shape import ModelShape

Fields = dict[str, object]


def preset(name: str) -> ModelShape | None:
    """A language model or ViT of the table by its exact name."""
    config = _CONFIGS.get(name)
    return None if config is None else shape_from_config(config, name=name)


def names() -> tuple[str, ...]:
    """Every name of the table."""
    return tuple(_CONFIGS)


def _all() -> Iterator[tuple[str, Fields]]:
    yield from _gpt2()
    yield from _pythia()
    yield from _opt()
    yield from _llama()
    yield from _mistral()
    yield from _qwen()
    yield from _gemma()
    yield from _bert()
    yield from _t5()
    yield from _vit()


def _gpt2() -> Iterator[tuple[str, Fields]]:
    for name, width, layers, heads in (
        ("gpt2", 768, 12, 12),
        ("gpt2-medium", 1024, 24, 16),
        ("gpt2-large", 1280, 36, 20),
        ("gpt2-xl", 1600, 48, 25),
    ):
        yield name, {"model_type": "gpt2", "n_embd": width, "n_layer": layers, "n_head": heads}
    yield "distilgpt2", {"model_type": "gpt2", "n_embd": 768, "n_layer": 6, "n_head": 12}


def _pythia() -> Iterator[tuple[str, Fields]]:
    for name, width, layers, heads, vocabulary in (
        ("pythia-70m", 512, 6, 8, 50304),
        ("pythia-160m", 768, 12, 12, 50304),
        ("pythia-410m", 1024, 24, 16, 50304),
        ("pythia-1b", 2048, 16, 8, 50304),
        ("pythia-1.4b", 2048, 24, 16, 50304),
        ("pythia-2.8b", 2560, 32, 32, 50304),
        ("pythia-6.9b", 4096, 32, 32, 50432),
        ("pythia-12b", 5120, 36, 40, 50688),
        ("gpt-neox-20b", 6144, 44, 64, 50432),
    ):
        yield (
            name,
            _even("gpt_neox", width, layers, heads, intermediate_size=4 * width, vocab_size=vocabulary),
        )


def _opt() -> Iterator[tuple[str, Fields]]:
    for name, width, layers, heads in (
        ("opt-125m", 768, 12, 12),
        ("opt-1.3b", 2048, 24, 32),
        ("opt-2.7b", 2560, 32, 32),
        ("opt-6.7b", 4096, 32, 32),
        ("opt-13b", 5120, 40, 40),
        ("opt-30b", 7168, 48, 56),
        ("opt-66b", 9216, 64, 72),
    ):
        yield name, _even("opt", width, layers, heads, ffn_dim=4 * width)
    odd = {"word_embed_proj_dim": 512, "do_layer_norm_before": False}
    yield "opt-350m", _even("opt", 1024, 24, 16, ffn_dim=4096, **odd)


def _even(kind: str, width: int, layers: int, heads: int, **more: object) -> Fields:
    return {
        "model_type": kind,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        **more,
    }


def _dense(
    kind: str, width: int, inner: int, layers: int, heads: int, kv_heads: int, vocabulary: int, **more: object
) -> Fields:
    return {
        "model_type": kind,
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": vocabulary,
        **more,
    }


def _llama() -> Iterator[tuple[str, Fields]]:
    yield "tinyllama-1.1b", _dense("llama", 2048, 5632, 22, 32, 4, 32000)
    yield "llama-2-7b", _dense("llama", 4096, 11008, 32, 32, 32, 32000)
    yield "llama-2-13b", _dense("llama", 5120, 13824, 40, 40, 40, 32000)
    yield "llama-2-70b", _dense("llama", 8192, 28672, 80, 64, 8, 32000)
    for version in ("3", "3.1"):
        yield f"llama-{version}-8b", _dense("llama", 4096, 14336, 32, 32, 8, 128256)
        yield f"llama-{version}-70b", _dense("llama", 8192, 28672, 80, 64, 8, 128256)
    yield "llama-3.3-70b", _dense("llama", 8192, 28672, 80, 64, 8, 128256)
    yield "llama-3.1-405b", _dense("llama", 16384, 53248, 126, 128, 8, 128256)
    small = {"tie_word_embeddings": True}
    yield "llama-3.2-1b", _dense("llama", 2048, 8192, 16, 32, 8, 128256, **small)
    yield "llama-3.2-3b", _dense("llama", 3072, 8192, 28, 24, 8, 128256, **small)
    yield "smollm2-135m", _dense("llama", 576, 1536, 30, 9, 3, 49152, **small)
    yield "smollm2-360m", _dense("llama", 960, 2560, 32, 15, 5, 49152, **small)
    yield "smollm2-1.7b", _dense("llama", 2048, 8192, 24, 32, 32, 49152, **small)
    yield "phi-3-mini", _dense("phi3", 3072, 8192, 32, 32, 32, 32064, sliding_window=2047)


def _mistral() -> Iterator[tuple[str, Fields]]:
    yield "mistral-7b", _dense("mistral", 4096, 14336, 32, 32, 8, 32000, sliding_window=4096)
    yield "mistral-7b-v0.3", _dense("mistral", 4096, 14336, 32, 32, 8, 32768, sliding_window=None)
    yield (
        "mistral-nemo-12b",
        _dense("mistral", 5120, 14336, 40, 32, 8, 131072, sliding_window=None, head_dim=128),
    )
    yield "mixtral-8x7b", _dense("mixtral", 4096, 14336, 32, 32, 8, 32000)
    yield "mixtral-8x22b", _dense("mixtral", 6144, 16384, 56, 48, 8, 32768)
    yield "olmoe-1b-7b", {"model_type": "olmoe", "intermediate_size": 1024}


def _qwen() -> Iterator[tuple[str, Fields]]:
    for version in ("2", "2.5"):
        yield f"qwen{version}-0.5b", _dense("qwen2", 896, 4864, 24, 14, 2, 151936, tie_word_embeddings=True)
        yield f"qwen{version}-1.5b", _dense("qwen2", 1536, 8960, 28, 12, 2, 151936, tie_word_embeddings=True)
        yield f"qwen{version}-7b", _dense("qwen2", 3584, 18944, 28, 28, 4, 152064)
    yield "qwen2-72b", _dense("qwen2", 8192, 29568, 80, 64, 8, 152064)
    yield "qwen2.5-3b", _dense("qwen2", 2048, 11008, 36, 16, 2, 151936, tie_word_embeddings=True)
    yield "qwen2.5-14b", _dense("qwen2", 5120, 13824, 48, 40, 8, 152064)
    yield "qwen2.5-32b", _dense("qwen2", 5120, 27648, 64, 40, 8, 152064)
    yield "qwen2.5-72b", _dense("qwen2", 8192, 29568, 80, 64, 8, 152064)
    tied = {"tie_word_embeddings": True, "head_dim": 128}
    yield "qwen3-0.6b", _dense("qwen3", 1024, 3072, 28, 16, 8, 151936, **tied)
    yield "qwen3-1.7b", _dense("qwen3", 2048, 6144, 28, 16, 8, 151936, **tied)
    yield "qwen3-4b", _dense("qwen3", 2560, 9728, 36, 32, 8, 151936, **tied)
    yield "qwen3-8b", _dense("qwen3", 4096, 12288, 36, 32, 8, 151936, head_dim=128)
    yield "qwen3-14b", _dense("qwen3", 5120, 17408, 40, 40, 8, 151936, head_dim=128)
    yield "qwen3-32b", _dense("qwen3", 5120, 25600, 64, 64, 8, 151936, head_dim=128)
    experts = {"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "head_dim": 128}
    yield "qwen3-30b-a3b", _dense("qwen3_moe", 2048, 6144, 48, 32, 4, 151936, **experts)


def _gemma() -> Iterator[tuple[str, Fields]]:
    yield "gemma-2b", _dense("gemma", 2048, 16384, 18, 8, 1, 256000, head_dim=256)
    yield "gemma-7b", _dense("gemma", 3072, 24576, 28, 16, 16, 256000, head_dim=256)
    yield "gemma-2-2b", _dense("gemma2", 2304, 9216, 26, 8, 4, 256000, head_dim=256)
    yield "gemma-2-9b", _dense("gemma2", 3584, 14336, 42, 16, 8, 256000, head_dim=256)
    yield "gemma-2-27b", _dense("gemma2", 4608, 36864, 46, 32, 16, 256000, head_dim=128)
    yield "gemma-3-1b", _dense("gemma3_text", 1152, 6912, 26, 4, 1, 262144, head_dim=256, sliding_window=512)


def _bert() -> Iterator[tuple[str, Fields]]:
    large = {
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
    }
    for name, vocabulary in (("uncased", 30522), ("cased", 28996)):
        yield f"bert-base-{name}", {"model_type": "bert", "vocab_size": vocabulary}
        yield f"bert-large-{name}", {"model_type": "bert", "vocab_size": vocabulary, **large}
    roberta: Fields = {"model_type": "roberta", "max_position_embeddings": 514, "type_vocab_size": 1}
    yield "roberta-base", roberta
    yield "roberta-large", {**roberta, **large}
    xlm: Fields = {**roberta, "model_type": "xlm-roberta", "vocab_size": 250002}
    yield "xlm-roberta-base", xlm
    yield "xlm-roberta-large", {**xlm, **large}
    yield "distilbert-base-uncased", {"model_type": "distilbert"}


def _t5() -> Iterator[tuple[str, Fields]]:
    sizes = {
        "small": (512, 2048, 6, 8, 64),
        "base": (768, 3072, 12, 12, 64),
        "large": (1024, 4096, 24, 16, 64),
        "3b": (1024, 16384, 24, 32, 128),
        "11b": (1024, 65536, 24, 128, 128),
    }
    flan = {
        "small": (512, 1024, 8, 6, 64),
        "base": (768, 2048, 12, 12, 64),
        "large": (1024, 2816, 24, 16, 64),
        "xl": (2048, 5120, 24, 32, 64),
        "xxl": (4096, 10240, 24, 64, 64),
    }
    for name, row in sizes.items():
        yield f"t5-{name}", _encoder_decoder(row)
    gated: Fields = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    for name, row in flan.items():
        yield f"flan-t5-{name}", {**_encoder_decoder(row), **gated}
        yield f"t5-v1.1-{name}", {**_encoder_decoder(row), **gated}
        yield f"mt5-{name}", {**_encoder_decoder(row), "model_type": "mt5"}


def _encoder_decoder(row: tuple[int, int, int, int, int]) -> Fields:
    width, inner, layers, heads, head_dim = row
    return {
        "model_type": "t5",
        "d_model": width,
        "d_ff": inner,
        "num_layers": layers,
        "num_heads": heads,
        "d_kv": head_dim,
    }


def _vit() -> Iterator[tuple[str, Fields]]:
    sizes = {
        "tiny": (192, 768, 12, 3),
        "small": (384, 1536, 12, 6),
        "base": (768, 3072, 12, 12),
        "large": (1024, 4096, 24, 16),
        "huge": (1280, 5120, 32, 16),
    }
    for name, (width, inner, layers, heads) in sizes.items():
        for patch in (14,) if name == "huge" else (16, 32):
            yield (
                f"vit-{name}-patch{patch}-224",
                {
                    "model_type": "vit",
                    "hidden_size": width,
                    "intermediate_size": inner,
                    "num_hidden_layers": layers,
                    "num_attention_heads": heads,
                    "patch_size": patch,
                    "num_labels": 1000,
                },
            )


_CONFIGS: dict[str, Fields] = dict(_all())
