"""`tonnage plan` from the outside: files in, one screen or one JSON document out, exit codes that mean something."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from tonnage.cli.plan import plan
from tonnage.errors import TonnageError
from tonnage.reporting.plan.views import PlanView

PROJECT = Path(__file__).parents[2]

CLUSTER = """
apiVersion: tonnage.dev/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  pools:
    - {name: h100, nodes: 2, gpus: 8 x h100, price: {gpu: $3/hour}}
    - {name: small, nodes: 1, gpus: 4 x a100-40, price: {gpu: $1/hour}}
"""

RUN = """
apiVersion: tonnage.dev/v1alpha1
kind: Run
metadata: {name: sft, namespace: team}
spec:
  image: registry.example/ml/sft:1
  command: torchrun train.py
  nodes: 2
  gpus: 8 x h100
  memory: 256Gi
  cpu: 64
  train: {microBatch: 4, sequence: 2048, steps: 1000}
  checkpoints: s3://bucket/sft
"""

SMALL = "model: {shape: gpt2}\n  train: {microBatch: 1, sequence: 128, accumulation: 1,"

JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: old-job, namespace: team}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: pytorch
              image: registry.example/ml/old:1
              command: [torchrun, train.py, --output-dir, /out]
              resources: {limits: {nvidia.com/gpu: 8, memory: 200Gi, cpu: 32}}
              volumeMounts: [{name: out, mountPath: /out}]
          volumes: [{name: out, emptyDir: {}}]
"""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("lab.yaml").write_text(CLUSTER)
    Path("run.yaml").write_text(RUN)
    Path("job.yaml").write_text(JOB)
    return tmp_path


def call(*words: str, columns: int = 80, stdin: str | None = None) -> Result:
    return CliRunner().invoke(
        plan, list(words), env={"COLUMNS": str(columns)}, standalone_mode=False, input=stdin
    )


def answer(*words: str) -> dict[str, Any]:
    result = call(*words, "-o", "json")
    assert result.exception is None, result.exception
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_the_first_line_counts_every_pod_that_holds_gpus(room: Path) -> None:
    worker = JOB.partition("    Worker:\n")[2]
    master = worker.replace("replicas: 2", "replicas: 1")
    Path("job.yaml").write_text(JOB + "    Master:\n" + master)
    run = answer("job.yaml", "--on", "lab.yaml")["run"]
    assert (run["pods"], run["gpus"], run["devices"]) == (3, 24, "3 nodes x 8 h100")

    Path("job.yaml").write_text(
        JOB + "    Master:\n" + master.replace("nvidia.com/gpu: 8", "nvidia.com/gpu: 2")
    )
    assert answer("job.yaml", "--on", "lab.yaml")["run"]["devices"] == "2 nodes x 8 h100, 1 node x 2 h100"
    assert call("job.yaml").stdout.splitlines()[0].startswith("old-job   18 GPUs")

    Path("job.yaml").write_text(JOB + "    Master:\n" + master.replace("nvidia.com/gpu: 8, ", ""))
    assert answer("job.yaml", "--on", "lab.yaml")["run"]["devices"] == "2 nodes x 8 h100"
    assert call("job.yaml").stdout.splitlines()[0].startswith("old-job   2 x 8 GPUs")


# -- what --fit says


def test_where_nothing_fits_the_knobs_that_need_consent_are_named(room: Path) -> None:
    large = "model: {shape: llama-3-70b}\n  nodes: 1\n  train: {microBatch: 1, sequence: 512, parallel: {fsdp: 8},"
    text = RUN.replace("  nodes: 2\n", "").replace("train: {microBatch: 4, sequence: 2048,", large)
    Path("run.yaml").write_text(text.replace("memory: 256Gi", "memory: 1500Gi"))
    result = call("run.yaml", "--on", "lab.yaml", "--fit")

    assert "found nothing" in result.stdout
    assert "precision: changes the numerics: --allow precision" in " ".join(result.stdout.split())


def test_the_chosen_settings_have_an_interval_and_words_for_a_batch_that_is_whole(room: Path) -> None:
    small = RUN.replace("train: {microBatch: 4, sequence: 2048,", SMALL)
    Path("run.yaml").write_text(small.replace("accumulation: 1", "accumulation: 2"))
    fit = answer("run.yaml", "--on", "lab.yaml", "--fit")["fit"]

    for found in (fit["chosen"], *fit["runnersUp"]):
        seconds = found["stepSeconds"]
        assert seconds["p10"] < seconds["p50"] < seconds["p90"]
    assert "accumulated 1 times" not in json.dumps(fit)
    assert any("not accumulated" in step["text"] for step in fit["steps"])


def test_explain_tells_each_part_with_its_formula_and_what_changes_it(room: Path) -> None:
    Path("run.yaml").write_text(
        RUN.replace("train: {microBatch: 4, sequence: 2048,", SMALL.replace("{m", "{compile: true, m"))
    )
    result = call("run.yaml", "--on", "lab.yaml", "--explain")
    said = " ".join(result.stdout.split())

    assert "framework 4.9 GiB processesPerNode = 8 ranks x 625 MiB" in said
    assert "ranks 12 loader workers 32; 32 more while compiling" in said
    assert "command torchrun train.py you" in said
    cpu = next(need for need in answer("run.yaml", "--on", "lab.yaml")["needs"] if need["name"] == "cpu")
    assert (cpu["needed"], cpu["limit"]) == (44_000, 76_000)


# -- verdicts and exit codes


def test_figures_below_a_gibibyte_are_in_mebibytes(room: Path) -> None:
    Path("run.yaml").write_text(
        RUN.replace("train: {microBatch: 4, sequence: 2048,", SMALL)
        .replace("gpt2", "mobilenet_v2")
        .replace("sequence: 128", "imageSize: 64")
        .replace("nodes: 2\n  gpus: 8", "gpus: 1")
    )
    lines = call("run.yaml").stdout.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("  GPU memory"))

    assert re.search(r"\d MiB needed of 79\.1 GiB usable per GPU", lines[start])
    assert re.search(r"weights \d+ MiB", lines[start + 1])
    assert " 0.0" not in lines[start + 1]


@pytest.mark.parametrize("content", ["", "# nothing yet\n"])
def test_an_empty_file_says_what_can_be_planned(room: Path, content: str) -> None:
    Path("run.yaml").write_text(content)
    result = call("run.yaml")

    assert isinstance(result.exception, TonnageError)
    (problem,) = result.exception.problems
    assert (problem.code, problem.expected) == (
        "DOC-009",
        "a Run, or a Kubernetes manifest of a training job",
    )


def test_a_run_that_fits_exits_with_zero(room: Path) -> None:
    result = call("run.yaml", "--on", "lab.yaml")

    assert result.return_value == 0
    assert result.stdout.startswith("sft   2 nodes x 8 h100   fits")


def test_a_pool_that_can_grow_takes_the_run_but_not_now(room: Path) -> None:
    Path("lab.yaml").write_text(CLUSTER.replace("nodes: 2,", "nodes: 0, autoscale: 0..4,"))
    result = call("run.yaml", "--on", "lab.yaml")

    assert result.return_value == 0
    assert "fits, but not now" in result.stdout
    assert "once the autoscaler adds nodes (up to 4)" in result.stdout


def test_what_must_change_first_exits_with_one(room: Path) -> None:
    result = call("job.yaml", "--on", "lab.yaml")

    assert result.return_value == 1
    assert "fits, if you change 2 things" in result.stdout
    assert "tolerate nvidia.com/gpu=present:NoSchedule" in result.stdout
    assert "mount a claim at /out -> keeps the work" in result.stdout


def test_what_no_cluster_of_this_size_takes_cannot_fit(room: Path) -> None:
    Path("run.yaml").write_text(RUN.replace("memory: 256Gi", "memory: 256Gi\n  disk: 90Ti"))
    result = call("run.yaml", "--on", "lab.yaml")

    assert result.return_value == 1
    assert "90 TiB" in result.stdout or "90.0 TiB" in result.stdout


def test_without_a_cluster_nothing_is_looked_at(room: Path) -> None:
    result = call("run.yaml")

    assert result.return_value == 0
    assert result.stderr == ""
    assert "Starts" not in result.stdout


def test_the_cluster_is_named_on_stderr(room: Path) -> None:
    assert call("run.yaml", "--on", "lab.yaml").stderr.startswith("looking at cluster file lab.yaml")


# -- what can be read


def test_standard_input_is_read(room: Path) -> None:
    assert call("-", "--on", "lab.yaml", stdin=RUN).return_value == 0


def test_mistakes_in_the_document_are_all_told(room: Path) -> None:
    Path("run.yaml").write_text(RUN.replace("memory: 256Gi", "memory: 256").replace("gpus:", "gpu:"))
    result = call("run.yaml")

    assert isinstance(result.exception, TonnageError)
    assert {problem.code for problem in result.exception.problems} >= {"DOC-004"}
    assert len(result.exception.problems) == 2


def test_a_file_without_a_run_is_refused(room: Path) -> None:
    result = call("lab.yaml")

    assert isinstance(result.exception, TonnageError)
    assert "no Run in this file" in result.exception.problem.what


def test_a_missing_file_is_told_with_a_near_one(room: Path) -> None:
    result = call("runn.yaml")

    assert isinstance(result.exception, TonnageError)
    assert result.exception.problem.hint == "did you mean run.yaml?"


def test_several_runs_in_a_file_are_each_planned(room: Path) -> None:
    Path("run.yaml").write_text(RUN + "---" + RUN.replace("name: sft", "name: other"))

    assert [item["run"]["name"] for item in answer("run.yaml")["items"]] == ["sft", "other"]


def test_the_team_in_the_same_file_gives_its_namespace(room: Path) -> None:
    team = "\n---\napiVersion: tonnage.dev/v1alpha1\nkind: Team\nmetadata: {name: research}\nspec: {namespace: ml}\n"
    text = RUN.replace(", namespace: team", "").replace("spec:\n", "spec:\n  team: research\n", 1)
    Path("run.yaml").write_text(text + team)

    assert answer("run.yaml")["run"]["namespace"] == "ml"


def test_a_namespace_can_be_given(room: Path) -> None:
    Path("run.yaml").write_text(RUN.replace(", namespace: team", ""))

    assert answer("run.yaml", "-n", "mine")["run"]["namespace"] == "mine"


# -- options


def test_explain_shows_who_decided_each_value(room: Path) -> None:
    text = call("run.yaml", "--on", "lab.yaml", "--explain").stdout

    assert re.search(r"^  memory +256Gi +you$", text, flags=re.MULTILINE)
    assert re.search(r"^  checkpoints.keep +3 +Tonnage$", text, flags=re.MULTILINE)
    assert re.search(r"^  shm +\S+ \S+ +estimated$", text, flags=re.MULTILINE)


def test_explain_shows_what_kubernetes_adds_to_a_manifest(room: Path) -> None:
    values = {item["field"]: item for item in answer("job.yaml", "--on", "lab.yaml")["effective"]}

    assert values["Worker.pytorch.limits.memory"] == {
        "field": "Worker.pytorch.limits.memory",
        "value": "200Gi",
        "origin": "you",
    }
    assert values["Worker.pytorch.requests.memory"]["origin"] == "Kubernetes"
    assert values["Worker.terminationGracePeriodSeconds"]["value"] == "30"


def test_yaml_without_fit_has_no_meaning(room: Path) -> None:
    result = call("run.yaml", "-o", "yaml")

    assert isinstance(result.exception, TonnageError)
    assert result.exception.exit_code == 2


def test_where_no_cluster_was_asked_no_node_is_said_to_lack_gpus(room: Path) -> None:
    told = " ".join(call("job.yaml", "--fit").stdout.split())

    assert "the manifest names no GPU type, and no cluster was asked (--on)" in told.replace(" unknown", "")
    assert "no node has" not in told


def test_fit_without_a_model_says_why_there_is_none(room: Path) -> None:
    result = call("run.yaml", "--on", "lab.yaml", "--fit")

    assert "found nothing: spec.model is not said" in result.stdout


# -- text


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("file", ["run.yaml", "job.yaml"])
def test_no_line_is_wider_than_the_terminal(room: Path, columns: int, file: str) -> None:
    lines = call(file, "--on", "lab.yaml", "--explain", columns=columns).stdout.splitlines()
    too_wide = [line for line in lines if len(line) > columns and " " in line.strip()]

    assert too_wide == []


def test_text_without_a_terminal_has_no_colour(room: Path) -> None:
    assert "\x1b" not in call("run.yaml", "--on", "lab.yaml").stdout


# -- JSON


def test_json_carries_every_key_of_the_view(room: Path) -> None:
    found = answer("run.yaml", "--on", "lab.yaml")

    assert list(found) == [field.encode_name for field in msgspec.structs.fields(PlanView)]
    assert msgspec.convert(found, PlanView).run.name == "sft"


def test_every_key_of_the_json_is_documented() -> None:
    page = (PROJECT / "docs" / "plan.md").read_text()
    parts = msgspec.json.schema(PlanView)["$defs"].values()
    keys = {key for part in parts for key in part["properties"]}

    assert sorted(key for key in keys if f"`{key}`" not in page) == []


def test_errors_are_json_where_json_was_asked_for(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tonnage.cli.failing import exit_with

    failure = call("none.yaml", "-o", "json").exception
    assert failure is not None
    assert exit_with(failure) == 1


def test_a_misspelt_model_is_a_mistake_with_the_right_name(room: Path) -> None:
    Path("run.yaml").write_text(RUN.replace("  train:", "  model: {shape: gtp2}\n  train:"))

    error = call("run.yaml").exception

    assert isinstance(error, TonnageError)
    assert error.problem.where == "run.yaml: spec.model.shape"
    assert "gpt2" in (error.problem.hint or "")


@pytest.mark.parametrize(
    ("sequence", "mend"),
    [
        ("sequence: 4096,", "train.sequence: at most 1024"),
        ("", "say train.sequence, the tokens of one sample"),
    ],
)
def test_a_document_that_contradicts_its_model_must_change_first(
    room: Path, sequence: str, mend: str
) -> None:
    text = RUN.replace("sequence: 2048,", sequence).replace("  train:", "  model: {shape: gpt2}\n  train:")
    Path("run.yaml").write_text(text)
    result = call("run.yaml", "--on", "lab.yaml")

    assert result.return_value == 1
    assert f"Smallest fix  {mend}" in result.stdout
    assert answer("run.yaml", "--fit")["fit"]["chosen"] is None


def test_a_model_that_nobody_names_is_only_not_known(room: Path) -> None:
    assert call("run.yaml", "--on", "lab.yaml").return_value == 0


@pytest.mark.parametrize(
    ("shape", "code"),
    [
        ("{layers: 12, hidden: 768}", "PLAN-005"),
        ("{family: llama, layers: 2, hidden: 100, heads: 3}", "SHAPE-004"),
    ],
)
def test_dimensions_without_a_meaning_are_a_mistake_with_its_place(room: Path, shape: str, code: str) -> None:
    Path("run.yaml").write_text(RUN.replace("  train:", f"  model: {{shape: {shape}}}\n  train:"))
    error = call("run.yaml").exception

    assert isinstance(error, TonnageError)
    assert error.problem.code == code
    assert (error.problem.where or "").startswith("run.yaml: spec.model.shape")


@pytest.mark.parametrize(
    "content", [None, "{", "\x00", "[]", b"\xff\xfe"], ids=["missing", "half", "binary", "list", "not text"]
)
def test_a_config_that_cannot_be_read_is_a_mistake_with_its_path(
    room: Path, content: str | bytes | None
) -> None:
    Path("run.yaml").write_text(RUN.replace("  train:", "  model: {shape: config.json}\n  train:"))
    if content is not None:
        Path("config.json").write_bytes(content.encode() if isinstance(content, str) else content)

    error = call("run.yaml").exception

    assert isinstance(error, TonnageError)
    assert (error.problem.code, error.problem.where) == ("PLAN-003", "config.json")


def test_what_too_few_cores_cost_is_on_the_screen_and_in_the_json(room: Path) -> None:
    starved = RUN.replace("cpu: 64", "cpu: 11").replace("  train:", "  model: {shape: gpt2}\n  train:")
    Path("run.yaml").write_text(starved.replace("sequence: 2048", "sequence: 1024"))

    screen = " ".join(call("run.yaml", "--on", "lab.yaml").stdout.split())
    (wait,) = answer("run.yaml", "--on", "lab.yaml")["time"]["waits"]

    assert "the GPUs wait up to 75 % of the time for cores, $36 per hour; cpu: 44 ends it" in screen
    assert wait["cause"] == "cpu"
    assert wait["isBound"] is True
    assert round(wait["idleShare"], 2) == 0.75


def test_a_claim_in_the_file_is_read_with_the_run(room: Path) -> None:
    claim = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ckpt}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
"""
    Path("run.yaml").write_text(claim + RUN.replace("s3://bucket/sft", "pvc/ckpt"))

    assert answer("run.yaml")["risk"]["cautions"] == [
        "ReadWriteOnce: 2 pods can mount it only while they share one node"
    ]


def test_allowing_more_without_asking_for_a_fit_is_refused(room: Path) -> None:
    Path("run.yaml").write_text(RUN)

    error = call("run.yaml", "--allow", "gpus").exception

    assert isinstance(error, TonnageError)
    assert (error.problem.code, error.exit_code) == ("PLAN-004", 2)
