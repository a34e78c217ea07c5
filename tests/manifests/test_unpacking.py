"""The few lines that unpack shipped code inside an image, run as they are shipped."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from manifest_cases import BY_NAME
from manifest_reading import templates


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "code.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        content = b"print('trained')\n"
        entry = tarfile.TarInfo("package/train.py")
        entry.size = len(content)
        file.addfile(entry, io.BytesIO(content))
    return path


def words_of(name: str) -> list[str]:
    (template, _), *_ = templates(BY_NAME[name].rendered())
    (unpacker,) = template["spec"]["initContainers"]
    return unpacker["command"][:-3]


def unpack(words: list[str], archive: Path, folder: Path, digest: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable if word == "python3" else word for word in words]
    return subprocess.run(
        [*words, str(archive), str(folder), digest], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", ["code-from-config-map", "code-from-bucket"])
def test_code_arrives_as_it_was_shipped(name: str, archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    done = unpack(words_of(name), archive, folder, hashlib.sha256(archive.read_bytes()).hexdigest())

    assert done.returncode == 0, done.stderr
    assert (folder / "package" / "train.py").read_text() == "print('trained')\n"


@pytest.mark.parametrize("name", ["code-from-config-map", "code-from-bucket"])
def test_other_code_is_not_run(name: str, archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    done = unpack(words_of(name), archive, folder, "00" * 32)

    assert done.returncode != 0
    assert list(folder.iterdir()) == []
