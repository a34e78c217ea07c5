"""Where a memory limit can be set, on trees of files as kernels of both versions show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tonnage.cli.run_here import notes_on_the_limit
from tonnage.local.cgroups import MemoryCgroup, is_permitted, make

LIMIT = 64 * 2**20


def a_tree(root: Path, own: str, *, busy: bool = True) -> Path:
    """A version 2 tree; a cgroup that is `busy` holds processes and gives its children no controllers."""
    (root / own).mkdir(parents=True)
    for folder in (root / own, *(root / own).parents):
        (folder / "cgroup.controllers").write_text("cpu memory pids\n")
        if folder == root / own and busy:
            (folder / "cgroup.subtree_control").mkdir()  # what cannot be written to
        else:
            (folder / "cgroup.subtree_control").write_text("")
        if folder == root:
            break
    named = root / "self"
    named.write_text(f"0::/{own}\n")
    return named


def test_beside_our_own_cgroup_where_ours_may_have_no_limited_children(tmp_path: Path) -> None:
    named = a_tree(tmp_path, "user.slice/session-1.scope")
    group = make("tonnage-1", LIMIT, tmp_path, named)
    assert group == MemoryCgroup(tmp_path / "user.slice" / "tonnage-1", 2)
    assert (group.folder / "memory.max").read_text() == str(LIMIT)
    assert (group.folder / "memory.swap.max").read_text() == "0"
    assert (tmp_path / "user.slice" / "cgroup.subtree_control").read_text() == "+memory"


def test_below_our_own_where_that_is_allowed(tmp_path: Path) -> None:
    named = a_tree(tmp_path, "user.slice/mine", busy=False)
    group = make("tonnage-1", LIMIT, tmp_path, named)
    assert group is not None
    assert group.folder == tmp_path / "user.slice" / "mine" / "tonnage-1"


def test_nowhere_is_an_answer_and_leaves_nothing(tmp_path: Path) -> None:
    named = tmp_path / "self"
    named.write_text("0::/\n")
    assert make("tonnage-1", LIMIT, tmp_path, named) is None
    assert [entry.name for entry in tmp_path.iterdir()] == ["self"]


def test_what_the_kernel_counted_is_read_in_both_versions(tmp_path: Path) -> None:
    new, old = tmp_path / "two", tmp_path / "one"
    for folder, files in (
        (new, {"memory.current": "7", "memory.peak": "9", "memory.events": "oom 1\noom_kill 2\n"}),
        (
            old,
            {
                "memory.usage_in_bytes": "7",
                "memory.max_usage_in_bytes": "9",
                "memory.oom_control": "oom_kill 2\n",
            },
        ),
    ):
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_text(content)
    for group in (MemoryCgroup(new, 2), MemoryCgroup(old, 1)):
        assert (group.peak, group.oom_kills) == (9, 2)
    assert MemoryCgroup(tmp_path / "gone", 2).oom_kills is None


def test_who_keeps_the_limit_is_said_where_it_is_not_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TONNAGE_NO_CGROUP", raising=False)
    assert (notes_on_the_limit() == ()) == is_permitted()
    monkeypatch.setenv("TONNAGE_NO_CGROUP", "1")
    assert notes_on_the_limit() == ("limit kept by the agent, not by the kernel: TONNAGE_NO_CGROUP is set",)
