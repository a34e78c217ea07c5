"""What operations ask of a device: arithmetic and bytes, counted from shapes and strides."""

from __future__ import annotations

import pytest
from timing_builders import addition, attention, convolution, item, product, tensor

from tonnage.memory.trace import Operation
from tonnage.timing.moving import waits
from tonnage.timing.reading import work_of
from tonnage.timing.work import Arithmetic


def test_a_product_counts_a_multiplication_and_an_addition_as_two() -> None:
    assert work_of(product(128, 64, 32)).flops == 2 * 128 * 64 * 32


def test_a_batch_of_products_is_their_sum() -> None:
    operation = Operation("aten.bmm.default", (tensor(8, 128, 64), tensor(8, 64, 32)), (tensor(8, 128, 32),))

    assert work_of(operation).flops == 8 * work_of(product(128, 64, 32)).flops


def test_a_product_into_a_given_tensor_is_the_same_product() -> None:
    left, right, out = tensor(128, 64), tensor(64, 32), tensor(128, 32)
    plain = Operation("aten.mm.default", (left, right), (out,))
    into = Operation("aten.mm.out", (left, right, out), (out,))
    added = Operation("aten.addmm.out", (tensor(32), left, right, out), (out,))

    assert work_of(into) == work_of(plain)
    assert work_of(added).flops == work_of(plain).flops


def test_experts_do_the_arithmetic_of_their_rows() -> None:
    operation = Operation(
        "aten._grouped_mm.default",
        (tensor(1024, 64), tensor(8, 64, 32), tensor(8, dtype="int32")),
        (tensor(1024, 32),),
    )

    assert work_of(operation).flops == work_of(product(1024, 64, 32)).flops


def test_fp32_products_use_the_short_format_only_where_it_is_allowed() -> None:
    operation = product(128, 128, 128, "float32")

    assert work_of(operation).rate == "fp32"
    assert work_of(operation, Arithmetic(matrix_tf32=True)).rate == "tf32"
    assert work_of(operation, Arithmetic.of({"matmul.allow_tf32": "True"})).rate == "tf32"


def test_causal_attention_is_half_of_the_pairs() -> None:
    whole, half = work_of(attention(2, 8, 512, 64)), work_of(attention(2, 8, 512, 64, causal=True))

    assert whole.flops == 4 * 2 * 8 * 512 * 512 * 64
    assert half.flops == whole.flops / 2


def test_backward_attention_is_five_products_for_two() -> None:
    one = tensor(2, 8, 512, 64)
    backward = Operation("aten._scaled_dot_product_cudnn_attention_backward.default", (one,) * 5, (one,) * 3)

    assert work_of(backward).flops == 2.5 * work_of(attention(2, 8, 512, 64)).flops


def test_a_depthwise_convolution_does_one_channel_each() -> None:
    dense, depthwise = work_of(convolution(8, 64, 28)), work_of(convolution(8, 64, 28, groups=64))

    assert dense.flops == 2 * 8 * 28 * 28 * 64 * 64 * 9
    assert depthwise.flops == dense.flops / 64


def test_gradients_of_a_convolution_that_nobody_wants_cost_nothing() -> None:
    image, weight = tensor(8, 3, 32, 32), tensor(64, 3, 3, 3)
    gradient = tensor(8, 64, 32, 32)

    def backward(mask: list[bool]) -> float:
        scalars: dict[str, object] = {"stride": [1, 1], "groups": 1, "output_mask": mask}
        return work_of(
            Operation("aten.convolution_backward.default", (gradient, image, weight), (weight,), scalars)
        ).flops

    assert backward([True, True, False]) == 2 * backward([False, True, False])


def test_an_expanded_tensor_is_read_once() -> None:
    large = tensor(4096, 1024)
    row = tensor(4096, 1024, stride=(0, 1))

    operation = Operation("aten.add.Tensor", (large, row), (large,))

    assert work_of(operation).bytes == 2 * 4096 * 1024 * 2 + 1024 * 2


def test_filling_and_copying_do_not_read_what_they_overwrite() -> None:
    one = tensor(1000, dtype="float32")

    assert work_of(Operation("aten.zero_.default", (one,), (one,))).bytes == 4000
    assert work_of(Operation("aten.copy_.default", (one, one), (one,))).bytes == 8000


def test_a_look_up_reads_the_rows_it_finds_and_not_the_table() -> None:
    operation = Operation(
        "aten.embedding.default", (tensor(50000, 64), tensor(10, dtype="int64")), (tensor(10, 64),)
    )

    assert work_of(operation).bytes == 2 * 10 * 64 * 2 + 80


def test_an_optimizer_over_lists_writes_what_it_changes() -> None:
    weights = tuple(tensor(1000, dtype="float32") for _ in range(3))
    in_place = Operation("aten._foreach_add_.List", (*weights, *weights), ())
    fused = Operation(
        "aten._fused_adamw_.default", (*weights * 4, *(tensor(dtype="float32"),) * 3), (), {"amsgrad": False}
    )

    assert work_of(in_place).bytes == 3 * 3 * 4000
    assert work_of(fused).bytes == (4 + 3) * 3 * 4000 + 3 * 4


@pytest.mark.parametrize(
    "name", ["empty.memory_format", "detach.default", "_unsafe_view.default", "t.default"]
)
def test_renaming_memory_is_free(name: str) -> None:
    assert work_of(Operation(f"aten.{name}", (tensor(1024),), (tensor(1024),))).kind == "free"


def test_a_compiled_kernel_moves_the_bytes_its_compiler_counted() -> None:
    operation = Operation("inductor.pointwise", (tensor(1024),), (tensor(1024),), {"bytes": 12345})

    assert work_of(operation).bytes == 12345


def test_an_unknown_operation_reads_its_inputs_and_writes_its_outputs() -> None:
    operation = Operation("mylib.strange.default", (tensor(1024),), (tensor(2048),))

    assert work_of(operation).bytes == 3072 * 2


def test_the_host_waits_where_it_needs_a_value() -> None:
    on_host = tensor(8, device="cpu")

    assert waits(item())
    assert waits(Operation("aten._to_copy.default", (tensor(8),), (on_host,)))
    assert waits(
        Operation("aten.nonzero.default", (tensor(8, dtype="bool"),), (tensor(8, 1, dtype="int64"),))
    )
    assert not waits(Operation("aten._to_copy.default", (on_host,), (tensor(8),)))
    assert not waits(Operation("aten._to_copy.default", (tensor(8),), (on_host,), {"non_blocking": True}))
    assert not waits(addition(8))
