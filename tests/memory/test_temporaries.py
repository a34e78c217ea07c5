"""Blocks that operations take inside themselves, against figures read off an H200 or worked from the kernels."""

from __future__ import annotations

import pytest
from traces import a_tensor, an_operation

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.device import device_of
from tonnage.memory.temporaries import RULES, Temporary, temporaries_of
from tonnage.memory.trace import TensorInfo

MIB = 2**20
H200 = device_of(find_gpu("h200"))
A100 = device_of(find_gpu("a100-80"))


def sizes(operation, device=H200) -> list[int]:
    return [temporary.size for temporary in temporaries_of(operation, device)]


def a_row_sum(rows: int, columns: int, dtype: str = "bfloat16"):
    return an_operation(
        "aten.sum.dim_IntList", [a_tensor(rows, columns, dtype=dtype)], [a_tensor(1, columns)], dim=[0]
    )


def test_an_operation_without_a_rule_takes_nothing():
    assert temporaries_of(an_operation("aten.relu.default", [a_tensor(4)], [a_tensor(4)]), H200) == ()


def test_a_tall_sum_keeps_partial_results_132_mib_as_measured():
    assert sizes(a_row_sum(16384, 3072))[0] == 132 * MIB


def test_partial_results_follow_the_number_of_multiprocessors():
    # 108 x 16 blocks on an A100 over a grid of 24: 72 share each output.
    assert sizes(a_row_sum(16384, 3072), A100)[0] == 4 * 3072 * 72 * 128


def test_short_and_wide_sums_need_none():
    assert sizes(a_row_sum(128, 3072)) == []
    along_rows = an_operation("aten.sum.dim_IntList", [a_tensor(16384, 3072)], [a_tensor(16384)], dim=[-1])
    assert sizes(along_rows) == []


def test_a_sum_over_all_elements_needs_a_partial_result_per_block():
    total = an_operation("aten.sum.default", [a_tensor(1 << 24)], [a_tensor()])
    partial, counters = sizes(total)
    # Blocks of 512 threads: 528 of them fill 132 multiprocessors four times.
    assert (partial, counters) == (528 * 4, 4)
    # More values than 256 per thread are shared among more blocks.
    larger = an_operation("aten.sum.default", [a_tensor(1 << 28)], [a_tensor()])
    assert sizes(larger)[0] == (1 << 28) // 512 // 256 * 4


def test_odd_columns_are_not_vectorized():
    wide, narrow = sizes(a_row_sum(65536, 4096)), sizes(a_row_sum(65536, 4095))
    assert wide
    assert narrow
    assert wide[0] != narrow[0]


def test_leading_dimensions_are_one_reduction():
    three = an_operation(
        "aten.sum.dim_IntList",
        [a_tensor(8, 2048, 3072, dtype="bfloat16")],
        [a_tensor(1, 1, 3072)],
        dim=[0, 1],
    )
    assert sizes(three) == sizes(a_row_sum(16384, 3072))


def test_cudnn_attention_keeps_the_query_gradient_in_fp32():
    query = a_tensor(4, 32, 2048, 64, dtype="bfloat16")
    backward = an_operation(
        "aten._scaled_dot_product_cudnn_attention_backward.default", [query] * 5, [query] * 3
    )
    # Measured: 68,157,696 bytes.
    assert sizes(backward) == [4 * 4 * 32 * 2048 * 64 + 4 * 4 * 32 * 2048 + 256] == [68_157_696]


def test_cudnn_attention_with_fewer_key_heads_makes_their_gradients_for_every_head():
    query, key = a_tensor(3, 20, 2048, 128, dtype="bfloat16"), a_tensor(3, 4, 2048, 128, dtype="bfloat16")
    backward = an_operation(
        "aten._scaled_dot_product_cudnn_attention_backward.default",
        [query, query, key, key, query],
        [query, key, key],
    )
    assert sizes(backward) == [126_320_896]  # as measured


def test_efficient_attention_in_fp32_makes_row_sums_and_partial_gradients():
    query = a_tensor(48, 12, 256, 64)
    backward = an_operation(
        "aten._scaled_dot_product_efficient_attention_backward.default", [query] * 5, [query] * 3
    )
    assert sizes(backward) == [37_748_736, 589_824, 589_824, 37_785_600]  # as measured


def test_a_softmax_s_gradient_multiplies_before_it_sums():
    attention = a_tensor(4, 32, 1024, 1024)
    backward = an_operation(
        "aten._softmax_backward_data.default", [attention, attention], [attention], dim=-1
    )
    assert sizes(backward) == [512 * MIB]
    assert sizes(an_operation("aten._log_softmax_backward_data.default", [attention] * 2, [attention])) == []


def test_a_softmax_that_bears_masked_rows_looks_for_them():
    scores = a_tensor(16, 12, 512, 512)
    safe = an_operation("aten._safe_softmax.default", [scores], [scores], dim=-1)
    assert sizes(safe) == [48 * MIB, 98_304, 4]


def test_a_running_sum_of_another_type_is_converted_first():
    mask, positions = a_tensor(4, 2048, dtype="bool"), a_tensor(4, 2048, dtype="int64")
    assert sizes(an_operation("aten.cumsum.default", [mask], [positions], dim=-1)) == [65_536]
    assert sizes(an_operation("aten.cumsum.default", [positions], [positions], dim=-1)) == []


def test_adding_at_indices_sorts_them_and_writing_does_not():
    target, indices, values = a_tensor(8192, 1024), a_tensor(16384, dtype="int64"), a_tensor(16384, 1024)
    add = an_operation("aten.index_put.default", [target, indices, values], [target], accumulate=True)
    assert sizes(add)[:5] == [131_072] * 5
    write = an_operation("aten.index_put.default", [target, indices, values], [target], accumulate=False)
    assert sizes(write) == []


def test_flash_attention_with_fewer_key_heads_expands_their_gradients():
    query, key = a_tensor(2, 32, 1000, 128, dtype="bfloat16"), a_tensor(2, 8, 1000, 128, dtype="bfloat16")
    backward = an_operation(
        "aten._scaled_dot_product_flash_attention_backward.default",
        [query, query, key, key, query],
        [query, key, key],
    )
    rows, accumulated, keys, values = sizes(backward)
    assert rows == 4 * 2 * 32 * 1024
    assert accumulated == rows * 128
    assert keys == values == 2 * 2 * 32 * 1000 * 128


def an_embedding_gradient(count: int, width: int, rows: int, dtype: str = "float32"):
    given = [a_tensor(count, width, dtype=dtype), a_tensor(count, dtype="int64")]
    return an_operation("aten.embedding_dense_backward.default", given, [a_tensor(rows, width, dtype=dtype)])


def test_an_embedding_gradient_sorts_its_indices_before_the_table_is_made():
    found = temporaries_of(an_embedding_gradient(8192, 768, 50304), H200)
    assert [temporary.after for temporary in found[:4]] == [0, 0, 0, 0]
    assert [temporary.until for temporary in found[2:4]] == [0, 0]
    # Measured: 27,681,792 bytes of partial sums, the last and largest block.
    assert found[-1].size == 4 * 768 * (8192 // 10 + 8192) == 27_681_792


def test_a_table_of_few_rows_needs_no_partial_sums():
    assert max(sizes(an_embedding_gradient(16384, 768, 2))) < MIB


def test_indices_that_do_not_lie_in_order_are_copied():
    expanded = TensorInfo((32, 512), (0, 1), "int64")
    lookup = an_operation("aten.embedding.default", [a_tensor(2, 768), expanded], [a_tensor(32, 512, 768)])
    assert temporaries_of(lookup, H200) == (Temporary(131_072, after=0),)


def test_few_indices_are_added_directly():
    operation = an_operation(
        "aten.embedding_dense_backward.default",
        [a_tensor(512, 768), a_tensor(512, dtype="int64")],
        [a_tensor(30522, 768)],
    )
    assert sizes(operation) == []


def test_matrices_that_cublas_cannot_read_are_copied():
    strided = TensorInfo((512, 256), (1024, 2), "bfloat16")
    plain, turned = a_tensor(256, 128, dtype="bfloat16"), TensorInfo((512, 256), (1, 512), "bfloat16")
    made = a_tensor(512, 128)
    assert sizes(an_operation("aten.mm.default", [strided, plain], [made])) == [512 * 256 * 2]
    assert sizes(an_operation("aten.mm.default", [turned, plain], [made])) == []


def a_convolution(image, weight, made, name: str = "aten.convolution.default"):
    return an_operation(name, [image, weight], [made], groups=1)


@pytest.mark.parametrize(
    ("image", "weight", "made", "measured"),
    [
        # ResNet-50 in fp32, batch 128.
        ((128, 3, 224, 224), (64, 3, 7, 7), (128, 64, 112, 112), 488_150_016),
        ((128, 64, 56, 56), (64, 64, 3, 3), (128, 64, 56, 56), 205_668_864),
        ((128, 128, 56, 56), (128, 128, 3, 3), (128, 128, 28, 28), 257_491_456),
        ((128, 512, 7, 7), (2048, 512, 1, 1), (128, 2048, 7, 7), 64_225_792),
        ((128, 64, 56, 56), (256, 64, 1, 1), (128, 256, 56, 56), 0),
    ],
)
def test_channels_first_images_are_rearranged_for_a_convolution(image, weight, made, measured: int):
    found = temporaries_of(a_convolution(a_tensor(*image), a_tensor(*weight), a_tensor(*made)), H200)
    assert sum(temporary.size for temporary in found) == pytest.approx(measured, abs=1024)
    assert all(temporary.is_optional for temporary in found)


def test_images_cut_into_patches_are_padded_in_half_precision():
    image, weight, made = (
        a_tensor(*shape, dtype="bfloat16")
        for shape in ((64, 3, 224, 224), (768, 3, 16, 16), (64, 768, 14, 14))
    )
    assert sizes(a_convolution(image, weight, made)) == [pytest.approx(73_794_048, abs=1024)]


def test_channels_last_images_are_only_padded():
    image = TensorInfo((256, 3, 224, 224), (150528, 1, 672, 3), "bfloat16")
    weight = TensorInfo((64, 3, 7, 7), (147, 1, 21, 3), "bfloat16")
    made = TensorInfo((256, 64, 112, 112), (802816, 1, 7168, 64), "bfloat16")
    assert sizes(a_convolution(image, weight, made)) == [pytest.approx(205_571_584, abs=1024)]
    inner = TensorInfo((256, 64, 56, 56), (200704, 1, 3584, 64), "bfloat16")
    kernel = TensorInfo((64, 64, 3, 3), (576, 1, 192, 64), "bfloat16")
    assert sizes(a_convolution(inner, kernel, inner)) == []


def test_depthwise_convolutions_need_none():
    image, weight = a_tensor(48, 512, 16, 16), a_tensor(512, 1, 3, 3)
    assert sizes(a_convolution(image, weight, image)) == []


def a_gradient(image, weight, made, *outputs):
    return an_operation("aten.convolution_backward.default", [made, image, weight], outputs)


def test_a_convolution_s_gradients_take_one_workspace_after_the_other():
    image, weight = a_tensor(128, 64, 56, 56), a_tensor(64, 64, 3, 3)
    first, second = temporaries_of(a_gradient(image, weight, image, image, weight), H200)
    assert (first.after, first.until) == (1, 1)
    assert (second.after, second.until) == (2, 2)
    assert first.size == pytest.approx(196.14 * MIB, rel=0.001)
    assert second.size == pytest.approx(198.11 * MIB, rel=0.001)


@pytest.mark.parametrize(
    ("image", "weight", "made", "dtype", "measured"),
    [
        ((128, 3, 224, 224), (64, 3, 7, 7), (128, 64, 112, 112), "float32", 495.79),
        ((256, 3, 224, 224), (64, 3, 7, 7), (256, 64, 112, 112), "float32", 985.79),
        ((96, 3, 224, 224), (64, 3, 7, 7), (96, 64, 112, 112), "float16", 184.16),
        ((64, 3, 224, 224), (768, 3, 16, 16), (64, 768, 14, 14), "bfloat16", 88.38),
        ((48, 3, 224, 224), (1024, 3, 16, 16), (48, 1024, 14, 14), "bfloat16", 83.13),
        ((128, 3, 224, 224), (768, 3, 32, 32), (128, 768, 7, 7), "float32", 128.38),
    ],
)
def test_the_first_layer_s_weight_gradient_pads_the_image(image, weight, made, dtype: str, measured: float):
    given = [a_tensor(*shape, dtype=dtype) for shape in (image, weight, made)]
    (found,) = temporaries_of(a_gradient(*given, given[1]), H200)
    assert found.size / MIB == pytest.approx(measured, abs=0.01)


def test_a_weight_s_gradient_of_a_1x1_kernel_has_a_partial_sum_per_image():
    image, weight, made = a_tensor(128, 256, 56, 56), a_tensor(64, 256, 1, 1), a_tensor(128, 64, 56, 56)
    (partial,) = temporaries_of(a_gradient(image, weight, made, image, weight), H200)
    assert partial.size == 8 * MIB  # as measured


def test_a_bias_s_gradient_is_a_sum_that_cannot_do_without_its_partial_results():
    shape = (64, 256, 28, 28)
    image = TensorInfo(shape, (200704, 1, 7168, 256), "bfloat16")
    weight, bias = TensorInfo((256, 1, 7, 7), (49, 1, 7, 1), "bfloat16"), a_tensor(256, dtype="bfloat16")
    found = temporaries_of(a_gradient(image, weight, image, image, weight, bias), H200)
    assert [temporary.is_optional for temporary in found] == [True, False, False]
    assert [temporary.size for temporary in found[:2]] == [24.5 * MIB, 98 * MIB]  # as measured


def test_norms_copy_what_does_not_lie_in_order():
    turned = TensorInfo((64, 197, 768), (768, 49152, 1), "float32")
    plain, scale = a_tensor(64, 197, 768), a_tensor(768)
    statistics = a_tensor(64, 197, 1)
    assert sizes(an_operation("aten.native_layer_norm.default", [turned, scale, scale], [plain])) == [
        38_731_776
    ]
    backward = an_operation(
        "aten.native_layer_norm_backward.default",
        [turned, turned, statistics, statistics, scale, scale],
        [plain, scale, scale],
    )
    first, last = temporaries_of(backward, H200)
    assert (first.after, first.size, last.size) == (0, 38_731_776, 38_731_776)
    assert last.after > 3


def test_a_tall_layer_norm_s_gradient_is_summed_in_blocks_of_rows():
    rows, scale, statistics = a_tensor(128, 28, 28, 192), a_tensor(192), a_tensor(128, 28, 28, 1)
    backward = an_operation(
        "aten.native_layer_norm_backward.default",
        [rows, rows, statistics, statistics, scale, scale],
        [rows, scale, scale],
    )
    assert sizes(backward)[:2] == [2_408_448, 2_408_448]  # as measured
    assert sizes(backward)[2] == pytest.approx(4.594 * MIB, rel=0.001)


def test_batch_norm_stages_partial_sums_with_channels_last_only():
    last = TensorInfo((256, 1024, 14, 14), (200704, 1, 14336, 1024), "bfloat16")
    scale = a_tensor(1024)
    assert sizes(an_operation("aten.native_batch_norm.default", [last, scale, scale], [last])) == [2 * MIB]
    assert sizes(an_operation("aten.native_batch_norm_backward.default", [last, last], [last])) == [MIB]
    first = a_tensor(256, 1024, 14, 14)
    assert sizes(an_operation("aten.native_batch_norm.default", [first, scale, scale], [first])) == []


def test_a_list_norm_keeps_a_partial_sum_per_chunk():
    tensors = [a_tensor(1000), a_tensor(65536 * 3)]
    norm = an_operation("aten._foreach_norm.Scalar", tensors, [a_tensor(), a_tensor()])
    assert temporaries_of(norm, H200) == (Temporary(4 * 2 * 3, after=0),)


def test_tensors_on_the_host_or_without_strides_have_no_rule():
    on_host = an_operation("aten.sum.default", [a_tensor(1 << 24, device="cpu")], [a_tensor(device="cpu")])
    sparse = an_operation("aten.sum.default", [TensorInfo((4096, 4096), (), "float32")], [a_tensor()])
    assert sizes(on_host) == sizes(sparse) == []


def test_values_out_of_order_are_copied_before_they_are_added_at_indices():
    values = TensorInfo((400_000, 256), (512, 1), "float32", "cuda")
    inputs = [a_tensor(60_000, 256), a_tensor(400_000, dtype="int64"), values]
    adding = an_operation("aten.index_put_.default", inputs, [a_tensor(60_000, 256)], accumulate=True)
    # Seen on an H200, in MiB: 3.05, 3.05, 390.62, 3.05, 3.05, 3.05, 6.19.
    assert [round(size / MIB, 2) for size in sizes(adding)[:6]] == [3.05, 3.05, 390.62, 3.05, 3.05, 3.05]


def test_gradients_of_embedding_bags_are_sorted_and_summed_in_parts():
    gradient = TensorInfo((16384, 128), (832, 1), "float32", "cuda")
    inputs = [gradient, a_tensor(327_680, dtype="int64"), a_tensor(16384, dtype="int64")]
    made = [a_tensor(400_000, 128)]
    found = sizes(an_operation("aten._embedding_bag_backward.default", inputs, made))
    # Seen on an H200, in MiB: 8.0, 2.5, 2.5, 2.5, 5.09 before the table; 2.75 and 176.0 at the end.
    assert [round(size / MIB, 1) for size in found[:5]] == [8.0, 2.5, 2.5, 2.5, 5.0]
    assert [round(size / MIB, 2) for size in found[-2:]] == [2.75, 176.0]


@pytest.mark.parametrize(
    ("name", "read", "made", "seen"),
    [
        ("aten._fft_c2r.default", (8, 32, 128, 65), (8, 32, 128, 128), [17039360]),
        ("aten._fft_c2r.default", (4, 16, 333, 251), (4, 16, 333, 500), [42794496, 42794496]),
        ("aten._fft_c2c.default", (8, 32, 100, 120), (8, 32, 100, 120), []),
        ("aten._fft_c2c.default", (4, 16, 333, 500), (4, 16, 333, 500), [85248000]),
    ],
)
def test_fourier_transforms_copy_what_they_overwrite_and_need_room_for_odd_sizes(name, read, made, seen):
    is_real = name.startswith("aten._fft_c2r")
    result = a_tensor(*made, dtype="float32" if is_real else "complex64")
    transform = an_operation(name, [a_tensor(*read, dtype="complex64")], [result], dim=[2, 3])
    assert sizes(transform) == seen


@pytest.mark.parametrize(
    ("kind", "layers", "both", "seen"),
    [(2, 1, False, 384566528), (2, 2, True, 1063257344), (3, 2, True, 949486848), (0, 2, False, 311428352)],
)
def test_workspaces_of_recurrent_layers_are_near_what_was_seen(kind, layers, both, seen):
    layer = an_operation(
        "aten._cudnn_rnn.default", [a_tensor(128, 160, 512)], [a_tensor(128, 160, 768)], mode=kind,
        hidden_size=768, num_layers=layers, bidirectional=both, batch_first=True, dropout=0.0,
    )  # fmt: skip
    copied, workspace = sizes(layer)
    assert copied == 41943040
    assert workspace == pytest.approx(seen, rel=0.1)


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_rule_says_its_evidence(name: str):
    text = f"{RULES[name].__doc__} {__import__(RULES[name].__module__, fromlist=['x']).__doc__}"
    assert any(word in text for word in ("measured", "source", "Reduce.cuh")), name


@pytest.mark.parametrize(
    ("count", "channels", "side", "dtype", "measured"),
    [
        # Few channels and few large images: copies and sums as any other kernel's.
        (16, 64, 128, "float32", 129.94),
        (8, 64, 256, "float32", 257.94),
        (8, 32, 200, "bfloat16", 39.28),
        # More channels, or more images: a partial sum per image.
        (64, 64, 128, "float32", 1.0),
        (16, 128, 128, "float32", 1.0),
        (16, 32, 200, "bfloat16", 0.0625),
    ],
)
def test_a_pointwise_weight_s_gradient_copies_few_large_images(
    count, channels, side, dtype: str, measured: float
):
    image, weight = (
        a_tensor(count, channels, side, side, dtype=dtype),
        a_tensor(channels, channels, 1, 1, dtype=dtype),
    )
    (found,) = temporaries_of(a_gradient(image, weight, image, weight), H200)
    assert found.size / MIB == pytest.approx(measured, rel=0.005)


def test_images_of_few_channels_are_padded_to_eight_in_half_precision():
    image, weight, made = (
        a_tensor(*shape, dtype="bfloat16") for shape in ((32, 4, 224, 224), (32, 4, 3, 3), (32, 32, 224, 224))
    )
    assert sizes(a_convolution(image, weight, made)) == [pytest.approx(122.5 * MIB, rel=0.001)]


def test_copies_that_fill_their_blocks_need_the_next_one_for_what_lies_beside_them():
    image, weight = a_tensor(8, 64, 4096, dtype="float16"), a_tensor(64, 64, 2, dtype="float16")
    made = a_tensor(8, 64, 4097, dtype="float16")
    (copied,) = sizes(a_convolution(image, weight, made))
    assert -(-copied // 512) == -(-8_406_163 // 512)  # as measured


@pytest.mark.parametrize(
    ("count", "measured"), [(16384, 270_847), (65536, 1_068_543), (400_000, 6_493_696), (1 << 20, 17_017_343)]
)
def test_sorting_the_indices_of_an_indexed_sum_takes_scratch_that_grows_with_them(count: int, measured: int):
    values, target = a_tensor(count, 64), a_tensor(count, 64)
    indices = a_tensor(count, dtype="int64")
    found = temporaries_of(
        an_operation("aten.index_put_.default", [target, indices, values], [target], accumulate=True), H200
    )
    assert found[-1].size == pytest.approx(measured, rel=0.002)
