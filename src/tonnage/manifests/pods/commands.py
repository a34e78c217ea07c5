"""What the container runs: the document's command with its numbers filled in, started by its launcher, watched by
the agent."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tonnage.manifests.codes import NO_BATCH, refuse
from tonnage.manifests.pods.wiring import framework_of
from tonnage.manifests.request import RenderRequest
from tonnage.planning.workload.launching import launcher_of, words_of

AGENT_FOLDER = "/tonnage"
AGENT_FILE = "agent.pyz"
_PYTHON = re.compile(r"(^|/)python(3(\.\d+)?)?$")
_ALSO = re.compile(r"\{(microBatch|accumulation)\}")


def batch_of(request: RenderRequest) -> dict[str, int | None]:
    """The numbers a command may have places for."""
    train, size = request.run.spec.train, request.size
    micro = train.micro_batch if size.micro_batch is None else size.micro_batch
    return {
        "microBatch": None if micro is None else int(micro),
        "accumulation": int(train.accumulation if size.accumulation is None else size.accumulation),
    }


def own_command(request: RenderRequest) -> tuple[list[str], list[str]]:
    """The command as the program sees it, and what to say about it; empty where the image's own entry point runs."""
    words = [_filled(word, batch_of(request)) for word in request.run.spec.command or ()]
    return _launched(words, request)


def watched(words: Sequence[str]) -> list[str]:
    """The command under the agent's eyes."""
    return ["python3", f"{AGENT_FOLDER}/{AGENT_FILE}", "run", "--", *words]


def _filled(word: str, numbers: dict[str, int | None]) -> str:
    def number(match: re.Match[str]) -> str:
        value = numbers[match[1]]
        if value is None:
            raise refuse(
                NO_BATCH,
                f"the command has {match[0]}, and nobody said how large it is",
                where="spec.command",
                hint="say train.microBatch, or write the number into the command",
            )
        return str(value)

    return _ALSO.sub(number, word)


def _launched(words: list[str], request: RenderRequest) -> tuple[list[str], list[str]]:
    """A plain torch script started once per rank by torchrun, which takes its flags from PET_* variables."""
    ranks = request.planned.ranks_per_node
    if ranks * request.planned.nodes == 1 or not words or launcher_of(words_of(words)):
        return words, []
    framework = framework_of(request.run)
    is_script = _PYTHON.search(words[0]) and len(words) > 1 and (words[1] == "-m" or words[1][:1] != "-")
    if framework == "torch" and is_script:
        return [words[0], "-m", "torch.distributed.run", *words[1:]], []
    if framework == "" and ranks > 1:
        return words, [
            f"the command names no launcher: it is started once per pod, not {ranks} times; "
            "framework: torch starts it with torchrun"
        ]
    return words, []
