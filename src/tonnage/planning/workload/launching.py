"""How many training processes a command starts, as far as the command says so.

torchrun, accelerate, deepspeed and mpirun take the number as a flag, and torchrun also from the environment. A
plain `python train.py` starts one process, unless the program starts more by itself (Lightning, `mp.spawn`):
with several GPUs in the pod that cannot be told from outside, and is said to be unknown.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

_SHELLS = ("sh", "bash", "dash", "zsh", "ash")
_TORCHRUN = re.compile(r"(^|/)torchrun$|^torch\.distributed\.(run|launch)$")
_PER_NODE = ("--nproc_per_node", "--nproc-per-node")
_IN_ALL = {
    "accelerate": ("--num_processes", "--num-processes"),
    "mpirun": ("-np", "-n", "--np", "--n", "-c"),
    "mpiexec": ("-np", "-n", "--np", "--n", "-c"),
    "horovodrun": ("-np", "--num-proc"),
}
_DEEPSPEED = ("--num_gpus", "--num-gpus")
_VARIABLE = re.compile(r"\$\(?\{?([A-Za-z_][A-Za-z0-9_]*)\}?\)?")


def words_of(command: Sequence[str]) -> tuple[str, ...]:
    """The words that run: those of a shell line where a shell is given one."""
    words = list(command)
    for index, word in enumerate(words[:-1]):
        is_shell = word.rpartition("/")[2] in _SHELLS
        if (
            is_shell
            and words[index + 1].startswith("-")
            and "c" in words[index + 1]
            and index + 2 < len(words)
        ):
            return (*words[:index], *_split(words[index + 2]))
    return tuple(words)


def launcher_of(words: Sequence[str]) -> str:
    """The program that starts the ranks, where the words name one: `torchrun`, `mpirun`; else nothing."""
    for word in words:
        name = word.rpartition("/")[2]
        if _TORCHRUN.search(word):
            return "torchrun"
        if name in _IN_ALL or name == "deepspeed":
            return name
    return ""


def processes_per_pod(
    command: Sequence[str], env: Mapping[str, str], *, gpus: int, pods: int
) -> tuple[int | None, str]:
    """Training processes in each pod, and what says so; None with the reason where nothing does."""
    words = words_of(command)
    launcher = launcher_of(words)
    if launcher == "torchrun":
        said = _flag(words, _PER_NODE) or env.get("PET_NPROC_PER_NODE") or env.get("NPROC_PER_NODE") or "1"
        return _read(said, env, gpus, "torchrun --nproc-per-node")
    if launcher == "deepspeed":
        said = _flag(words, _DEEPSPEED) or "gpu"
        return _read(said, env, gpus, "deepspeed --num_gpus")
    if launcher in _IN_ALL:
        return _share(_flag(words, _IN_ALL[launcher]), env, launcher, gpus, pods)
    if gpus <= 1:
        return 1, "one process"
    return None, f"the command names no launcher; a program may start one process for each of its {gpus} GPUs"


def _share(
    said: str | None, env: Mapping[str, str], launcher: str, gpus: int, pods: int
) -> tuple[int | None, str]:
    """A count of all processes, spread over the pods."""
    if said is None and launcher == "accelerate":
        return max(gpus, 1), "accelerate starts one process per GPU"
    count, evidence = _read(said or "", env, gpus, launcher)
    if count is None:
        return None, evidence
    return max(1, count // max(pods, 1)), f"{launcher}: {count} processes in all"


def _read(said: str, env: Mapping[str, str], gpus: int, evidence: str) -> tuple[int | None, str]:
    value = _VARIABLE.sub(lambda match: env.get(match[1], match[0]), said)
    if value.isascii() and value.isdigit() and int(value) > 0:
        return int(value), f"{evidence} {value}"
    if value in ("gpu", "auto") and gpus:
        return gpus, f"{evidence} {value}: one per GPU"
    if value in ("gpu", "auto", "cpu"):
        return None, f"{evidence} {value}: as many as the node has"
    return (
        None,
        f"{evidence} is {said!r}, which is known only when it runs" if said else "the number is not given",
    )


def _flag(words: Sequence[str], names: Sequence[str]) -> str | None:
    """The value of the first of these flags, written `--flag value` or `--flag=value`."""
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names:
            if equals:
                return value
            return words[index + 1] if index + 1 < len(words) else None
    return None


def _split(line: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(line.replace("\\\n", " "), comments=True))
    except ValueError:
        return tuple(line.split())
