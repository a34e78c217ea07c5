"""A wrapped command behaves as if it were not wrapped: output, exit code, signals; nothing is left behind."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest
from wrapped_commands import Agent, is_alive, python

IMPORTS = "import signal, sys, time\n"
# Said after the handler is there: a signal that comes before it ends the command, or is lost.
READY = "print('ready', flush=True)\n"


@pytest.mark.parametrize("code", [0, 1, 2, 77, 255])
def test_the_exit_code_is_the_commands(tmp_path, code):
    agent = Agent(tmp_path, "sh", "-c", f"exit {code}")

    assert agent.end()[0] == code
    assert agent.record["exitCode"] == agent.message["exitCode"] == code
    assert agent.record["state"] == "ended"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
def test_a_signal_is_told_as_a_shell_tells_it(tmp_path, number):
    agent = Agent(tmp_path, "sh", "-c", f"ulimit -c 0; kill -{int(number)} $$")

    assert agent.end()[0] == 128 + number
    assert agent.record["signal"] == number


def test_both_streams_pass_unchanged(tmp_path):
    junk = bytes(range(256)) * 40
    (tmp_path / "junk").write_bytes(junk)
    agent = Agent(tmp_path, "sh", "-c", f"cat {tmp_path}/junk; cat {tmp_path}/junk >&2; printf no-newline")

    assert agent.end() == (0, junk + b"no-newline", junk)


def test_one_file_for_both_streams_keeps_their_order(tmp_path):
    script = "for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done"
    with (tmp_path / "log").open("wb") as log:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
        subprocess.run(
            [*python("")[:1], "-m", "tonnage_agent", "run", "sh", "-c", script],
            stdout=log, stderr=log, env=environment, check=True,
        )  # fmt: skip

    lines = (tmp_path / "log").read_text().splitlines()
    assert lines == [f"{stream} {number}" for number in range(1, 10) for stream in ("out", "err")]


def test_output_is_passed_on_at_once(tmp_path):
    agent = Agent(tmp_path, "sh", "-c", "printf half; sleep 60")

    assert os.read(agent.process.stdout.fileno(), 100) == b"half"
    agent.process.terminate()
    agent.end()


def test_standard_input_reaches_the_command(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    finished = subprocess.run(
        [*python("")[:1], "-m", "tonnage_agent", "run", "cat"], input=b"abc", capture_output=True, env=environment,
        check=False,
    )  # fmt: skip

    assert finished.stdout == b"abc"


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["no-such-program"], 127, "no-such-program: not found on PATH"),
        (["/no/such/program"], 127, "/no/such/program: not found"),
        (["/etc/passwd"], 126, "/etc/passwd: found, but may not be executed"),
        (["/"], 126, "/: found, but may not be executed"),
    ],
)
def test_a_command_that_cannot_start_ends_as_in_a_shell(tmp_path, command, code, said):
    agent = Agent(tmp_path, *command)

    found, _, err = agent.end()
    assert (found, err.decode()) == (code, f"tonnage: {said}\n")
    assert (agent.record["cause"], agent.record["message"], agent.record["exitCode"]) == (
        "command",
        said,
        code,
    )
    assert agent.message == agent.record


def test_a_script_without_its_interpreter_says_so(tmp_path):
    script = tmp_path / "train"
    script.write_text("#!/no/such/python\n")
    script.chmod(stat.S_IRWXU)

    code, _, err = Agent(tmp_path, str(script)).end()
    assert code == 127
    assert b"its interpreter (the #! line, or the ELF loader) was not found" in err


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP]
)
def test_signals_reach_the_command_once(tmp_path, number):
    script = (
        f"{IMPORTS}got = []\n"
        f"signal.signal({int(number)}, lambda n, f: got.append(n))\n{READY}"
        "while not got: time.sleep(0.01)\n"
        "time.sleep(0.3); print(got, flush=True); sys.exit(5)"
    )
    agent = Agent(tmp_path, *python(script))
    assert agent.process.stdout.readline() == b"ready\n"
    agent.process.send_signal(number)

    code, out, _ = agent.end()
    assert (code, out.decode().strip()) == (5, f"[{int(number)}]")


def test_a_shell_that_would_not_pass_a_signal_on_is_passed_by(tmp_path):
    (tmp_path / "train.py").write_text(
        f"{IMPORTS}signal.signal(15, lambda n, f: (print('saved', flush=True), sys.exit(3)))\n{READY}time.sleep(60)"
    )
    agent = Agent(tmp_path, "sh", "-c", f"{python('')[0]} {tmp_path}/train.py; echo it ended with $?; exit 9")
    assert agent.process.stdout.readline() == b"ready\n"
    agent.process.terminate()

    code, out, _ = agent.end()
    assert (code, out) == (9, b"saved\nit ended with 3\n")


def test_a_command_that_ignores_sigterm_is_killed_when_its_grace_is_over(tmp_path):
    agent = Agent(
        tmp_path,
        *python(f"{IMPORTS}signal.signal(15, signal.SIG_IGN)\n{READY}time.sleep(60)"),
        grace_seconds="2",
    )
    assert agent.process.stdout.readline() == b"ready\n"
    began = time.monotonic()
    agent.process.terminate()
    assert agent.until(lambda record: record["state"] == "stopping")["cause"] == "terminated"

    assert agent.end()[0] == 137
    assert 1.5 < time.monotonic() - began < 20  # a tenth of it is the agent's own; busy machines add theirs
    assert agent.record["message"] == "got SIGTERM; still running at the end of its grace period, killed"


def test_what_the_command_leaves_running_is_ended(tmp_path):
    script = "setsid sh -c 'echo $$; exec sleep 100' & sleep 0.3; exit 4"
    agent = Agent(tmp_path, "sh", "-c", script)

    code, out, _ = agent.end()
    assert code == 4
    assert not is_alive(int(out))
    assert agent.record["message"] == "it left 1 process running, ended with it"


def test_orphans_are_reaped_while_the_command_runs(tmp_path):
    script = (
        "import os, time\n"
        "for _ in range(20):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        if os.fork(): os._exit(0)\n"
        "        time.sleep(0.05); os._exit(0)\n"
        "    os.waitpid(pid, 0)\n"
        "time.sleep(1)\n"
        "import subprocess\n"
        "states = subprocess.run(['ps', '-o', 'stat=', '--ppid', str(os.getppid())], capture_output=True, text=True)\n"
        "print(sum(line.startswith('Z') for line in states.stdout.splitlines()), flush=True)"
    )
    code, out, _ = Agent(tmp_path, *python(script)).end()

    assert (code, out) == (0, b"0\n")


def test_a_reader_that_goes_away_does_not_end_the_command(tmp_path):
    agent = Agent(tmp_path, "sh", "-c", "sleep 0.3; echo one; sleep 0.3; echo two; exit 6")
    agent.process.stdout.close()
    agent.process.stdout = None

    assert agent.end()[0] == 6
    assert agent.record["log"] == ["one", "two"]


def test_wrong_settings_are_all_named_and_nothing_is_started(tmp_path):
    agent = Agent(
        tmp_path, "touch", str(tmp_path / "started"), deadline="tomorrow", budget="$4", step_pattern="("
    )

    code, _, err = agent.end()
    lines = err.decode().splitlines()
    assert code == 83
    assert lines[1] == "tonnage: TONNAGE_DEADLINE: found 'tomorrow'; expected seconds since 1970"
    assert [line.split(":")[1].strip() for line in lines] == [
        "TONNAGE_STEP_PATTERN", "TONNAGE_DEADLINE", "TONNAGE_BUDGET",
    ]  # fmt: skip
    assert not (tmp_path / "started").exists()


def test_a_quarter_of_a_gigabyte_passes_whole_and_in_bounded_memory(tmp_path):
    size = 1 << 28
    script = (
        "import os\nblock = (b'x' * 99 + b'\\n') * 10000\n"
        f"for _ in range({size} // len(block)): os.write(1, block)\nprint('last')"
    )
    agent = Agent(tmp_path, *python(script), stdout=subprocess.DEVNULL)
    agent.until(lambda record: record["state"] in ("running", "ended"))
    most = 0
    while agent.process.poll() is None:
        status = Path(f"/proc/{agent.process.pid}/status").read_text()
        resident = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")]
        most = max([most, *resident])
        time.sleep(0.02)

    assert agent.end()[0] == 0
    assert agent.record["log"][-1] == "last"
    assert len(agent.record["log"][-2]) == 99
    assert most < 40 * 1024


def test_one_endless_line_is_kept_in_part_only(tmp_path):
    script = "import sys\nfor _ in range(300): sys.stdout.write('y' * 100000)\nsys.stdout.write('\\nend\\n')"
    agent = Agent(tmp_path, *python(script))

    code, out, _ = agent.end()
    assert (code, len(out)) == (0, 300 * 100000 + 5)
    assert agent.record["log"][-1] == "end"
    assert all(len(line) <= 2048 for line in agent.record["log"])


def test_closed_streams_and_a_removed_folder_are_no_hindrance(tmp_path):
    (tmp_path / "gone").mkdir()
    agent = f"{python('')[0]} -m tonnage_agent run -- sh -c 'echo one; echo two >&2; exit 5'"
    script = f"cd {tmp_path}/gone && rmdir ../gone && {agent} <&- >&- 2>&-"
    environment = {
        **os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src"), "TONNAGE_RECORD": str(tmp_path / "record"),
    }  # fmt: skip

    assert subprocess.run(["sh", "-c", script], env=environment, check=False).returncode == 5
    assert '"one","two"]' in (tmp_path / "record/attempt-1/node-0/record.json").read_text()


class TestAsPid1:
    """The agent as the first process of a container: nobody else reaps, and its end is everybody's."""

    @pytest.fixture
    def container(self):
        enter = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if os.geteuid() != 0 or subprocess.run([*enter, "true"], check=False, capture_output=True).returncode:
            pytest.skip("a process namespace of one's own needs root and unshare")
        return enter

    def start(self, container, tmp_path, *command: str) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src"), "TONNAGE_RECORD": str(tmp_path),
            "TONNAGE_SOCKET": str(tmp_path / "s"), "TONNAGE_GRACE_SECONDS": "5",
        }  # fmt: skip
        agent = [python("")[0], "-m", "tonnage_agent", "run", "--", *command]
        return subprocess.Popen([*container, *agent], env=environment, stdout=subprocess.PIPE)

    def test_it_reaps_what_the_command_abandons(self, container, tmp_path):
        script = (
            "for i in 1 2 3 4 5; do (sh -c 'sleep 0.1' & ) ; done; sleep 1.5; "
            "cat /proc/[0-9]*/stat | grep -c ') Z ' ; echo $PPID"
        )
        with self.start(container, tmp_path, "sh", "-c", script) as agent:
            out, _ = agent.communicate(timeout=60)

        assert (agent.returncode, out.split()) == (0, [b"0", b"1"])

    def test_it_forwards_sigterm_though_pid_1_has_no_default_for_it(self, container, tmp_path):
        script = f"{IMPORTS}signal.signal(15, lambda n, f: sys.exit(12))\n{READY}time.sleep(60)"
        with self.start(container, tmp_path, *python(script)) as agent:
            assert agent.stdout.readline() == b"ready\n"
            (first,) = Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()
            os.kill(int(first), signal.SIGTERM)
            agent.communicate(timeout=60)

        assert agent.returncode == 12

    def test_its_sudden_death_takes_everybody_along_and_the_record_stays(self, container, tmp_path):
        script = (
            IMPORTS
            + READY
            + "for step in range(9**9): print('step', step, 'loss', 0.5, flush=True); time.sleep(0.05)"
        )
        with self.start(container, tmp_path, *python(script)) as agent:
            record = tmp_path / "attempt-1/node-0/record.json"
            for _ in range(400):
                if record.exists() and '"step":' in record.read_text():
                    break
                agent.stdout.readline()
            (first,) = Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()
            (trainer,) = Path(f"/proc/{first}/task/{first}/children").read_text().split()
            os.kill(int(first), signal.SIGKILL)
            agent.communicate(timeout=60)

        assert not is_alive(int(trainer))
        assert '"state":"running"' in record.read_text()
