"""Why a step could not be recorded, in words its author can act on.

Whatever goes wrong inside `build()` or the step ends here: a mistake of the build function, an operation that
torch cannot run without data, or an error of the user's own code. Each becomes one `CannotRecord` that names the
operation, the module it ran in and what to do, and travels to the parent as plain data.
"""

from __future__ import annotations

import linecache
import traceback
from typing import Any

import torch

_NEEDS_DATA = ("DataDependentOutputException", "DynamicOutputShapeException")
_NO_KERNEL = ("UnsupportedOperatorException", "UnsupportedFakeTensorException")


class CannotRecord(Exception):  # noqa: N818 - it reads as a sentence where it is raised
    """The step cannot be recorded. `code` is stable; `text` says what happened, `advice` what to try."""

    def __init__(
        self, code: str, text: str, advice: str, *, operation: str = "", module: str = "", where: str = ""
    ) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.advice = advice
        self.operation = operation
        self.module = module
        self.where = where

    def as_data(self) -> dict[str, str]:
        """The failure as plain data; empty fields are left out."""
        fields = ("code", "text", "advice", "operation", "module", "where")
        return {name: getattr(self, name) for name in fields if getattr(self, name)}


def explain(
    failure: BaseException, doing: str, *, file: str = "", operation: str = "", module: str = ""
) -> CannotRecord:
    """The failure of something the user's code did, named by the operation that was running."""
    if isinstance(failure, CannotRecord):
        return failure
    named = _operation_of(failure) or operation
    kind = type(failure).__name__
    where = _place(failure, file)
    if kind in _NEEDS_DATA:
        return _needs_data(named, module, where)
    if kind in _NO_KERNEL or _lacks_fake_kernel(failure):
        return no_kernel(named, module, where)
    advice = _of_pretending(failure)
    if advice:
        return CannotRecord(
            "not-pretended",
            f"{doing} does what cannot be traced: {_first_lines(failure, 200)}",
            advice,
            operation=named,
            module=module,
            where=where,
        )
    inside = f" in module {module}" if module else ""
    return CannotRecord(
        "step-failed",
        f"{doing} raised {kind}: {_first_lines(failure)}",
        f"Run it on a GPU or CPU first; the error came from the code itself{inside}.",
        operation=operation,
        module=module,
        where=where,
    )


_PRETENDED = {
    "virtual GPU": "Leave what the GPU itself must do (CUDA graphs, IPC) out of the traced step: "
    "it changes what runs, not what is held.",
    "SparseTensorImpl": "Sparse tensors have no blocks that could be followed: trace with dense ones "
    "(sparse=False), which need at least as much.",
    "__torch_dispatch__ handlers returned NotImplemented": "A tensor subclass in this step does not work with fake "
    "tensors: trace the step with plain tensors in its place.",
}
"""Texts of failures that only a traced step has, and what to do about each: the user's code is not to blame."""


def _of_pretending(failure: BaseException) -> str:
    text = str(failure)
    return next((advice for sign, advice in _PRETENDED.items() if sign in text), "")


def no_kernel(operation: str, module: str = "", where: str = "") -> CannotRecord:
    """An operation whose results cannot be described without running it."""
    inside = f" (in module {module})" if module else ""
    return CannotRecord(
        "no-fake-kernel",
        f"Operation {operation}{inside} does not say what it returns without being run.",
        f"Register a fake kernel for it: @torch.library.register_fake({_quoted(operation)}) on a function that "
        "returns empty tensors of the right shape.",
        operation=operation,
        module=module,
        where=where,
    )


def _needs_data(operation: str, module: str, where: str) -> CannotRecord:
    inside = f" (in module {module})" if module else ""
    return CannotRecord(
        "needs-data",
        f"The result of operation {operation}{inside} depends on values that are unknown before a run.",
        "Make its size follow from shapes (a fixed capacity, padding), or compute it from tensors made on the CPU.",
        operation=operation,
        module=module,
        where=where,
    )


def _operation_of(failure: BaseException) -> str:
    """Torch's fake-tensor exceptions carry the operation itself."""
    func = getattr(failure, "func", None)
    if func is None and failure.args and isinstance(failure.args[0], torch._ops.OpOverload):
        func = failure.args[0]
    return str(func) if func is not None else ""


def _lacks_fake_kernel(failure: BaseException) -> bool:
    text = str(failure)
    return isinstance(failure, (NotImplementedError, RuntimeError)) and (
        "fake impl" in text or "Meta' backend" in text or "no fake" in text or "register_fake" in text
    )


def _quoted(operation: str) -> str:
    """`ns.name.default` as `torch.library.register_fake` spells it: "ns::name"."""
    parts = operation.split(".")
    return f'"{parts[0]}::{parts[1]}"' if len(parts) > 1 else f'"{operation}"'


def _place(failure: BaseException, file: str) -> str:
    """The last line of the user's own file in the traceback, else the last line at all."""
    if isinstance(failure, SyntaxError):  # its traceback ends in Python's own importer
        return f"{failure.filename or file}" + (f":{failure.lineno}" if failure.lineno else "")
    frames = traceback.extract_tb(failure.__traceback__)
    mine = [frame for frame in frames if file and frame.filename == file]
    chosen: Any | None = mine[-1] if mine else (frames[-1] if frames else None)
    if chosen is None:
        return ""
    line = linecache.getline(chosen.filename, chosen.lineno or 0).strip()
    return f"{chosen.filename}:{chosen.lineno}" + (f": {line}" if line else "")


def _first_lines(failure: BaseException, limit: int = 400) -> str:
    text = " ".join(str(failure).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."
