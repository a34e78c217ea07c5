"""Files into a bucket: small ones in one request, big ones in parts, four at a time.

The file is read once, front to back, for the hash of the whole; each part is hashed and signed by itself, so the
server refuses a part that changed on the way. At most four parts are in memory at once over all files.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tonnage_agent.keeper.failing import PlaceError
from tonnage_agent.keeper.s3.sending import Answer, Sender

PART = 16 * 1024 * 1024
_MOST_PARTS = 10_000
_AT_ONCE = 4


class Uploads:
    """Uploads in parts of one bucket, and the room they share."""

    def __init__(self, sender: Sender) -> None:
        self.sender = sender
        self.room = threading.BoundedSemaphore(_AT_ONCE)

    def begin(self, key: str) -> str:
        answer = _fine(self.sender.send("POST", key, query=[("uploads", "")]), key)
        found = re.search(rb"<UploadId>([^<]+)</UploadId>", answer.body)
        if found is None:
            raise PlaceError(f"{key} could not be written: the server named no upload")
        return found[1].decode()

    def part(self, key: str, upload_id: str, number: int, content: bytes) -> str:
        query = [("partNumber", str(number)), ("uploadId", upload_id)]
        return _fine(self.sender.send("PUT", key, query=query, body=content), key).headers.get("etag", "")

    def complete(self, key: str, upload_id: str, etags: list[str], size: int) -> None:
        parts = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"
            for number, etag in enumerate(etags, 1)
        )
        body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
        answer = self.sender.send("POST", key, query=[("uploadId", upload_id)], body=body)
        if answer.is_fine and b"<Error>" not in answer.body:
            return
        # The answer to a first try may have been lost on the way: then the upload is gone and the file is there.
        found = self.sender.send("HEAD", key)
        if not found.is_fine or int(found.headers.get("content-length", "-1")) != size:
            raise PlaceError(
                f"{key} could not be put together: {answer.status} {answer.code} {answer.message}"
            )

    def abort(self, key: str, upload_id: str) -> None:
        self.sender.send("DELETE", key, query=[("uploadId", upload_id)])

    def unfinished(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Key and id of every upload in parts that was begun and not ended; the first thousand are enough."""
        answer = self.sender.send("GET", "", query=[("uploads", ""), ("prefix", prefix)])
        if answer.is_fine:
            for block in re.findall(rb"<Upload>(.*?)</Upload>", answer.body, re.DOTALL):
                key = re.search(rb"<Key>([^<]+)</Key>", block)
                upload_id = re.search(rb"<UploadId>([^<]+)</UploadId>", block)
                if key and upload_id:
                    yield key[1].decode(), upload_id[1].decode()


def upload(uploads: Uploads, key: str, path: Path) -> tuple[int, str]:
    """Send a file; its size and SHA-256 as sent."""
    size = path.stat().st_size
    if size <= PART:
        with uploads.room:
            content = path.read_bytes()
            _fine(uploads.sender.send("PUT", key, body=content), key)
        return len(content), hashlib.sha256(content).hexdigest()
    return _upload_in_parts(uploads, key, path, part_size(size))


def part_size(size: int) -> int:
    """Bytes per part: as few as memory likes, as many as S3's limit on parts needs.

    >>> part_size(10 ** 9) // 2 ** 20, part_size(10 ** 12) // 2 ** 20
    (16, 96)
    """
    needed = -(-size // _MOST_PARTS)
    return max(PART, -(-needed // 2**20) * 2**20)


def _upload_in_parts(uploads: Uploads, key: str, path: Path, each: int) -> tuple[int, str]:
    upload_id = uploads.begin(key)
    digest, size = hashlib.sha256(), 0
    sent: list[Future[str]] = []

    def send(number: int, content: bytes) -> str:
        try:
            return uploads.part(key, upload_id, number, content)
        finally:
            uploads.room.release()

    try:
        with path.open("rb", buffering=0) as file, ThreadPoolExecutor(_AT_ONCE) as pool:
            while True:
                uploads.room.acquire()
                content = _read_part(file, each)
                if not content or any(done.done() and done.exception() for done in sent):
                    uploads.room.release()
                    break
                digest.update(content)
                size += len(content)
                sent.append(pool.submit(send, len(sent) + 1, content))
        uploads.complete(key, upload_id, [done.result() for done in sent], size)
    except BaseException:
        uploads.abort(key, upload_id)
        raise
    return size, digest.hexdigest()


def _read_part(file, each: int) -> bytes:  # type: ignore[no-untyped-def]
    """So many bytes, fewer only at the end."""
    pieces, missing = [], each
    while missing and (piece := file.read(missing)):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def _fine(answer: Answer, key: str) -> Answer:
    if not answer.is_fine:
        from tonnage_agent.keeper.s3.client import refused

        raise refused(answer, key, "written")
    return answer
