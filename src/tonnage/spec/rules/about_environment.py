"""Rules about a Run's environment variables and secrets."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.spec.rules.remarks import Remark
from tonnage.spec.rules.secrets import looks_secret
from tonnage.spec.run import Run

_UNDOES = {
    "CUDA_VISIBLE_DEVICES": "Kubernetes chooses the GPUs; setting it can show another pod's or hide yours",
    "NVIDIA_VISIBLE_DEVICES": "Kubernetes chooses the GPUs; setting it shows GPUs that are not yours",
    "WORLD_SIZE": "it is set for each rank",
    "RANK": "it is set for each rank",
    "LOCAL_RANK": "it is set for each rank",
}


def one_name_one_variable(run: Run) -> Iterator[Remark]:
    """A variable cannot be both a value and a secret."""
    for name in run.spec.secrets:
        if name in run.spec.env:
            yield Remark(
                code="DOC-030",
                path=("spec", "secrets", name),
                what=f"{name} is also set under env",
                expected="one of the two",
                hint=f"remove spec.env.{name}",
            )


def env_holds_no_secrets(run: Run) -> Iterator[Remark]:
    """Environment values are readable by everyone who may look at the pod."""
    for name, value in run.spec.env.items():
        if reason := looks_secret(name, value):
            yield Remark(
                code="DOC-051",
                path=("spec", "env", name),
                what=f"the value {reason}",
                hint=f"store it in a Secret, then spec.secrets: {{{name}: secret-name/key}}",
                is_mild=True,
            )


def env_leaves_ranks_alone(run: Run) -> Iterator[Remark]:
    """Some variables are set for each rank, and one value for all of them breaks the run."""
    for name in run.spec.env:
        if name in _UNDOES and (run.spec.gpus.milli or not name.endswith("DEVICES")):
            yield Remark(
                code="DOC-057", path=("spec", "env", name), what=_UNDOES[name], hint="remove it", is_mild=True
            )
