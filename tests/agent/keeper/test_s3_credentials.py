"""Where access keys come from; services that hand them out are small servers that answer as AWS documents it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tonnage_agent.keeper import PlaceError
from tonnage_agent.keeper.s3.credentials import Credentials, find_keys
from tonnage_agent.keeper.s3.signing import Keys

NOWHERE = {"AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nonexistent"}


class Service:
    """What was asked, and what is answered: path -> text."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str], str]] = []
        self.answers: dict[str, str] = {}
        self.url = ""


@pytest.fixture
def service() -> Iterator[Service]:
    known = Service()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            known.asked.append(
                (self.command, self.path, {n.lower(): v for n, v in self.headers.items()}, body)
            )
            text = known.answers.get(self.path)
            content = (text or "no").encode()
            self.send_response_only(200 if text is not None else 403)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    known.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield known
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_environment_comes_first() -> None:
    found = find_keys({"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"})

    assert found == Keys("a", "s", "t")


@pytest.mark.parametrize(("profile", "expected"), [("", "default-key"), ("ml", "ml-key")])
def test_the_shared_file_is_read_by_profile(tmp_path: Path, profile: str, expected: str) -> None:
    file = tmp_path / "credentials"
    file.write_text(
        "[default]\naws_access_key_id = default-key\naws_secret_access_key = s%c\n"
        "[ml]\naws_access_key_id=ml-key\naws_secret_access_key=s\n"
    )

    found = find_keys({**NOWHERE, "AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_PROFILE": profile})

    assert found.access == expected


def test_a_service_account_on_eks_becomes_keys(service: Service, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a-jwt\n")
    service.answers["/"] = (
        "<AssumeRoleWithWebIdentityResponse><Credentials><AccessKeyId>ASIA</AccessKeyId>"
        "<SecretAccessKey>s/+=</SecretAccessKey><SessionToken>t</SessionToken>"
        "<Expiration>2030-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResponse>"
    )

    found = find_keys(
        {
            **NOWHERE,
            "AWS_ROLE_ARN": "arn:aws:iam::1:role/ckpt",
            "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token"),
            "AWS_ENDPOINT_URL_STS": f"{service.url}/",
        }
    )

    assert found == Keys("ASIA", "s/+=", "t", 1893456000.0)
    asked = parse_qs(service.asked[0][3])
    assert asked["WebIdentityToken"] == ["a-jwt"]
    assert asked["RoleArn"] == ["arn:aws:iam::1:role/ckpt"]


def test_pod_identity_becomes_keys(service: Service, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("pod-token")
    answer = {"AccessKeyId": "A", "SecretAccessKey": "S", "Token": "T", "Expiration": "2030-01-01T00:00:00Z"}
    service.answers["/v1/credentials"] = json.dumps(answer)

    found = find_keys(
        {
            **NOWHERE,
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{service.url}/v1/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(tmp_path / "token"),
        }
    )

    assert (found.access, found.token) == ("A", "T")
    assert service.asked[0][2]["authorization"] == "pod-token"


def test_the_machines_own_role_becomes_keys(service: Service) -> None:
    place = "/latest/meta-data/iam/security-credentials/"
    service.answers = {
        "/latest/api/token": "imds-token",
        place: "node-role",
        f"{place}node-role": json.dumps({"AccessKeyId": "A", "SecretAccessKey": "S", "Token": "T"}),
    }

    found = find_keys({"HOME": "/nonexistent", "AWS_EC2_METADATA_SERVICE_ENDPOINT": service.url})

    assert found == Keys("A", "S", "T")
    assert service.asked[0][0] == "PUT"
    assert service.asked[2][2]["x-aws-ec2-metadata-token"] == "imds-token"


def test_keys_are_renewed_before_they_expire(service: Service) -> None:
    def answer(access: str, seconds: float) -> str:
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
        return json.dumps({"AccessKeyId": access, "SecretAccessKey": "S", "Expiration": when})

    credentials = Credentials({**NOWHERE, "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{service.url}/c"})
    service.answers["/c"] = answer("first", 100)  # less than five minutes: not for the next call
    assert credentials.keys().access == "first"
    service.answers["/c"] = answer("second", 3600)
    assert credentials.keys().access == "second"
    service.answers["/c"] = answer("third", 3600)
    assert credentials.keys().access == "second"
    assert credentials.keys(renew=True).access == "third"


def test_where_there_are_no_keys_all_places_are_named(tmp_path: Path) -> None:
    with pytest.raises(PlaceError) as raised:
        find_keys(NOWHERE)

    text = str(raised.value)
    for source in ("environment", "web identity", "shared file", "container", "instance"):
        assert source in text
    assert "service account with a role" in text


def test_a_role_that_is_refused_says_so(service: Service, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("x")
    environment = {
        **NOWHERE,
        "AWS_ROLE_ARN": "arn",
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token"),
        "AWS_ENDPOINT_URL_STS": service.url,
    }

    with pytest.raises(PlaceError, match=r"web identity \(.* answered 403: no\)"):
        find_keys(environment)
