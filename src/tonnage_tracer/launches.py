"""Work on the GPU that torch's dispatcher does not see: compiled kernels, Triton kernels, collectives.

Whoever stands in for such work says what it read and wrote; it becomes a call in the trace like any other, so that
its time can be told and its place in the order of events is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from .blocks import BEGIN, END
from .operations import describe_tensor
from .recorder import Recorder


class Launches:
    """Writes calls of other makes into a recording."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._indices: dict[Any, int] = {}

    def launched(
        self,
        name: str,
        inputs: Sequence[torch.Tensor],
        outputs: Sequence[torch.Tensor],
        scalars: dict[str, object],
    ) -> None:
        """Note a call; memory its outputs live in was made before, or is made by it."""
        recorder = self._recorder
        phase, stream, call = recorder.phases.current, recorder.stream(), len(recorder.calls)
        operation = self._index(name, inputs, outputs, scalars)
        recorder.calls.append(
            [operation, phase, recorder.modules.current(), recorder.threads.current(), stream]
        )
        recorder.blocks.event(BEGIN, call)
        for tensor in outputs:
            if tensor.is_cuda:
                recorder.blocks.made(tensor.untyped_storage(), call, stream, phase)
        recorder.blocks.event(END, call)

    def compiling(self) -> AbstractContextManager[None]:
        """What is taken inside is taken only while kernels are chosen."""
        return self._recorder.phases.compiling()

    def _index(
        self,
        name: str,
        inputs: Sequence[torch.Tensor],
        outputs: Sequence[torch.Tensor],
        scalars: dict[str, object],
    ) -> int:
        described = self._recorder.operations.described
        tensors = [(each.shape, each.stride(), each.dtype) for each in (*inputs, *outputs)]
        key = (
            name,
            len(inputs),
            tuple(tensors),
            tuple((part, str(value)) for part, value in scalars.items()),
        )
        found = self._indices.get(key)
        if found is None:
            found = self._indices[key] = len(described)
            operation: dict[str, Any] = {
                "name": name,
                "inputs": [describe_tensor(each) for each in inputs],
                "outputs": [describe_tensor(each) for each in outputs],
            }
            if scalars:
                operation["scalars"] = dict(scalars)
            described.append(operation)
        return found
