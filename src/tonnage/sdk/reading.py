"""A training script as its syntax tree shows it: how it saves, where it trains, what it trains."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_SAVES_IN_LOOPS = {
    "save", "save_pretrained", "save_model", "save_checkpoint", "save_state", "save_weights", "async_save", "dump",
    "savez", "save_file",
}  # fmt: skip
"""Methods and functions that write; `save` and `dump` only of the modules below, or of anything called checkpoint."""
_WRITERS = {
    "torch",
    "pickle",
    "joblib",
    "dcp",
    "np",
    "numpy",
    "json",
    "dill",
    "cloudpickle",
    "checkpoint",
    "paddle",
}
_SELF_SAVING = {
    "ModelCheckpoint": "ModelCheckpoint",
    "BackupAndRestore": "Keras' BackupAndRestore",
    "CheckpointManager": "a CheckpointManager",
    "FullModelHFCheckpointer": "torchtune's checkpointer",
    "AsyncCheckpointer": "Orbax",
}
_LIGHTNING = ("lightning", "pytorch_lightning", "lightning_fabric")


@dataclass(frozen=True, slots=True)
class Script:
    """What was found."""

    saving: str = ""
    """How it saves progress; empty where it does not."""
    framework: str = ""
    """`hugging face`, `lightning`, or nothing."""
    trainer: ast.Call | None = None
    """The call that trains, where a framework does."""
    loop: ast.For | ast.While | None = None
    """The outermost loop that trains."""
    inner: ast.For | ast.While | None = None
    """The loop inside it that makes the steps."""
    parts: tuple[tuple[str, str], ...] = ()
    """What a checkpoint must hold, by the script's own names."""
    last_import: int = 0

    @property
    def has_inner_loop(self) -> bool:
        return self.inner is not None


def read_script(tree: ast.Module) -> Script:
    """Everything `advise` wants to know."""
    framework = _framework(tree)
    trainer = _training_call(tree, framework) if framework else None
    loop, inner = _training_loops(tree)
    return Script(
        saving=_saving(tree, framework, trainer),
        framework=framework,
        trainer=trainer,
        loop=loop,
        inner=inner,
        parts=_parts(tree),
        last_import=_last_import(tree),
    )


def _saving(tree: ast.Module, framework: str, trainer: ast.Call | None) -> str:
    for call in _calls(tree):
        name = _called(call)
        if name.rpartition(".")[2] in ("save_if_due", "hugging_face") or name in (
            "sdk.lightning",
            "sdk.attach",
        ):
            return f"Tonnage's SDK, line {call.lineno}"
        if name.rpartition(".")[2] in _SELF_SAVING:
            return f"{_SELF_SAVING[name.rpartition('.')[2]]}, line {call.lineno}"
    if trainer is not None and framework == "hugging face" and not _has_saving_off(tree):
        return f"the Hugging Face Trainer, line {trainer.lineno}"
    if trainer is not None and framework == "lightning" and not _is_disabled(tree):
        return f"Lightning's Trainer at the end of every epoch, line {trainer.lineno}"
    for call in _calls_in_loops(tree):
        if _writes_checkpoints(call):
            return f"{_called(call)} in a loop, line {call.lineno}"
    return ""


def _writes_checkpoints(call: ast.Call) -> bool:
    owner, _, method = _called(call).rpartition(".")
    if method not in _SAVES_IN_LOOPS:
        return False
    if method in ("save", "dump", "savez", "save_file"):
        last = owner.rpartition(".")[2].lower()
        return last in _WRITERS or "checkpoint" in last or "ckpt" in last or method == "save_file"
    return True


def _framework(tree: ast.Module) -> str:
    """Which framework's Trainer the script imports and makes."""
    made = {_called(call).rpartition(".")[2] for call in _calls(tree)}
    modules = {name.split(".")[0] for name in _imported(tree)}
    if any(name.endswith("Trainer") for name in made):
        if modules & set(_LIGHTNING):
            return "lightning"
        if modules & {"transformers", "trl", "sentence_transformers", "setfit"}:
            return "hugging face"
    return ""


def _training_call(tree: ast.Module, framework: str) -> ast.Call | None:
    wanted = "fit" if framework == "lightning" else "train"
    trainers = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name) and _called(node.value).endswith("Trainer")
    }
    for call in _calls(tree):
        owner, _, method = _called(call).rpartition(".")
        if method == wanted and (owner in trainers or owner.endswith("trainer")):
            return call
    return None


def _has_saving_off(tree: ast.Module) -> bool:
    """Whether a Trainer is told never to save."""
    return any(
        keyword.arg == "save_strategy"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value == "no"
        for call in _calls(tree)
        for keyword in call.keywords
    )


def _is_disabled(tree: ast.Module) -> bool:
    return any(
        keyword.arg == "enable_checkpointing"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is False
        for call in _calls(tree)
        for keyword in call.keywords
    )


def _training_loops(tree: ast.Module) -> tuple[ast.For | ast.While | None, ast.For | ast.While | None]:
    """The outermost loop with an optimizer's step (else the outermost with anything in it), and the one inside."""
    loops = [node for node in ast.walk(tree) if isinstance(node, (ast.For, ast.While))]
    training = [loop for loop in loops if _trains(loop)] or _top_level(tree)
    if not training:
        return None, None
    outer = training[0]  # ast.walk goes by depth
    nested = [loop for loop in training if loop is not outer and _contains(outer, loop)]
    return outer, (nested[-1] if nested else None)


def _top_level(tree: ast.Module) -> list[ast.For | ast.While]:
    return [node for node in tree.body if isinstance(node, (ast.For, ast.While))][-1:]


def _trains(loop: ast.AST) -> bool:
    methods = {_called(call).rpartition(".")[2] for call in _calls(loop)}
    return "backward" in methods or "train_step" in methods or "train_on_batch" in methods


def _contains(outer: ast.AST, inner: ast.AST) -> bool:
    return any(node is inner for node in ast.walk(outer))


def _parts(tree: ast.Module) -> tuple[tuple[str, str], ...]:
    """Model, optimizer and schedule: found by how the optimizer was made, and by what is stepped."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        target = node.targets[0]
        if not isinstance(target, (ast.Name, ast.Attribute)):
            continue
        name, made = ast.unparse(target), _called(node.value)
        model = _model_of(node.value)
        if model and ("optim" in made.lower() or "optim" in name.lower()):
            found.setdefault("model", model)
            found.setdefault("optimizer", name)
        elif "lr_scheduler" in made or "schedule" in made.lower():
            found.setdefault("schedule", name)
        elif made.endswith("GradScaler"):
            found.setdefault("scaler", name)
    return tuple(found.items()) if "optimizer" in found else ()


def _model_of(call: ast.Call) -> str:
    """`model` of `AdamW(model.parameters(), ...)`."""
    for argument in call.args:
        if isinstance(argument, ast.Call) and _called(argument).endswith(".parameters"):
            return _called(argument).rpartition(".")[0]
    return ""


def _last_import(tree: ast.Module) -> int:
    """Last line of the imports at the top; else of the docstring."""
    last = 0
    for node in tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, (ast.Import, ast.ImportFrom)) or (is_text and last == 0):
            last = node.end_lineno or node.lineno
    return last


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _calls_in_loops(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls inside a loop, and those in functions that are called from one, however deep."""
    functions = {
        node.name: node
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    waiting: list[ast.AST] = [node for node in ast.walk(tree) if isinstance(node, (ast.For, ast.While))]
    seen: set[str] = set()
    while waiting:
        for call in _calls(waiting.pop()):
            yield call
            name = _called(call).rpartition(".")[2]
            if name in functions and name not in seen:
                seen.add(name)
                waiting.append(functions[name])


def _called(call: ast.Call) -> str:
    """Dotted name of what is called; empty parts for what has no name."""
    parts: list[str] = []
    node: ast.expr = call.func
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(parts)).lstrip(".")
