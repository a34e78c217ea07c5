"""The dispatch mode that sees every operation below autograd and autocast, just where memory is asked for.

It stands above torch's fake tensors: an operation arrives with fake tensors, is answered (from memory, by a rule of
ours, or by torch), and what it made is noted. Kernels do not run. Everything costly is done once per distinct call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from . import accumulation, substitutes
from .blocks import BEGIN, EMPTY_CACHE, END, MARK, Blocks
from .data_dependent import DataDependent, inside
from .host import Host
from .known_values import KnownValues
from .modules import Modules
from .notes import Notes
from .operations import Operations, Signature
from .orders import in_order
from .overloads import Overload, Overloads
from .ownership import Ownership
from .phases import Phases, Threads
from .results import Results

_PLAIN = frozenset((FakeTensor, torch.Tensor, torch.nn.Parameter))
_current_stream, _current_device = torch._C._cuda_getCurrentStream, torch._C._cuda_getDevice


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Notes every call and every block of GPU memory."""

    def __init__(self, mode: FakeTensorMode) -> None:
        super().__init__()
        self.mode = mode
        self.notes = Notes()
        self.modules = Modules()
        self.phases = Phases()
        self.threads = Threads()
        self.blocks = Blocks()
        self.ownership = Ownership(self.blocks)
        self.operations = Operations()
        self.calls: list[list[int]] = []
        self.marks: list[str] = []
        self.running = ""
        """The operation last begun: what to blame when the step fails."""
        self._results = Results(mode)
        self._host = Host()
        self._values = KnownValues(self._noted_choice)
        answers = DataDependent(self.notes, self.module_path)
        self._overloads = Overloads({**answers.handlers(), **substitutes.handlers()})
        self._streams: dict[int, int] = {0: 0}
        self.elsewhere: dict[str, Callable[[Any, Any, dict[str, Any]], Any]] = {}
        """Namespaces of operations that somebody else answers and notes: collectives."""
        self.groups: dict[tuple[int, ...], None] = {}
        """Ranks of the process groups on which a collective ran, in the order they first did."""

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Compile as if nobody watched; what was compiled is recorded when it runs."""
        return True

    def module_path(self) -> str:
        """Path of the module at work."""
        return self.modules.path(self.modules.current())

    def mark(self, name: str) -> None:
        """Note where something begins: the build, a step."""
        self.blocks.event(MARK, len(self.marks))
        self.marks.append(name)

    def emptied_cache(self) -> None:
        """The allocator was told to give back what it keeps."""
        self.blocks.event(EMPTY_CACHE, 0)

    def stream(self) -> int:
        """Small number of the current stream; 0 is the default one."""
        return self.stream_number(_current_stream(_current_device())[0])

    def stream_number(self, identity: int) -> int:
        """Small number of a stream."""
        found = self._streams.get(identity)
        if found is None:
            found = self._streams[identity] = len(self._streams)
        return found

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        for kind in types:
            if kind is not FakeTensor and kind not in _PLAIN:
                return NotImplemented  # a wrapper: it takes itself apart, and its parts come by again
        named: dict[str, Any] = kwargs or {}
        facts = self._overloads.of(func)
        if facts.may_be_in_place:
            func = accumulation.done_by(func, args, named, self.running)
            facts = self._overloads.of(func)
        if facts.is_device_question:
            return args[0].device
        self.running = func
        if func.namespace in self.elsewhere:
            return self.elsewhere[func.namespace](func, args, named)
        if facts.is_view:
            return self._view(facts, func, args, named)
        signature = Signature(func, args, named)
        if not signature.has_fake and self._host.takes(func, args, named, signature.has_real):
            if facts.is_host_answer and facts.handler is not None:
                return facts.handler(func, args, named)
            return self._host.run(func, args, named)
        return self._operation(facts, func, args, named, signature)

    def _view(self, facts: Overload, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        source = args[0]
        if type(source) is not FakeTensor:
            return self._host.run(func, args, kwargs)
        out = self._results.view(func, args, kwargs)
        if "known_value" in source.__dict__:
            self._values.follow(facts, func, args, kwargs, out, all_known=True)
        return out

    def _operation(
        self, facts: Overload, func: Any, args: Any, kwargs: dict[str, Any], signature: Signature
    ) -> Any:
        key = signature.key
        out: Any = NotImplemented if facts.handler is None else facts.handler(func, args, kwargs)
        if out is not NotImplemented:
            key = None if key is None else (*key, _shapes(out))
        else:
            remembered, out = (
                self._results.remembered(key, args, kwargs) if key is not None else (False, None)
            )
            if not remembered:
                is_simple = key is not None and (facts.is_described_in_cpp or facts.casts)
                out = self._results.described(facts, func, args, kwargs) if is_simple else NotImplemented
                if out is NotImplemented:
                    out = func(*args, **kwargs)
                if key is not None:
                    self._results.learn(key, func, args, kwargs, out)
        if facts.is_from_nothing or (facts.chooses and not signature.num_known):
            self._values.begin(facts, func, args, kwargs, out)
        elif signature.num_known:
            all_known = signature.num_known == signature.num_tensors
            self._values.follow(facts, func, args, kwargs, out, all_known=all_known)
        elif type(out) is FakeTensor and out.dim() == 0:
            self._values.assume(facts, out)
        self._note(facts, key, func, args, kwargs, out)
        return out

    def _note(
        self, facts: Overload, key: Any, func: Any, args: Any, kwargs: dict[str, Any], out: Any
    ) -> None:
        """Write the call down if the GPU has a part in it."""
        made = [
            each for each in _tensors(out) if type(each) is FakeTensor and each.fake_device.type == "cuda"
        ]
        if facts.makes_in_order:
            made = in_order(facts.makes_in_order, out, made)
        if not made and not any(_on_gpu(each) for each in (*args, *kwargs.values())):
            return
        operation = self.operations.index(key, func, args, kwargs, out)
        phase, stream, call = self.phases.current, self.stream(), len(self.calls)
        self.calls.append([operation, phase, self.modules.current(), self.threads.current(), stream])
        self.blocks.event(BEGIN, call)
        note = self.blocks.resized if facts.resizes else self.blocks.made
        for tensor in made:
            note(tensor.untyped_storage(), call, stream, phase)
        self.blocks.event(END, call)

    def _noted_choice(self) -> None:
        place = inside(self.module_path())
        self.notes.add("assumed-choice", f"the choice made by topk or argmax{place} was taken to be random")


def _tensors(out: Any) -> list[Any]:
    if isinstance(out, torch.Tensor):
        return [out]
    if isinstance(out, (list, tuple)):
        return [tensor for each in out for tensor in _tensors(each)]
    return []


def _shapes(out: Any) -> Any:
    return tuple(tuple(tensor.shape) for tensor in _tensors(out))


def _on_gpu(value: Any) -> bool:
    if type(value) is FakeTensor:
        return bool(value.fake_device.type == "cuda")
    return isinstance(value, (list, tuple)) and any(_on_gpu(each) for each in value)
