"""Kubeconfig files, as kubectl reads them and as people break them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from tonnage.errors import DocumentError, TonnageError, UnreachableError, UsageError
from tonnage.kube.kubeconfig import (
    EXEC_VERSIONS,
    find_access,
    in_cluster_access,
    load_kubeconfig,
    merge_kubeconfigs,
)


def config(**parts: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "clusters": [{"name": "c", "cluster": {"server": "https://one.test:6443/"}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "contexts": [{"name": "prod", "context": {"cluster": "c", "user": "u", "namespace": "ml"}}],
        "current-context": "prod",
    }
    return {**base, **parts}


def written(folder: Path, document: Any, name: str = "config") -> Path:
    path = folder / name
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return path


def access(folder: Path, document: Any, context: str | None = None) -> Any:
    return load_kubeconfig({}, explicit=written(folder, document)).access(context)


def test_the_current_context_gives_server_namespace_and_login(tmp_path: Path) -> None:
    found = access(tmp_path, config())

    assert (found.server, found.namespace, found.login.token) == ("https://one.test:6443", "ml", "secret")


def test_several_files_are_merged_and_the_first_to_say_something_wins(tmp_path: Path) -> None:
    first = written(
        tmp_path, {"current-context": "b", "users": [{"name": "u", "user": {"token": "first"}}]}, "1"
    )
    second = written(
        tmp_path,
        config(
            contexts=[{"name": "b", "context": {"cluster": "c", "user": "u"}}], **{"current-context": "z"}
        ),
        "2",
    )

    found = find_access({"KUBECONFIG": f"{first}:{second}:{tmp_path / 'missing'}"})

    assert (found.context, found.login.token, found.server) == ("b", "first", "https://one.test:6443")


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "certs").mkdir()
    (tmp_path / "certs" / "ca.pem").write_bytes(b"authority")
    cluster = {"server": "https://x", "certificate-authority": "certs/ca.pem"}
    user = {"tokenFile": "certs/token"}
    document = config(clusters=[{"name": "c", "cluster": cluster}], users=[{"name": "u", "user": user}])

    found = access(tmp_path, document)

    assert found.authority == b"authority"
    assert found.login.token_file == tmp_path / "certs" / "token"


def test_data_beats_files(tmp_path: Path) -> None:
    cluster = {
        "server": "https://x",
        "certificate-authority": "nowhere.pem",
        "certificate-authority-data": base64.b64encode(b"inline").decode(),
    }

    assert access(tmp_path, config(clusters=[{"name": "c", "cluster": cluster}])).authority == b"inline"


def test_proxy_server_name_and_insecure_are_kept(tmp_path: Path) -> None:
    cluster = {
        "server": "https://10.0.0.1",
        "proxy-url": "http://proxy:3128",
        "tls-server-name": "api.internal",
        "insecure-skip-tls-verify": True,
    }

    found = access(tmp_path, config(clusters=[{"name": "c", "cluster": cluster}]))

    assert (found.proxy_url, found.tls_server_name, found.insecure) == (
        "http://proxy:3128",
        "api.internal",
        True,
    )


def test_an_unknown_context_names_the_nearest_and_lists_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        access(tmp_path, config(), "prdo")

    assert refused.value.problem.code == "KUBE-003"
    assert "'prod'" in str(refused.value)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("clusters: [\n  {name: c", "not valid YAML"),
        ("just a text", "str"),
        ({"clusters": "all"}, "clusters"),
        ({"contexts": [{"context": {}}]}, "contexts[0]"),
        ({"users": [{"name": "u", "user": ["token"]}]}, "users[0].user"),
    ],
)
def test_a_malformed_file_says_where_and_what(tmp_path: Path, document: Any, says: str) -> None:
    with pytest.raises(DocumentError) as broken:
        access(tmp_path, document)

    assert str(tmp_path / "config") in str(broken.value)
    assert says in str(broken.value)


@pytest.mark.parametrize(
    "change",
    [
        {"contexts": [{"name": "prod", "context": {"cluster": "nowhere"}}]},
        {"contexts": [{"name": "prod", "context": {"cluster": "c", "user": "nobody"}}]},
        {"clusters": [{"name": "c", "cluster": {}}]},
        {"clusters": [{"name": "c", "cluster": {"server": "x", "certificate-authority-data": "%%%"}}]},
        {"clusters": [{"name": "c", "cluster": {"server": "x", "certificate-authority": "gone.pem"}}]},
        {"users": [{"name": "u", "user": {"exec": {"command": "x", "apiVersion": "v1alpha1"}}}]},
        {"users": [{"name": "u", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}}]},
        {"users": [{"name": "u", "user": {"auth-provider": {"name": "gcp"}}}]},
        {"current-context": ""},
    ],
)
def test_a_context_that_cannot_work_is_a_clear_error(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(TonnageError) as broken:
        access(tmp_path, config(**change))

    assert broken.value.problem.code.startswith("KUBE-00")


def test_no_kubeconfig_at_all_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="tonnage sandbox up"):
        find_access({"HOME": str(tmp_path)}, service_account=tmp_path / "none")


def test_inside_a_pod_its_service_account_is_used(tmp_path: Path) -> None:
    for name, text in (("token", "t"), ("namespace", "team"), ("ca.crt", "pem")):
        (tmp_path / name).write_text(text)
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443", "HOME": "/nowhere"}

    found = find_access(environment, service_account=tmp_path)

    assert (found.context, found.server, found.namespace) == ("in-cluster", "https://[fd00::1]:443", "team")
    assert found.login.token_file == tmp_path / "token"


def test_outside_a_pod_there_is_no_service_account(tmp_path: Path) -> None:
    assert in_cluster_access({}, tmp_path) is None


def test_impersonation_becomes_headers(tmp_path: Path) -> None:
    user = {"token": "t", "as": "jane", "as-groups": ["ml", "dev"]}

    found = access(tmp_path, config(users=[{"name": "u", "user": user}]))

    assert found.login.impersonate == {"Impersonate-User": "jane", "Impersonate-Group": ("ml", "dev")}


def test_an_empty_file_has_no_contexts() -> None:
    assert merge_kubeconfigs([(Path("x"), "")]).contexts == {}


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        ({"server": "prod.test:6443"}, {}),
        ({"server": "ftp://prod.test"}, {}),
        ({"server": "https://[::1"}, {}),
        ({"server": "https://prod.test:notaport"}, {}),
        ({"server": "https://prod\n.test"}, {}),
        ({"proxy-url": "proxy:3128"}, {}),
        ({}, {"as-groups": True}),
        ({}, {"exec": {"command": "x", "apiVersion": EXEC_VERSIONS[0], "args": "x"}}),
        ({}, {"exec": {"command": "x", "apiVersion": EXEC_VERSIONS[0], "env": [{"value": "x"}]}}),
        ({}, {"exec": {"command": "x", "apiVersion": EXEC_VERSIONS[0], "env": {"A": "b"}}}),
    ],
)
def test_a_value_of_the_wrong_shape_is_named_and_is_not_our_bug(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any]
) -> None:
    document = config()
    document["clusters"][0]["cluster"] |= cluster
    document["users"][0]["user"] |= user

    with pytest.raises(DocumentError) as failed:
        access(tmp_path, document)

    (wrong,) = cluster or user
    assert failed.value.problem.code == "KUBE-001"
    assert wrong in str(failed.value)


def test_extensions_of_any_shape_are_passed_over(tmp_path: Path) -> None:
    document = config()
    document["clusters"][0]["cluster"]["extensions"] = True

    assert access(tmp_path, document).cluster_extension is None
