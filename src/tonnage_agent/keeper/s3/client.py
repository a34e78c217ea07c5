"""What the keeper asks of a bucket. Keys are relative to the prefix; big files go and come in parts."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable
from urllib.parse import unquote

from tonnage_agent.keeper.failing import PlaceError
from tonnage_agent.keeper.objects import Listed
from tonnage_agent.keeper.s3.addressing import address_of
from tonnage_agent.keeper.s3.credentials import Credentials
from tonnage_agent.keeper.s3.downloading import download
from tonnage_agent.keeper.s3.sending import Answer, Sender
from tonnage_agent.keeper.s3.uploading import Uploads, upload

_THREADS = 8


def open_client(
    where: str,
    environment: Mapping[str, str] | None = None,
    *,
    pause: Callable[[float], None] = time.sleep,
) -> S3Client:
    """A client for `bucket/prefix` (or s3://bucket/prefix); nothing is contacted yet."""
    known = os.environ if environment is None else environment
    bucket, _, prefix = (
        where[len("s3://") :].partition("/") if where.startswith("s3://") else where.partition("/")
    )
    sender = Sender(address_of(bucket, known), Credentials(known), known, pause=pause)
    return S3Client(sender, prefix)


class S3Client:
    """`Objects` over signed requests."""

    def __init__(self, sender: Sender, prefix: str) -> None:
        self._sender = sender
        self._prefix = prefix.strip("/") + "/" if prefix.strip("/") else ""
        self._uploads = Uploads(sender)
        self.url = f"s3://{sender.address.bucket}/{self._prefix}".rstrip("/")

    def put(self, key: str, content: bytes) -> None:
        """Create or replace a small object."""
        self._check(self._sender.send("PUT", self._prefix + key, body=content), "written", key)

    def put_new(self, key: str, content: bytes) -> bool:
        """Create a small object; False where there is one of another content already."""
        full = self._prefix + key
        for _ in range(5):
            answer = self._sender.send("PUT", full, headers={"If-None-Match": "*"}, body=content)
            if answer.status != 409:  # another one is being created right now: ask again
                break
        if answer.status == 412:
            # Ours, where the answer to our own first try was lost on the way.
            return self.get(key) == content
        if answer.status == 501 or answer.code == "NotImplemented":
            return self._put_if_absent(key, content)
        self._check(answer, "created", key)
        return True

    def put_file(self, key: str, path: Path) -> tuple[int, str]:
        """Upload a file; its size and SHA-256 as they were sent."""
        return upload(self._uploads, self._prefix + key, path)

    def get(self, key: str) -> bytes | None:
        """A small object; None where there is none."""
        answer = self._sender.send("GET", self._prefix + key)
        if answer.status == 404:
            return None
        self._check(answer, "read", key)
        return answer.body

    def get_file(self, key: str, path: Path, size: int) -> None:
        """Download an object of this size; FileNotFoundError where there is none."""
        download(self._sender, self._prefix + key, path, size)

    def size(self, key: str) -> int | None:
        """Bytes of an object; None where there is none."""
        answer = self._sender.send("HEAD", self._prefix + key)
        if answer.status == 404:
            return None
        self._check(answer, "looked at", key)
        return int(answer.headers.get("content-length", "0"))

    def find(self, prefix: str = "", *, deep: bool = True) -> list[Listed]:
        """Objects whose key begins so; not deep: only up to the next slash, folders as keys that end with one."""
        found: list[Listed] = []
        token = ""
        while True:
            query = [("list-type", "2"), ("prefix", self._prefix + prefix), ("encoding-type", "url")]
            query += [] if deep else [("delimiter", "/")]
            query += [("continuation-token", token)] if token else []
            answer = self._sender.send("GET", "", query=query)
            self._check(answer, "listed", prefix)
            text = answer.body.decode()
            found += self._listed(text)
            following = re.search(r"<NextContinuationToken>([^<]+)</NextContinuationToken>", text)
            if not following or "<IsTruncated>true</IsTruncated>" not in text:
                return found
            token = _unescape(following[1])

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects; those that are not there do not matter."""

        def remove(key: str) -> None:
            answer = self._sender.send("DELETE", self._prefix + key)
            if answer.status != 404:
                self._check(answer, "removed", key)

        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(remove, keys))

    def abort_uploads(self, is_left: Callable[[str], bool]) -> None:
        """Give up uploads in parts that nobody will finish, by their keys."""
        for key, upload_id in self._uploads.unfinished(self._prefix):
            if is_left(key[len(self._prefix) :]):
                self._uploads.abort(key, upload_id)

    def _put_if_absent(self, key: str, content: bytes) -> bool:
        """For servers without conditional requests: a look before, which two writers at once could both pass."""
        if self.size(key) is not None:
            return self.get(key) == content
        self.put(key, content)
        return self.get(key) == content

    def _listed(self, text: str) -> list[Listed]:
        found = []
        for block in re.findall(r"<Contents>(.*?)</Contents>", text, re.DOTALL):
            key = unquote(_unescape(_field(block, "Key")))
            size = _field(block, "Size")
            found.append(Listed(key[len(self._prefix) :], int(size or 0), _field(block, "LastModified")))
        for block in re.findall(r"<CommonPrefixes>(.*?)</CommonPrefixes>", text, re.DOTALL):
            key = unquote(_unescape(_field(block, "Prefix")))
            found.append(Listed(key[len(self._prefix) :], 0, ""))
        return found

    def _check(self, answer: Answer, what: str, key: str) -> None:
        if not answer.is_fine:
            raise refused(answer, f"{self.url}/{key}".rstrip("/"), what)


def refused(answer: Answer, where: str, what: str) -> PlaceError:
    """An error answer in words, with what to look at."""
    hints = {
        "NoSuchBucket": "the bucket does not exist; make it, or correct the place",
        "AccessDenied": "these keys may not do that; the role needs s3:GetObject, PutObject, DeleteObject, ListBucket",
        "InvalidAccessKeyId": "the access key is unknown to this server",
        "SignatureDoesNotMatch": "the secret key is wrong",
    }
    said = f"{answer.status} {answer.code or 'without a reason'}"
    hint = hints.get(answer.code) or (hints["AccessDenied"] if answer.status == 403 else answer.message)
    return PlaceError(f"{where} could not be {what}: {said}; {hint}".rstrip("; "))


def _field(block: str, name: str) -> str:
    found = re.search(f"<{name}>(.*?)</{name}>", block, re.DOTALL)
    return found[1] if found else ""


def _unescape(text: str) -> str:
    from xml.sax.saxutils import unescape

    return unescape(text, {"&quot;": '"', "&apos;": "'", "&#34;": '"', "&#39;": "'"})
