"""Steps of Hugging Face transformers models, built from configurations (no weights are loaded)."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from architectures import adapt
from torch.nn import functional as F
from training import Step, parameter_dtype, tokens, train


def built(
    config: Any, kind: Any, precision: str, *, recompute: bool = False, seed_device: str = "cuda"
) -> Any:
    """The model on the device in the dtype its weights are kept in."""
    with torch.device(seed_device):
        model = kind._from_config(config) if hasattr(kind, "_from_config") else kind(config)
    model = model.to("cuda", parameter_dtype(precision))
    if recompute:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model


def language(config: Any, kind: Any, samples: int, length: int, precision: str, **options: Any) -> Step:
    """A step on random tokens with the model's own loss."""
    recompute, rank, compiled = (
        options.pop("recompute", False),
        options.pop("rank", 0),
        options.pop("compiled", False),
    )
    model = built(
        config, kind, precision, recompute=recompute, seed_device=options.pop("seed_device", "cuda")
    )
    if rank:
        model = adapt(model, rank, ("q_proj", "v_proj"))
    called = torch.compile(model) if compiled else model
    vocabulary = config.vocab_size

    def loss_of(ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return called(input_ids=ids, labels=labels).loss

    return train(model, tokens(vocabulary, samples, length), loss_of, precision=precision, **options)


def llama_config(**changes: Any) -> Any:
    size = {
        "vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,
        "num_attention_heads": 32, "num_key_value_heads": 4, "use_cache": False,
    }  # fmt: skip
    return transformers.LlamaConfig(**(size | changes))


def hf_llama_bf16() -> Step:
    return language(llama_config(), transformers.LlamaForCausalLM, 4, 2048, "bf16")


def hf_llama_amp_recompute() -> Step:
    return language(llama_config(), transformers.LlamaForCausalLM, 4, 2048, "amp-bf16", recompute=True)


def hf_llama_lora() -> Step:
    return language(llama_config(), transformers.LlamaForCausalLM, 6, 1024, "bf16", rank=16)


def hf_llama_eager_attention() -> Step:
    config = llama_config(num_hidden_layers=8, attn_implementation="eager")
    return language(config, transformers.LlamaForCausalLM, 4, 1024, "bf16")


def hf_llama_compiled() -> Step:
    config = llama_config(num_hidden_layers=12)
    return language(config, transformers.LlamaForCausalLM, 4, 1024, "bf16", compiled=True)


def hf_gpt2_medium_amp() -> Step:
    config = transformers.GPT2Config(n_embd=1024, n_layer=24, n_head=16, use_cache=False)
    return language(config, transformers.GPT2LMHeadModel, 8, 1024, "amp-bf16")


def hf_gpt2_fp32() -> Step:
    config = transformers.GPT2Config(use_cache=False)
    return language(config, transformers.GPT2LMHeadModel, 4, 768, "fp32", seed_device="cpu")


def hf_mistral_bf16() -> Step:
    config = transformers.MistralConfig(
        vocab_size=32768, hidden_size=2560, intermediate_size=6912, num_hidden_layers=12,
        num_attention_heads=20, num_key_value_heads=4, use_cache=False, sliding_window=None,
    )  # fmt: skip
    return language(config, transformers.MistralForCausalLM, 3, 2048, "bf16", optimizer="adamw-fused")


def hf_qwen2_amp() -> Step:
    config = transformers.Qwen2Config(
        vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24,
        num_attention_heads=14, num_key_value_heads=2, tie_word_embeddings=True, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.Qwen2ForCausalLM, 2, 2048, "amp-bf16")


def hf_qwen3_bf16_recompute() -> Step:
    config = transformers.Qwen3Config(
        vocab_size=151936, hidden_size=1024, intermediate_size=3072, num_hidden_layers=28,
        num_attention_heads=16, num_key_value_heads=8, head_dim=128, tie_word_embeddings=True, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.Qwen3ForCausalLM, 4, 2048, "bf16", recompute=True)


def hf_gemma2_bf16() -> Step:
    config = transformers.Gemma2Config(
        vocab_size=64000, hidden_size=1152, intermediate_size=6912, num_hidden_layers=12,
        num_attention_heads=8, num_key_value_heads=4, head_dim=128, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.Gemma2ForCausalLM, 4, 1024, "bf16")


def hf_bert_base_amp() -> Step:
    return language(transformers.BertConfig(), transformers.BertForMaskedLM, 32, 512, "amp-bf16")


def hf_roberta_fp16_scaled() -> Step:
    config = transformers.RobertaConfig(vocab_size=50265, max_position_embeddings=514)
    return language(config, transformers.RobertaForMaskedLM, 24, 384, "amp-fp16")


def hf_distilbert_classifier() -> Step:
    config = transformers.DistilBertConfig(num_labels=4)
    model = built(config, transformers.DistilBertForSequenceClassification, "fp32")

    def batch() -> tuple[torch.Tensor, ...]:
        ids = torch.randint(0, 30000, (48, 256), device="cuda")
        seen = torch.ones(48, 256, dtype=torch.long, device="cuda")
        return ids, seen, torch.randint(0, 4, (48,), device="cuda")

    def loss_of(ids: torch.Tensor, seen: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return model(input_ids=ids, attention_mask=seen, labels=labels).loss

    return train(model, batch, loss_of, precision="fp32")


def hf_t5_base_bf16() -> Step:
    config = transformers.T5Config(
        d_model=768, d_kv=64, d_ff=3072, num_layers=12, num_heads=12, decoder_start_token_id=0, pad_token_id=0
    )
    return language(config, transformers.T5ForConditionalGeneration, 16, 512, "bf16")


def hf_t5_small_amp_adafactor() -> Step:
    config = transformers.T5Config(decoder_start_token_id=0, pad_token_id=0)
    return language(
        config, transformers.T5ForConditionalGeneration, 32, 384, "amp-bf16", optimizer="adafactor"
    )


def hf_mixtral_bf16() -> Step:
    config = transformers.MixtralConfig(
        vocab_size=32000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=6, num_attention_heads=16,
        num_key_value_heads=4, num_local_experts=8, num_experts_per_tok=2, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.MixtralForCausalLM, 4, 1024, "bf16")


def hf_mixtral_amp() -> Step:
    config = transformers.MixtralConfig(
        vocab_size=32000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=4, num_attention_heads=16,
        num_key_value_heads=4, num_local_experts=8, num_experts_per_tok=2, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.MixtralForCausalLM, 4, 1024, "amp-bf16")


def hf_olmoe_amp() -> Step:
    config = transformers.OlmoeConfig(
        vocab_size=50304, hidden_size=1024, intermediate_size=1024, num_hidden_layers=6, num_attention_heads=16,
        num_key_value_heads=16, num_experts=32, num_experts_per_tok=4, use_cache=False,
    )  # fmt: skip
    return language(config, transformers.OlmoeForCausalLM, 4, 1024, "amp-bf16")


def hf_vit_large_bf16() -> Step:
    config = transformers.ViTConfig(
        hidden_size=1024,
        num_hidden_layers=24,
        num_attention_heads=16,
        intermediate_size=4096,
        num_labels=1000,
    )
    model = built(config, transformers.ViTForImageClassification, "bf16")

    def batch() -> tuple[torch.Tensor, ...]:
        pixels = torch.randn(48, 3, 224, 224, device="cuda", dtype=torch.bfloat16)
        return pixels, torch.randint(0, 1000, (48,), device="cuda")

    def loss_of(pixels: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(model(pixel_values=pixels).logits, labels)

    return train(model, batch, loss_of, precision="bf16")


def hf_whisper_small_amp() -> Step:
    config = transformers.WhisperConfig(
        d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12, decoder_attention_heads=12,
        encoder_ffn_dim=3072, decoder_ffn_dim=3072, use_cache=False,
    )  # fmt: skip
    model = built(config, transformers.WhisperForConditionalGeneration, "amp-bf16")

    def batch() -> tuple[torch.Tensor, ...]:
        sound = torch.randn(8, 80, 3000, device="cuda")
        return sound, torch.randint(0, 50000, (8, 200), device="cuda")

    def loss_of(sound: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return model(input_features=sound, labels=labels).loss

    return train(model, batch, loss_of, precision="amp-bf16")
