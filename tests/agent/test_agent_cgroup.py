"""The agent reads any kind of cgroup tree, from fixture trees of each version."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tonnage_agent.__main__ import main
from tonnage_agent.cgroup import CgroupError, locate, read_sample

V2 = {
    "memory.current": "1000",
    "memory.max": "max",
    "memory.peak": "1500",
    "memory.stat": "anon 600\nfile 300\nshmem 50\ninactive_file 200\n",
    "memory.events": "low 0\nhigh 0\nmax 4\noom 1\noom_kill 2\n",
}
V1 = {
    "memory.usage_in_bytes": "1000",
    "memory.limit_in_bytes": "9223372036854771712",
    "memory.max_usage_in_bytes": "1500",
    "memory.stat": "rss 1\ntotal_rss 600\ntotal_cache 300\ntotal_shmem 50\ntotal_inactive_file 200\n"
    "hierarchical_memory_limit 4096\n",
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
}


def plant(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "cgroup"


@pytest.fixture
def self_cgroup(tmp_path):
    path = tmp_path / "self"

    def write(*lines: str) -> Path:
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return write


def test_version_2_inside_a_container_is_read_at_the_root(root, self_cgroup):
    plant(root, V2)
    sample = read_sample(7.0, root=root, self_cgroup=self_cgroup("0::/"))
    assert sample.source == "cgroup-v2"
    assert (sample.usage_bytes, sample.working_set_bytes, sample.limit_bytes) == (1000, 800, None)
    assert (sample.anon_bytes, sample.file_bytes, sample.shmem_bytes) == (600, 300, 50)
    assert (sample.peak_bytes, sample.oom_kills, sample.when) == (1500, 2, 7.0)


def test_version_2_counts_the_nearest_wall_on_the_way_up(root, self_cgroup):
    plant(root / "kubepods/pod1/c", {**V2, "memory.max": "9000"})
    plant(root / "kubepods/pod1", {"memory.max": "5000"})
    plant(root / "kubepods", {"memory.max": "max"})
    sample = read_sample(0, root=root, self_cgroup=self_cgroup("0::/kubepods/pod1/c"))
    assert sample.limit_bytes == 5000


def test_an_old_kernel_without_a_peak_leaves_it_out(root, self_cgroup):
    plant(root, {k: v for k, v in V2.items() if k != "memory.peak"})
    sample = read_sample(0, root=root, self_cgroup=self_cgroup("0::/"))
    assert sample.peak_bytes is None
    assert "peakBytes" not in json.loads(sample.as_line())


def test_version_1_is_read_and_its_hierarchy_gives_the_wall(root, self_cgroup):
    plant(root / "memory", V1)
    sample = read_sample(0, root=root, self_cgroup=self_cgroup("4:memory:/kubepods/x", "3:cpu,cpuacct:/"))
    assert sample.source == "cgroup-v1"
    assert (sample.usage_bytes, sample.working_set_bytes, sample.limit_bytes) == (1000, 800, 4096)
    assert (sample.anon_bytes, sample.file_bytes, sample.shmem_bytes, sample.oom_kills) == (600, 300, 50, 2)


def test_version_1_without_any_limit_has_none(root, self_cgroup):
    plant(root / "memory", {**V1, "memory.stat": "hierarchical_memory_limit 9223372036854771712\n"})
    assert read_sample(0, root=root, self_cgroup=self_cgroup("4:memory:/")).limit_bytes is None


def test_hybrid_trees_count_memory_where_the_controller_is(root, self_cgroup):
    plant(root / "memory/a", V1)
    plant(root / "unified/a", {"cgroup.procs": ""})
    path = self_cgroup("4:memory:/a", "0::/a")
    assert read_sample(0, root=root, self_cgroup=path).source == "cgroup-v1"


def test_hybrid_trees_with_memory_on_version_2_are_read_from_the_unified_mount(root, self_cgroup):
    plant(root / "unified/a", V2)
    path = self_cgroup("3:cpu:/a", "0::/a")
    assert read_sample(0, root=root, self_cgroup=path).source == "cgroup-v2"


def test_a_path_outside_our_namespace_is_not_followed(root, tmp_path):
    plant(root, V2)
    plant(tmp_path / "secret", V2)
    assert locate(root, "0::/../secret") == (2, root)


def test_working_set_never_goes_below_zero(root, self_cgroup):
    plant(root, {**V2, "memory.stat": "inactive_file 5000\n"})
    assert read_sample(0, root=root, self_cgroup=self_cgroup("0::/")).working_set_bytes == 0


def test_an_empty_tree_says_what_was_looked_for(root, self_cgroup):
    root.mkdir()
    with pytest.raises(CgroupError, match=r"no memory cgroup found: looked for .*memory\.current"):
        read_sample(0, root=root, self_cgroup=self_cgroup("0::/"))


def test_the_command_prints_one_line_and_fails_clearly(root, self_cgroup, capsys):
    plant(root, V2)
    path = str(self_cgroup("0::/"))
    assert main(["sample", "--cgroup-root", str(root), "--self-cgroup", path]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out)["usageBytes"] == 1000

    assert main(["sample", "--cgroup-root", str(root / "none"), "--self-cgroup", path]) == 1
    assert "no memory cgroup found" in capsys.readouterr().err


def test_this_machine_can_be_sampled():
    done = subprocess.run(
        [sys.executable, "-m", "tonnage_agent", "sample"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["usageBytes"] > 0


def test_importing_the_agent_loads_only_the_standard_library():
    script = (
        "import sys; before = set(sys.modules)\n"
        "import tonnage_agent.__main__, tonnage_agent.cgroup, tonnage_agent.telemetry\n"
        "print('\\n'.join({m.split('.')[0] for m in set(sys.modules) - before}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    foreign = {name for name in loaded if name not in sys.stdlib_module_names} - {"tonnage_agent"}
    assert foreign == set()
