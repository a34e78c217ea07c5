"""A user's file in a tracing process: as `python FILE.py` would run it, and explained where it fails."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from tonnage.cluster.gpus import find_gpu
from tonnage.memory.trace import Trace
from tonnage.tracing import CannotTrace, TraceRequest, trace_step

pytestmark = pytest.mark.torch

STEP = """
import torch

def build(micro_batch: int = 4):
    model = torch.nn.Linear(64, 64, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        model(torch.empty(micro_batch, 64, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step
"""


def user_file(folder: Path, text: str, name: str = "train.py") -> Path:
    file = folder / name
    file.write_text(dedent(text))
    return file


def traced(python: str, file: Path, gpu: str = "h200", **more: object) -> Trace:
    kind = find_gpu(gpu)
    assert kind is not None
    asked: dict[str, object] = {"file": file, "function": "build", "gpu": kind, "python": python, **more}
    return trace_step(TraceRequest(**asked))  # type: ignore[arg-type]


def refusal(python: str, file: Path, **more: object) -> CannotTrace:
    with pytest.raises(CannotTrace) as caught:
        traced(python, file, **more)
    return caught.value


def test_a_step_is_traced_with_either_cuda_major(any_torch_python: str, tmp_path: Path) -> None:
    trace = traced(any_torch_python, user_file(tmp_path, STEP), knobs={"micro_batch": 8})

    assert trace.gpu == "h200"
    assert trace.knobs["micro_batch"] == 8
    assert "sequence" in trace.fixed
    assert trace.marks[:3] == ("build", "step 0", "step 1")
    assert any(operation.name.startswith("aten.addmm") for operation in trace.operations)


def test_the_file_runs_as_python_would_run_it(
    torch_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "my_layers.py").write_text("WIDTH = 64\n")
    (code / "request.py").write_text(
        "MINE = True\n"
    )  # a name of ours must not stand in the way of the user's
    (code / "helpers").mkdir()
    (code / "helpers" / "__init__.py").write_text("")
    elsewhere = tmp_path / "work"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("MY_SETTING", "from the shell")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    file = user_file(
        code,
        """
        import json, os, pickle, sys
        import my_layers, request, helpers
        print("training...")
        if __name__ == "__main__":
            raise SystemExit("must not run")
        class Batch: pass
        with open("seen.json", "w") as out:
            json.dump({
                "cwd": os.getcwd(), "setting": os.environ["MY_SETTING"], "path": sys.path[0], "argv": sys.argv,
                "gpus": os.environ["CUDA_VISIBLE_DEVICES"], "name": __name__, "file": __file__,
                "mine": request.MINE, "pickled": type(pickle.loads(pickle.dumps(Batch()))) is Batch,
                "ours": [folder for folder in sys.path if "tonnage_tracer" in folder],
            }, out)
        """
        + dedent(STEP).replace("\n", "\n        "),
    )

    trace = traced(torch_python, file)
    seen = json.loads((elsewhere / "seen.json").read_text())

    assert trace.calls
    assert seen == {
        "cwd": str(elsewhere),
        "setting": "from the shell",
        "path": str(code),
        "argv": [str(Path("..") / "code" / "train.py")],
        "gpus": "3",
        "name": "train",
        "file": str(file),
        "mine": True,
        "pickled": True,
        "ours": [],
    }


def test_an_error_of_the_users_code_shows_their_own_line(torch_python: str, tmp_path: Path) -> None:
    file = user_file(
        tmp_path,
        """
        import torch
        def build():
            model = torch.nn.Linear(8, 8, device="cuda")
            def step():
                model(torch.empty(4, 9, device="cuda"))  # one too wide
            return step
        """,
    )

    problem = refusal(torch_python, file).problem

    assert problem.code == "TRACE-030"
    assert problem.where is not None
    assert problem.where.startswith(f"{file}:6 in step: model(")
    assert problem.found is not None
    assert "addmm" in problem.found


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("import sys\nsys.exit('no data here')\n", "TRACE-030", "no data here"),
        ("def train(): ...\n", "TRACE-031", "no function 'build'"),
        ("def build(): return None\n", "TRACE-031", "returned nothing"),
        ("import os\nprint('good bye', flush=True)\nos._exit(3)\n", "TRACE-053", "status 3"),
    ],
    ids=["exit", "no-function", "no-step", "gone"],
)
def test_what_goes_wrong_is_said(torch_python: str, tmp_path: Path, text: str, code: str, said: str) -> None:
    problem = refusal(torch_python, user_file(tmp_path, text)).problem

    assert problem.code == code
    assert said in problem.what
    assert problem.hint is not None
    assert problem.where is not None
    assert str(tmp_path) in problem.where


def test_of_many_functions_the_likeliest_are_named_and_the_others_counted(
    torch_python: str, tmp_path: Path
) -> None:
    names = [f"part_{letter}" for letter in "abcdefghijk"]
    file = user_file(tmp_path, "".join(f"def {name}(): ...\n" for name in [*names, "build_it"]))

    hint = refusal(torch_python, file).problem.hint or ""

    assert hint.startswith("It has build_it, ")
    assert hint.count("part_") == 7
    assert hint.endswith(" and 4 more.")


def test_a_step_that_leaves_the_gpu_alone_is_noted(torch_python: str, tmp_path: Path) -> None:
    file = user_file(tmp_path, "import torch\ndef build(): return lambda: torch.ones(3) + 1\n")

    trace = traced(torch_python, file)

    assert [note.code for note in trace.notes] == ["gpu-unused"]
    assert '"cuda"' in trace.notes[0].text


def test_a_crash_names_the_line_it_happened_in(torch_python: str, tmp_path: Path) -> None:
    file = user_file(tmp_path, "import ctypes\n\nctypes.string_at(0)\n")

    problem = refusal(torch_python, file).problem

    assert problem.code == "TRACE-052"
    assert "SIGSEGV" in problem.what
    assert problem.where == f"{file}:3"


def test_a_step_that_takes_too_long_is_given_up(torch_python: str, tmp_path: Path) -> None:
    problem = refusal(torch_python, user_file(tmp_path, "while True: pass\n"), seconds=1.0).problem

    assert (problem.code, problem.found) == ("TRACE-050", "more than 1 s")


def test_a_step_that_takes_too_much_memory_is_stopped(torch_python: str, tmp_path: Path) -> None:
    """Less than torch itself needs, so that it is passed early."""
    problem = refusal(torch_python, user_file(tmp_path, STEP), memory=2**26).problem

    assert problem.code == "TRACE-051"
    assert problem.expected is not None
    assert "0.1 GiB" in problem.expected


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    problem = refusal("python3", tmp_path / "nothing.py").problem

    assert (problem.code, problem.where) == ("TRACE-002", str(tmp_path / "nothing.py"))


def test_a_rank_outside_the_world_is_refused(tmp_path: Path) -> None:
    problem = refusal("python3", user_file(tmp_path, STEP), world_size=4, rank=4).problem

    assert (problem.code, problem.expected) == ("TRACE-003", "0 to 3")


def test_the_process_sees_the_gpus_of_its_node(torch_python: str, tmp_path: Path) -> None:
    text = (
        "import os, torch\n"
        "told = (torch.cuda.device_count(), torch.cuda.get_device_name(0))\n"
        "assert told == (8, 'NVIDIA A100-SXM4-80GB'), told\n"
        "assert (os.environ['RANK'], os.environ['LOCAL_RANK'], os.environ['WORLD_SIZE']) == ('11', '3', '16')\n"
        "torch.cuda.set_device(3)\n"
        "assert torch.cuda.current_device() == 3\n"
    )

    trace = traced(torch_python, user_file(tmp_path, text + STEP), "a100-80", world_size=16, rank=11)

    assert (trace.world_size, trace.rank) == (16, 11)


def test_a_step_may_use_what_training_loops_use(
    torch_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Profilers, events, streams, worker processes, memory questions: none of them may end the process."""
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    file = user_file(
        tmp_path,
        """
        import torch
        from torch.profiler import ProfilerActivity, profile
        from torch.utils.data import DataLoader

        outside = torch.zeros(4, device="cuda")  # when the file is loaded

        def build():
            model = torch.nn.Linear(64, 64).cuda()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            loader = iter(DataLoader(torch.zeros(64, 64), batch_size=8, num_workers=1, pin_memory=True))
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            side = torch.cuda.Stream(priority=-1)

            def step():
                start.record()
                with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
                    with torch.cuda.stream(side):
                        batch = next(loader).to("cuda", non_blocking=True)
                    torch.cuda.current_stream().wait_stream(side)
                    model(batch).sum().backward()
                optimizer.step()
                end.record()
                torch.cuda.synchronize()
                assert 8 / start.elapsed_time(end) > 0
                assert torch.cuda.mem_get_info()[1] == torch.cuda.get_device_properties(0).total_memory
                torch.cuda.manual_seed_all(1)

            return step
        """,
    )

    trace = traced(torch_python, file)

    assert {call.stream for call in trace.calls} >= {0, 1}
