"""Embeddings and the loss: both ends of a language model."""

from __future__ import annotations

from tonnage.memory.ledger.autograd import Gradients, Node, track
from tonnage.memory.ledger.operators.elementwise import full_precision, scale
from tonnage.memory.ledger.tensors import Tensor


def embedding(weight: Tensor, indices: Tensor, label: str = "d") -> Tensor:
    """Rows of a table: keeps the indices; the gradient is as large as the table."""
    machine = weight.machine
    shape = (*indices.shape, weight.shape[1])
    out = machine.call("aten.embedding.default", [weight, indices], [(shape, weight.dtype, None, label)])[0]
    table = weight.shape

    def rule(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return machine.call(
            "aten.embedding_dense_backward.default", [g, saved[0]], [(table, g.dtype, None, "embedding")]
        )

    track(machine, [out], [weight], [indices], rule)
    return out


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean negative log-likelihood: keeps the log-probabilities; backward makes two more tensors of their size."""
    machine = logits.machine
    chances = machine.elementwise("aten._log_softmax.default", logits)

    def of_chances(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [machine.elementwise("aten._log_softmax_backward_data.default", g, saved[0])]

    track(machine, [chances], [logits], [chances], of_chances)
    chances = full_precision(chances)
    loss, weight = machine.call(
        "aten.nll_loss_forward.default",
        [chances, targets],
        [((), chances.dtype, None, ""), ((), chances.dtype, None, "")],
    )

    def of_loss(saved: list[Tensor], gradients: list[Tensor | None], _node: Node) -> Gradients:
        (g,) = gradients
        assert g is not None
        return [machine.elementwise("aten.nll_loss_backward.default", saved[0], dtype=saved[0].dtype)]

    track(machine, [loss], [chances], [chances, targets, weight], of_loss)
    return loss


def averaged(loss: Tensor) -> Tensor:
    """The loss divided by the number of accumulated batches."""
    return scale(loss)
