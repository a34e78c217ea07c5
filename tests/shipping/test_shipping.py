"""What is shipped: the files git would keep, the same bytes for the same files, nothing from outside."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.errors import DocumentError
from tonnage.shipping import files_to_ship, pack


def lay(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def names(folder: Path, ignore: tuple[str, ...] = ()) -> list[str]:
    return [file.name for file in files_to_ship(folder, ignore)]


def test_everything_is_shipped_but_what_the_ignore_files_name(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "train.py": "", "data/huge.bin": "x", "lib/model.py": "", "lib/.gitignore": "*.tmp\n", "lib/a.tmp": "",
            "keep.tmp": "", ".gitignore": "data/\n", ".tonnageignore": "notes.md\n", "notes.md": "",
        },
    )  # fmt: skip
    assert names(tmp_path) == [
        ".gitignore",
        ".tonnageignore",
        "keep.tmp",
        "lib/.gitignore",
        "lib/model.py",
        "train.py",
    ]


def test_caches_and_repositories_are_left_out_unless_taken_back(tmp_path: Path) -> None:
    lay(tmp_path, {".git/config": "", "__pycache__/a.pyc": "", "venv/bin/x": "", "train.py": ""})
    assert names(tmp_path) == ["train.py"]
    (tmp_path / ".tonnageignore").write_text("!venv\n")
    assert "venv/bin/x" in names(tmp_path)


def test_the_document_has_the_last_word(tmp_path: Path) -> None:
    lay(tmp_path, {"a.py": "", "b.py": "", ".gitignore": "b.py\n"})
    assert names(tmp_path, ("a.py", "!b.py")) == [".gitignore", "b.py"]


def test_a_link_inside_is_shipped_as_a_file_and_one_that_leads_out_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "project"
    lay(project, {"real.py": "1"})
    (project / "alias.py").symlink_to("real.py")
    assert names(project) == ["alias.py", "real.py"]
    (tmp_path / "secret").write_text("password")
    (project / "leak").symlink_to(tmp_path / "secret")
    with pytest.raises(DocumentError, match="CODE-002"):
        files_to_ship(project)


def test_a_missing_or_empty_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="CODE-001"):
        files_to_ship(tmp_path / "nowhere")
    with pytest.raises(DocumentError, match="CODE-003"):
        pack(files_to_ship(tmp_path))


def test_the_same_files_give_the_same_bytes_whenever_and_wherever_they_were_written(tmp_path: Path) -> None:
    one, two = (
        lay(tmp_path / "1", {"a.py": "x", "b/c.py": "y"}),
        lay(tmp_path / "2", {"b/c.py": "y", "a.py": "x"}),
    )
    os.utime(two / "a.py", (1, 1))
    assert pack(files_to_ship(one)) == pack(files_to_ship(two))
    (two / "a.py").chmod(0o755)
    assert pack(files_to_ship(one)).digest != pack(files_to_ship(two)).digest


def test_an_archive_unpacks_to_the_files(tmp_path: Path) -> None:
    lay(tmp_path, {"a.py": "x", "b/c.py": "y"})
    (tmp_path / "a.py").chmod(0o755)
    with tarfile.open(fileobj=io.BytesIO(pack(files_to_ship(tmp_path)).content)) as tar:
        found = {member.name: (member.mode, tar.extractfile(member).read()) for member in tar}  # type: ignore[union-attr]
    assert found == {"a.py": (0o755, b"x"), "b/c.py": (0o644, b"y")}


PATTERN = st.sampled_from(["a", "*.py", "b/", "/a", "!a.py", "b/*.py", "**/c", "!b/c.py", "c*", "# note", ""])


@settings(max_examples=25, deadline=None)
@given(top=st.lists(PATTERN, max_size=4), below=st.lists(PATTERN, max_size=3))
def test_ignore_files_mean_what_they_mean_to_git(
    tmp_path_factory: pytest.TempPathFactory, top: list[str], below: list[str]
) -> None:
    root = tmp_path_factory.mktemp("repository")
    lay(root, dict.fromkeys(("a", "a.py", "b/a", "b/c.py", "b/c/d.py", "c.py", "e/b/x.py"), ""))
    (root / ".gitignore").write_text("\n".join(top) + "\n")
    (root / "b/.gitignore").write_text("\n".join(below) + "\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    git = ["git", "-C", str(root), "ls-files", "--others", "--exclude-standard"]
    listed = subprocess.run(git, check=True, capture_output=True, text=True).stdout.split()
    assert names(root) == sorted(listed)
