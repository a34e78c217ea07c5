"""An API server's answers, scripted: what real servers say rarely and at the worst moment."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2

from tonnage.clock import ManualClock
from tonnage.kube.client import KubeClient
from tonnage.kube.kubeconfig import Access, Login

ACCESS = Access(context="test", server="https://cluster.test", login=Login(token="t"))


class Script:
    """Answers requests in order; remembers what was asked. The last answer repeats."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            answer = answer(request)
        return answer

    def params(self, index: int) -> dict[str, str]:
        return dict(self.asked[index].url.params)


def client_of(
    script: Callable[[httpx2.Request], httpx2.Response], clock: ManualClock | None = None
) -> KubeClient:
    """A client whose wire is the script, for calls and watches alike; waits take no time."""
    import datetime as dt

    return KubeClient(
        ACCESS,
        transport=httpx2.MockTransport(script),
        async_transport=lambda: httpx2.MockTransport(script),
        clock=clock or ManualClock(dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
        chance=random.Random(1),
    )


def page(names: list[str], *, version: str = "10", more: str = "") -> httpx2.Response:
    """A page of pods."""
    body = {
        "metadata": {"resourceVersion": version, "continue": more},
        "items": [pod(name) for name in names],
    }
    return httpx2.Response(200, json=body)


def pod(name: str, version: str = "5", **more: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": version}
    return {
        "metadata": meta,
        "spec": {"containers": [{"name": "main"}]},
        "status": {"phase": "Running"},
        **more,
    }


def failure(code: int, reason: str = "", message: str = "", **details: Any) -> httpx2.Response:
    """A Status as the API server writes it."""
    body = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
    return httpx2.Response(code, json={**body, "details": details})


def line(kind: str, body: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


def gone() -> bytes:
    return line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})


class Stream(httpx2.AsyncByteStream):
    """A watch that sends chunks, then ends, breaks, or falls silent."""

    def __init__(self, *chunks: bytes | Exception) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


def watch(*chunks: bytes | Exception) -> Callable[[httpx2.Request], httpx2.Response]:
    return lambda _: httpx2.Response(200, stream=Stream(*chunks))
