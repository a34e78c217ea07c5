"""The node's cgroup on both layouts; the trees are plain folders here, the live tests use the kernel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tonnage.errors import EnvironmentProblem
from tonnage.sandbox.realnode import cgroups


def a_v1_machine(root: Path) -> Path:
    for controller in ("cpu", "cpuset", "memory"):
        (root / controller).mkdir()
        (root / controller / "cgroup.procs").write_text("1\n")
    (root / "cpuset" / "cpuset.cpus").write_text("0-1\n")
    (root / "cpuset" / "cpuset.mems").write_text("0\n")
    (root / "cpu,cpuacct").symlink_to(root / "cpu")
    (root / "not-a-hierarchy").mkdir()
    return root


def a_v2_machine(root: Path, available: str = "cpuset cpu io memory pids", enabled: str = "memory") -> Path:
    (root / "cgroup.controllers").write_text(available)
    (root / "cgroup.subtree_control").write_text(enabled)
    (root / "cgroup.procs").write_text("1\n")
    return root


def test_on_v1_every_hierarchy_gets_the_cgroup_once(tmp_path: Path) -> None:
    machine = a_v1_machine(tmp_path)

    cgroups.make("node", machine)

    assert not cgroups.is_v2(machine)
    assert [folder.name for folder in cgroups.hierarchies(machine)] == ["cpu", "cpuset", "memory"]
    assert all((machine / name / "node").is_dir() for name in ("cpu", "cpuset", "memory"))
    assert not (machine / "not-a-hierarchy" / "node").exists()


def test_on_v2_the_root_hands_the_missing_controllers_down(tmp_path: Path) -> None:
    machine = a_v2_machine(tmp_path)

    cgroups.make("node", machine)

    assert (machine / "node").is_dir()
    assert (machine / "cgroup.subtree_control").read_text() == "+cpu +cpuset +pids"


def test_a_controller_the_machine_does_not_have_is_named(tmp_path: Path) -> None:
    machine = a_v2_machine(tmp_path, available="cpu memory pids")

    with pytest.raises(EnvironmentProblem) as raised:
        cgroups.make("node", machine)

    assert raised.value.problem.found == "no cpuset"


def test_removing_takes_the_deepest_first_and_twice_is_once(tmp_path: Path) -> None:
    machine = a_v1_machine(tmp_path)
    (machine / "memory" / "node" / "kubepods" / "pod1").mkdir(parents=True)

    cgroups.remove("node", machine)
    cgroups.remove("node", machine)

    assert not cgroups.exists("node", machine)
    assert (machine / "memory").is_dir()
