"""A plain function runs with a document: its source goes, with what it uses; what has no form as text is refused."""

from __future__ import annotations

import math
import runpy
import sys
from pathlib import Path

import pytest

import tonnage.notebook
from tonnage.errors import UsageError
from tonnage.notebook.source import script_of

FACTOR = 3
OPEN = object()


def helper(x: int) -> int:
    return x * FACTOR


def compute(x: int, power: int = 2) -> float:
    def inner(y: float) -> float:
        return math.pow(y, power)

    return inner(helper(x))


def uses_an_object() -> str:
    return str(OPEN)


def train(steps: int) -> None:
    from tonnage_agent import sdk

    run = sdk.attach()
    for _ in run.steps(steps, save=lambda folder: (folder / "state").write_text("whole")):
        pass
    print("trained", steps, helper(2))


@pytest.fixture(autouse=True)
def _as_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a notebook defines belongs to `__main__`."""
    for function in (helper, compute, uses_an_object, train):
        monkeypatch.setattr(function, "__module__", "__main__")


def run_script(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = folder / "script.py"
    path.write_text(text)
    runpy.run_path(str(path), run_name="__main__")
    return capsys.readouterr().out


def test_a_function_goes_with_what_it_uses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = script_of(compute, (2,), {"power": 3})
    assert run_script(script, tmp_path, capsys) == "216.0\n"


def test_what_cannot_be_text_is_refused_by_name() -> None:
    local = 7

    def closure() -> int:
        return local

    with pytest.raises(UsageError, match="closure over local"):
        script_of(closure, (), {})
    with pytest.raises(UsageError, match="lambda"):
        script_of(lambda: 1, (), {})
    with pytest.raises(UsageError, match="OPEN, which uses_an_object uses"):
        script_of(uses_an_object, (), {})
    with pytest.raises(UsageError, match="argument power is a object"):
        script_of(compute, (1,), {"power": object()})
    with pytest.raises(UsageError, match="builtin"):
        script_of(len, ([],), {})


def test_wrong_arguments_are_found_before_anything_starts() -> None:
    with pytest.raises(UsageError, match="unexpected keyword argument 'wrong'"):
        script_of(compute, (1,), {"wrong": 2})


def test_it_runs_on_this_machine_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TONNAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    document = {
        "apiVersion": "tonnage.dev/v1alpha1",
        "kind": "Run",
        "metadata": {"name": "from-a-notebook"},
        "spec": {
            "memory": "256Mi",
            "cpu": 1,
            "train": {"steps": 3},
            "checkpoints": {"to": "pvc/notebook", "every": "1s"},
        },
    }
    started = tonnage.notebook.run(train, document, 3)
    assert started.wait(60) == "finished"
    assert "trained 3 6" in started.logs()


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("no-such-file.yaml", "cannot be read: No such file"),
        ("metadata: {name: x\nspec: [", "is no YAML"),
        ("- a\n- list\n", "is not a mapping"),
        ({"metadata": {"name": "../../x"}}, "has no spec"),
    ],
)
def test_a_document_that_is_none_is_refused_in_words(
    document: str | dict[str, object], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TONNAGE_HOME", str(tmp_path / "home"))
    with pytest.raises(UsageError, match=said):
        tonnage.notebook.run(train, document, 3)
    assert [entry.name for entry in tmp_path.iterdir()] in ([], ["home"])
