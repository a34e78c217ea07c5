"""Steps of libraries that ask what kind of tensor they have, and of rarer corners of torch."""

from __future__ import annotations

import torch
import torchvision
import transformers
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

BUILDS = (
    "hf_llama", "hf_experts_grouped", "hf_experts_looped", "torchvision_drop_path", "attention_kernels",
    "optimizer_in_backward", "encoder_evaluated", "sequence_loss", "per_sample_gradients", "offloaded_activations",
)  # fmt: skip

SIZES = {
    "vocab_size": 500, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "use_cache": False,
}  # fmt: skip


def trained(model, loss_of, optimizer=None):
    optimizer = optimizer or torch.optim.AdamW(model.parameters())

    def step():
        loss_of().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def language(kind, config, precision=None):
    model = kind._from_config(config).cuda().train()

    def loss_of():
        ids = torch.randint(0, 500, (2, 64), device="cuda")
        mask = torch.ones_like(ids)
        with torch.autocast("cuda", precision or torch.bfloat16, enabled=precision is not None):
            return model(input_ids=ids, labels=ids, attention_mask=mask).loss

    return trained(model, loss_of)


def hf_llama():
    return language(transformers.LlamaForCausalLM, transformers.LlamaConfig(**SIZES), torch.bfloat16)


def experts(implementation):
    config = transformers.MixtralConfig(**SIZES, num_local_experts=4, experts_implementation=implementation)
    return language(transformers.MixtralForCausalLM, config, torch.bfloat16)


def hf_experts_grouped():
    return experts("grouped_mm")


def hf_experts_looped():
    return experts("eager")


def torchvision_drop_path():
    """Drop rates are computed with tensors on the CPU, so they must have values."""
    model = torchvision.models.convnext_tiny(stochastic_depth_prob=0.1).cuda().train()
    return trained(model, lambda: model(torch.randn(1, 3, 64, 64, device="cuda")).sum())


def attention_kernels():
    projection = nn.Linear(64, 64, device="cuda", dtype=torch.bfloat16)

    def attend(query, **options):
        return nn.functional.scaled_dot_product_attention(query, query, query, **options).float().sum()

    def loss_of():
        query = projection(torch.randn(2, 4, 128, 64, device="cuda", dtype=torch.bfloat16))
        total = attend(query, is_causal=True) + attend(query.float())
        for kernel in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH):
            with sdpa_kernel(kernel):
                total = total + attend(query, is_causal=True, dropout_p=0.1)
        return total

    return trained(projection, loss_of)


def optimizer_in_backward():
    """Each parameter is updated as soon as its gradient is there, so no two gradients live at once."""
    model = nn.Sequential(*(nn.Linear(256, 256, bias=False, device="cuda") for _ in range(4)))
    optimizers = {each: torch.optim.SGD([each], lr=0.1) for each in model.parameters()}

    def update(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for each in model.parameters():
        each.register_post_accumulate_grad_hook(update)
    return lambda: model(torch.randn(8, 256, device="cuda")).sum().backward()


def encoder_evaluated():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, batch_first=True), 2).cuda()
    padding = torch.zeros(2, 16, dtype=torch.bool, device="cuda")

    def loss_of():
        model.eval()
        with torch.no_grad():
            model(torch.randn(2, 16, 64, device="cuda"), src_key_padding_mask=padding)
        model.train()
        return model(torch.randn(2, 16, 64, device="cuda")).sum()

    return trained(model, loss_of)


def sequence_loss():
    model = nn.Linear(40, 29, device="cuda")

    def loss_of():
        scores = model(torch.randn(50, 4, 40, device="cuda")).log_softmax(-1)
        targets = torch.randint(1, 29, (4, 10), device="cuda")
        inputs, lengths = torch.full((4,), 50, device="cuda"), torch.full((4,), 10, device="cuda")
        return nn.functional.ctc_loss(scores, targets, inputs, lengths)

    return trained(model, loss_of)


def per_sample_gradients():
    model = nn.Linear(64, 64, device="cuda")

    def loss_of():
        weights = {name: each.detach() for name, each in model.named_parameters()}
        of_one = torch.func.grad(lambda given, x: torch.func.functional_call(model, given, (x,)).sum())
        found = torch.func.vmap(of_one, in_dims=(None, 0))(weights, torch.randn(8, 64, device="cuda"))
        assert found["weight"].shape == (8, 64, 64)
        return model(torch.randn(8, 64, device="cuda")).sum()

    return trained(model, loss_of)


def offloaded_activations():
    model = nn.Sequential(*(nn.Linear(256, 256, device="cuda") for _ in range(4)))

    def loss_of():
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return model(torch.randn(1024, 256, device="cuda")).sum()

    return trained(model, loss_of)
