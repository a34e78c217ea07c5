"""What optimizers hold between steps and make inside one.

`foreach` optimizers work on all parameters at once and so make temporaries as large as the model; fused and
for-loop ones do not. State appears in the first step and stays.
"""

from __future__ import annotations

import msgspec

from tonnage.memory.ledger.machine import Machine
from tonnage.memory.ledger.tape import OPTIMIZER
from tonnage.memory.ledger.tensors import Tensor


class OptimizerState(msgspec.Struct):
    """Moments by parameter, in the order of the parameters."""

    kind: str
    ranks: int = 1
    """Ranks that share the state."""
    has_masters: bool = False
    """Whether fp32 copies of half-precision weights and fp32 moments are kept (DeepSpeed)."""
    on_host: bool = False
    kept: list[list[Tensor]] = msgspec.field(default_factory=list)


def clip(machine: Machine, parameters: list[Tensor]) -> None:
    """`clip_grad_norm_` with foreach: one number per parameter, then a product in place."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    norms = machine.call("aten._foreach_norm.Scalar", gradients, [((), "float32", None, "")] * len(gradients))
    total = machine.call("aten.stack.default", norms, [((len(norms),), "float32", None, "")])
    del norms, total
    machine.call("aten._foreach_mul_.Tensor", gradients, [])


def optimize(machine: Machine, parameters: list[Tensor], state: OptimizerState) -> None:
    """One `optimizer.step()`."""
    used = [p for p in parameters if p.grad is not None]
    if state.on_host or not used:
        return
    machine.divide = state.ranks
    try:
        _optimize(machine, used, state)
    finally:
        machine.divide = 1


def _optimize(machine: Machine, used: list[Tensor], state: OptimizerState) -> None:
    if not state.kept:
        _begin(machine, used, state)
    _STEPS[state.kind](machine, used, state)


def _like(p: Tensor) -> tuple[tuple[int, ...], str, tuple[int, ...], str]:
    return p.shape, p.dtype, p.stride, p.label


def _begin(machine: Machine, used: list[Tensor], state: OptimizerState) -> None:
    machine.tape.category = OPTIMIZER
    for p in used:
        if state.has_masters:
            copies = 3 if state.kind.startswith("adamw") else 2
            wide = (p.shape, "float32", p.stride, p.label)
            state.kept.append(
                [machine.call("aten.zeros_like.default", [p], [wide])[0] for _ in range(copies)]
            )
        elif state.kind.startswith("adamw"):
            counter = (
                [machine.call("aten.zeros.default", [], [((), "float32", None, "")])[0]]
                if state.kind == "adamw-fused"
                else []
            )
            moments = [machine.call("aten.zeros_like.default", [p], [_like(p)])[0] for _ in range(2)]
            state.kept.append(counter + moments)
        elif state.kind == "adafactor":
            state.kept.append(_factors(machine, p))
        else:
            state.kept.append([])
    machine.tape.category = None


def _factors(machine: Machine, p: Tensor) -> list[Tensor]:
    if len(p.shape) < 2:
        return [machine.call("aten.zeros_like.default", [p], [_like(p)])[0]]
    row, column = (*p.shape[:-1], 1), (*p.shape[:-2], 1, p.shape[-1])
    return [machine.call("aten.zeros.default", [], [(s, p.dtype, None, "factor")])[0] for s in (row, column)]


def _foreach_adamw(machine: Machine, used: list[Tensor], state: OptimizerState) -> None:
    gradients = [p.grad for p in used if p.grad is not None]
    first = [kept[-2] for kept in state.kept]
    second = [kept[-1] for kept in state.kept]
    machine.call("aten._foreach_mul_.Scalar", used, [])
    machine.call("aten._foreach_lerp_.Scalar", [*first, *gradients], [])
    machine.call("aten._foreach_mul_.Scalar", second, [])
    machine.call("aten._foreach_addcmul_.Scalar", [*second, *gradients, *gradients], [])
    roots = machine.call("aten._foreach_sqrt.default", second, [_like(p) for p in second])
    machine.call("aten._foreach_div_.ScalarList", roots, [])
    machine.call("aten._foreach_add_.Scalar", roots, [])
    machine.call("aten._foreach_addcdiv_.ScalarList", [*used, *first, *roots], [])
    while roots:
        roots.pop()


def _fused_adamw(machine: Machine, used: list[Tensor], state: OptimizerState) -> None:
    gradients = [p.grad for p in used if p.grad is not None]
    moments = [moment for kept in state.kept for moment in kept[-2:]]
    machine.call("aten._fused_adamw_.default", [*used, *gradients, *moments], [])


def _loop_adamw(machine: Machine, used: list[Tensor], state: OptimizerState) -> None:
    for p, kept in zip(used, state.kept, strict=True):
        assert p.grad is not None
        machine.call_in_place("aten.mul_.Tensor", p)
        machine.call_in_place("aten.lerp_.Scalar", kept[-2], p.grad)
        machine.call_in_place("aten.mul_.Tensor", kept[-1])
        machine.call_in_place("aten.addcmul_.default", kept[-1], p.grad, p.grad)
        root = machine.call("aten.sqrt.default", [kept[-1]], [_like(p)])[0]
        divided = machine.call("aten.div.Tensor", [root], [_like(p)])[0]
        del root
        machine.call_in_place("aten.add_.Tensor", divided)
        machine.call_in_place("aten.addcdiv_.default", p, kept[-2], divided)
        del divided


def _sgd(machine: Machine, used: list[Tensor], _state: OptimizerState) -> None:
    gradients = [p.grad for p in used if p.grad is not None]
    machine.call("aten._foreach_add_.List", [*used, *gradients], [])


def _momentum(machine: Machine, used: list[Tensor], state: OptimizerState) -> None:
    """With weight decay, as everybody uses it: gradients plus decayed weights are made anew."""
    given = [p.grad for p in used if p.grad is not None]
    gradients = machine.call("aten._foreach_add.List", [*given, *used], [_like(p) for p in given])
    if not state.has_masters and not state.kept[0]:
        # The first step keeps a copy of the gradient as its momentum.
        machine.tape.category = OPTIMIZER
        for p, kept in zip(used, state.kept, strict=True):
            kept.append(machine.call("aten.clone.default", [p], [_like(p)])[0])
        machine.tape.category = None
    else:
        kept_all = [kept[0] for kept in state.kept]
        machine.call("aten._foreach_mul_.Scalar", kept_all, [])
        machine.call("aten._foreach_add_.List", [*kept_all, *gradients], [])
    machine.call("aten._foreach_add_.List", [*used, *(kept[0] for kept in state.kept)], [])


def _adafactor(machine: Machine, used: list[Tensor], state: OptimizerState) -> None:
    """One tensor after the other; the host waits for two norms of each."""
    for p, kept in zip(used, state.kept, strict=True):
        assert p.grad is not None
        _norm_on_host(machine, p)
        machine.call_in_place("aten.mul_.Tensor", p)
        if len(p.shape) > 1:
            for factor in kept:
                spec = (factor.shape, factor.dtype, None, "factor")
                mean = machine.call("aten.linalg_vector_norm.default", [p.grad], [spec])[0]
                machine.call_in_place("aten.square_.default", mean)
                machine.call_in_place("aten.div_.Scalar", mean)
                machine.call_in_place("aten.lerp_.Scalar", factor, mean)
                del mean
            update = machine.call("aten.mul.Tensor", [kept[0], kept[1]], [_like(p)])[0]
            machine.call_in_place("aten.div_.Tensor", update)
        else:
            update = machine.call("aten.mul.Tensor", [p.grad], [_like(p)])[0]
            machine.call_in_place("aten.lerp_.Scalar", kept[0], update)
        for name in ("clamp_", "rsqrt_", "mul_"):
            machine.call_in_place(f"aten.{name}.default", update)
        _norm_on_host(machine, update)
        machine.call_in_place("aten.add_.Tensor", p, update)
        del update


def _norm_on_host(machine: Machine, x: Tensor) -> None:
    length = machine.call("aten.linalg_vector_norm.default", [x], [((), "float32", None, "")])
    machine.call("aten._local_scalar_dense.default", length, [])


_STEPS = {
    "adamw": _foreach_adamw,
    "adamw-fused": _fused_adamw,
    "adamw-forloop": _loop_adamw,
    "sgd": _sgd,
    "sgdm": _momentum,
    "adafactor": _adafactor,
}
