"""cuBLAS workspaces: how large, and at whose first product."""

from __future__ import annotations

from traces import TraceBuilder, a_tensor, an_operation

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.device import device_of
from tonnage.memory.program import program_of
from tonnage.memory.workspaces import lt_workspace_size, workspace_size

MIB = 2**20
H200 = find_gpu("h200")


def test_hopper_has_32_mib_and_others_8():
    assert workspace_size(device_of(H200)) == 32 * MIB
    assert workspace_size(device_of(find_gpu("a100-80"))) == 8 * MIB + 128 * 1024


def test_the_variable_decides():
    assert workspace_size(device_of(H200, {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"})) == 32 * MIB
    assert workspace_size(device_of(H200, {"CUBLAS_WORKSPACE_CONFIG": ":16:8"})) == 128 * 1024
    assert workspace_size(device_of(H200, {"CUBLAS_WORKSPACE_CONFIG": "nonsense"})) == 32 * MIB


def test_each_thread_and_stream_gets_one_at_its_first_product_after_the_output():
    builder = TraceBuilder()
    square = a_tensor(256, 256)
    product = an_operation("aten.mm.default", [square, square], [square])
    for thread, stream in [(0, 0), (0, 0), (1, 0), (1, 7), (1, 7)]:
        builder.thread, builder.stream = thread, stream
        builder.call(product)
    program = program_of(builder.build(), device_of(H200))
    workspaces = [slot for slot, name in enumerate(program.slots.categories) if name == "workspace"]
    assert len(workspaces) == 3
    events = program.stretches[0].events
    assert events[0] == 0
    assert events[1] == workspaces[0]
    assert all(~slot not in events for slot in workspaces)


def test_a_product_with_a_bias_has_a_second_smaller_block():
    builder = TraceBuilder()
    square, bias = a_tensor(256, 256), a_tensor(256)
    builder.call(an_operation("aten.mm.default", [square, square], [square]))
    for _ in range(2):
        builder.call(an_operation("aten.addmm.default", [bias, square, square], [square]))
    # A matrix that is added is no bias: plain cuBLAS does that.
    builder.thread = 1
    builder.call(an_operation("aten.addmm.default", [square, square, square], [square]))
    slots = program_of(builder.build(), device_of(H200)).slots
    sizes = [slots.sizes[slot] for slot, name in enumerate(slots.categories) if name == "workspace"]
    assert sizes == [32 * MIB, MIB, 32 * MIB]
    assert lt_workspace_size(device_of(H200, {"CUBLASLT_WORKSPACE_SIZE": "4096"})) == 4 * MIB
