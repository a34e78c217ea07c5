"""The machine has PyTorch's eager semantics where memory depends on them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tonnage.memory.ledger.machine import Machine
from tonnage.memory.ledger.operators.elementwise import add, mul, relu, to
from tonnage.memory.ledger.operators.products import linear
from tonnage.memory.ledger.operators.views import contiguous, reshape, transpose
from tonnage.memory.ledger.tensors import Tensor, count, dense, dense_like, is_contiguous, viewed


def held(machine: Machine) -> int:
    return sum(machine.tape.sizes[block] for block in machine.tape.alive)


def test_a_block_is_freed_when_its_last_name_goes() -> None:
    machine = Machine()
    x = machine.new((256,), "float32")
    view = x.detached()
    del x
    assert held(machine) == 1024
    del view
    assert held(machine) == 0


def test_reshaping_a_transposed_tensor_copies_and_back_again_does_not() -> None:
    machine = Machine()
    x = machine.new((4, 8, 16), "float32")
    turned = transpose(x, 1, 2)
    before = held(machine)
    flat = reshape(turned, (4, 128))
    assert held(machine) == 2 * before
    del flat
    assert reshape(x, (32, 16)).storage is x.storage
    assert contiguous(x) is x


def test_a_linear_layer_keeps_its_input_and_a_sum_keeps_nothing() -> None:
    machine = Machine()
    weight = machine.parameter((8, 8), "float32", "w")
    x = machine.parameter((8, 8), "float32", "x")
    first = add(x, x)
    out = linear(first, weight)
    del first
    assert held(machine) == 4 * 256
    machine.backward(linear(out, weight))


def test_backward_frees_what_was_kept_and_leaves_gradients() -> None:
    machine = Machine()
    weight = machine.parameter((8, 8), "float32", "w")
    out = relu(linear(machine.new((8, 8), "float32"), weight))
    machine.backward(out)
    del out
    assert weight.grad is not None
    assert held(machine) == 2 * 256


def test_autocast_casts_a_weight_once_and_forgets_it_at_the_end() -> None:
    machine = Machine()
    weight = machine.parameter((8, 8), "float32", "w")
    x = machine.new((8, 8), "float32")
    with machine.autocasting("bfloat16"):
        first, second = linear(x, weight), linear(x, weight)
        casts = [op for op in machine.tape.operation_values if op.name == "aten._to_copy.default"]
        calls = [call for call in machine.tape.calls if machine.tape.operation_values[call[0]] in casts]
        assert len(calls) == 3  # the weight once, the input each time
        assert first.dtype == second.dtype == "bfloat16"
    assert machine.casts == {}


def test_a_checkpointed_part_keeps_nothing_inside_and_runs_again() -> None:
    plain, careful = Machine(), Machine()
    kept = []
    for machine, checkpoints in ((plain, False), (careful, True)):
        weight = machine.parameter((64, 64), "float32", "w")
        x = machine.new((64, 64), "float32")

        def body(machine: Machine = machine, weight: Tensor = weight, x: Tensor = x) -> Tensor:
            inner = relu(linear(x, weight))
            return linear(relu(linear(inner, weight)), weight)

        out = machine.checkpoint(body) if checkpoints else body()
        kept.append(held(machine))
        machine.backward(out)
        assert weight.grad is not None
        del out
    assert kept[1] < kept[0]
    names = [careful.tape.operation_values[call[0]].name for call in careful.tape.calls]
    assert names.count("aten.mm.default") > 9 - 1  # three forward, two or three again, five backward


def test_a_gradient_of_another_dtype_is_cast_back() -> None:
    machine = Machine()
    weight = machine.parameter((8, 8), "float32", "w")
    machine.backward(mul(to(weight, "bfloat16"), machine.new((8, 8), "bfloat16")))
    assert weight.grad is not None
    assert weight.grad.dtype == "float32"


shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@given(shapes, st.randoms())
def test_dense_strides_are_dense_in_any_order(shape: tuple[int, ...], random: object) -> None:
    order = list(range(len(shape)))
    random.shuffle(order)  # type: ignore[attr-defined]
    turned = tuple(shape[i] for i in order)
    stride = tuple(dense(shape)[i] for i in order)
    made = dense_like(turned, stride)
    assert 1 + sum((size - 1) * step for size, step in zip(turned, made, strict=True)) == count(shape)
    assert is_contiguous(shape, dense(shape))


@given(shapes)
def test_a_contiguous_tensor_can_be_seen_in_any_shape(shape: tuple[int, ...]) -> None:
    assert viewed(shape, dense(shape), (count(shape),)) == (1,)
