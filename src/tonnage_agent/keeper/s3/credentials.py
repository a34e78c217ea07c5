"""Where access keys come from, in the order AWS' own tools look:

    environment       AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
    web identity      AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE (service accounts on EKS: IRSA)
    shared file       AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials, AWS_PROFILE
    container         AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI (EKS pod identity, ECS)
    instance          the machine's own role (IMDSv2), unless AWS_EC2_METADATA_DISABLED

Keys that expire are renewed five minutes before. `sso`, `credential_process` and `source_profile` of the shared
configuration are not read; what is missing is said by name.
"""

from __future__ import annotations

import configparser
import datetime as dt
import json
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

from tonnage_agent.keeper.failing import PlaceError
from tonnage_agent.keeper.s3.signing import Keys

_EARLY_SECONDS = 300.0
_TIMEOUT_SECONDS = 5.0


class Credentials:
    """Keys that are always fresh."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._lock = threading.Lock()
        self._keys: Keys | None = None

    def keys(self, *, renew: bool = False) -> Keys:
        """The keys to sign with now; `renew` where the server refused the last ones as expired."""
        with self._lock:
            if self._keys is None or renew or _is_old(self._keys, time.time()):
                self._keys = find_keys(self._environment)
            return self._keys


def find_keys(environment: Mapping[str, str]) -> Keys:
    """The first source that has keys; PlaceError names all that were tried."""
    tried: list[str] = []
    for name, read in _SOURCES:
        try:
            found = read(environment)
        except (OSError, ValueError, KeyError) as error:
            tried.append(f"{name} ({error})")
            continue
        if found is not None:
            return found
        tried.append(name)
    raise PlaceError(
        f"no access keys for S3 were found; looked at: {', '.join(tried)}. Give the pod AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY from a secret, or a service account with a role"
    )


def _is_old(keys: Keys, now: float) -> bool:
    return keys.expires_at is not None and now > keys.expires_at - _EARLY_SECONDS


def _from_environment(environment: Mapping[str, str]) -> Keys | None:
    access, secret = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
    return Keys(access, secret, environment.get("AWS_SESSION_TOKEN", "")) if access and secret else None


def _from_file(environment: Mapping[str, str]) -> Keys | None:
    home = Path(environment.get("HOME", "/nonexistent"))
    path = Path(environment.get("AWS_SHARED_CREDENTIALS_FILE") or home / ".aws" / "credentials")
    profile = environment.get("AWS_PROFILE") or "default"
    parser = configparser.RawConfigParser()
    try:
        if not parser.read(path, encoding="utf-8"):
            return None
    except (configparser.Error, UnicodeDecodeError):
        raise ValueError(f"{path} cannot be read as an ini file") from None
    if not parser.has_section(profile):
        return None
    values = dict(parser.items(profile))
    if "aws_access_key_id" not in values or "aws_secret_access_key" not in values:
        raise ValueError(f"profile {profile} of {path} holds no access key; only plain keys are read")
    return Keys(
        values["aws_access_key_id"], values["aws_secret_access_key"], values.get("aws_session_token", "")
    )


def _from_web_identity(environment: Mapping[str, str]) -> Keys | None:
    role, file = environment.get("AWS_ROLE_ARN"), environment.get("AWS_WEB_IDENTITY_TOKEN_FILE")
    if not role or not file:
        return None
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    usual = f"https://sts.{region}.amazonaws.com" if region else "https://sts.amazonaws.com"
    endpoint = environment.get("AWS_ENDPOINT_URL_STS") or usual
    asked = {
        "Action": "AssumeRoleWithWebIdentity",
        "Version": "2011-06-15",
        "RoleArn": role,
        "RoleSessionName": environment.get("AWS_ROLE_SESSION_NAME") or "tonnage",
        "WebIdentityToken": Path(file).read_text(encoding="utf-8").strip(),
    }
    text = _ask(endpoint, data=urlencode(asked).encode())
    found = {
        name: re.search(f"<{name}>([^<]+)</{name}>", text)
        for name in ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")
    }
    values = {name: match[1] for name, match in found.items() if match}
    return _from_answer(values)


def _from_container(environment: Mapping[str, str]) -> Keys | None:
    relative, full = (environment.get(f"AWS_CONTAINER_CREDENTIALS_{n}_URI") for n in ("RELATIVE", "FULL"))
    url = f"http://169.254.170.2{relative}" if relative else full
    if not url:
        return None
    token = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "")
    if file := environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"):
        token = Path(file).read_text(encoding="utf-8").strip()
    return _from_answer(json.loads(_ask(url, headers={"Authorization": token} if token else {})))


def _from_instance(environment: Mapping[str, str]) -> Keys | None:
    if environment.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return None
    root = (environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or "http://169.254.169.254").rstrip("/")
    seconds = {"X-aws-ec2-metadata-token-ttl-seconds": "21600"}
    token = _ask(f"{root}/latest/api/token", headers=seconds, method="PUT", timeout=1.0)
    sent = {"X-aws-ec2-metadata-token": token}
    place = f"{root}/latest/meta-data/iam/security-credentials/"
    role = _ask(place, headers=sent).split()[0]
    return _from_answer(json.loads(_ask(f"{place}{role}", headers=sent)))


def _from_answer(values: Mapping[str, str]) -> Keys:
    """The shape all services answer in, with `Token` or `SessionToken`."""
    expires = values.get("Expiration", "")
    when = dt.datetime.fromisoformat(expires.replace("Z", "+00:00")).timestamp() if expires else None
    token = values.get("SessionToken") or values.get("Token") or ""
    return Keys(values["AccessKeyId"], values["SecretAccessKey"], token, when)


def _ask(
    url: str,
    *,
    data: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    method: str | None = None,
    timeout: float = _TIMEOUT_SECONDS,
) -> str:
    request = urllib.request.Request(url, data=data, headers=dict(headers or {}), method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        said = error.read().decode(errors="replace")[:200]
        raise ValueError(f"{url} answered {error.code}: {said}") from None


_SOURCES = (
    ("environment", _from_environment),
    ("web identity", _from_web_identity),
    ("shared file", _from_file),
    ("container", _from_container),
    ("instance", _from_instance),
)
