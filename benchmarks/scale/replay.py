"""An API server's reading side, replayed: list with pages, watch with changes, nothing else.

It runs in a process of its own so that its memory and CPU do not count. Objects are written from templates
when asked for, never kept. Resource versions are this machine's monotonic clock in nanoseconds: they grow
as versions must, and a reader on the same machine sees from them how late a change arrived. `/control/...`
starts changes, forces a relist and tells a checksum of what exists, so that a reader can prove that it
missed nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
import zlib
from urllib.parse import parse_qs, urlsplit

from benchmarks.scale.templates import node_template, node_values, pod_template, pod_values, uid_of

TICK_SECONDS = 0.01
REPLACED_SHARE = 0.05
"""Of changes: so many are pods that end, with a new pod in their place."""


class World:
    """What exists: for each place a pod's life, version and restarts."""

    def __init__(self, nodes: int, pods: int, seed: int = 7) -> None:
        self.num_nodes, self.num_pods = nodes, pods
        self.start = time.monotonic_ns()
        self.last = self.start
        self.lives = [0] * pods
        self.versions = [self.start] * pods
        self.restarts = [0] * pods
        self.sent = 0
        self._chance = random.Random(seed)
        self._pod, self._node = pod_template(), node_template()

    def pod(self, index: int) -> bytes:
        return self._pod.fill(
            pod_values(index, self.lives[index], self.versions[index], self.restarts[index])
        )

    def node(self, index: int) -> bytes:
        return self._node.fill(node_values(index, self.start))

    def change(self) -> bytes:
        """One change as the lines of a watch: a restart, or an end and a beginning."""
        index = self._chance.randrange(self.num_pods)
        self.sent += 1
        if self._chance.random() >= REPLACED_SHARE:
            self.restarts[index] += 1
            self._touch(index)
            return b'{"type":"MODIFIED","object":%s}\n' % self.pod(index)
        self._touch(index)
        gone = b'{"type":"DELETED","object":%s}\n' % self.pod(index)
        self.lives[index] += 1
        self.restarts[index] = 0
        self._touch(index)
        return gone + b'{"type":"ADDED","object":%s}\n' % self.pod(index)

    def digest(self) -> int:
        """A checksum of every pod that exists with its version, in any order."""
        total = 0
        for index in range(self.num_pods):
            total ^= zlib.crc32(f"{uid_of('pod', index, self.lives[index])}{self.versions[index]}".encode())
        return total

    def _touch(self, index: int) -> None:
        self.last = max(self.last + 1, time.monotonic_ns())
        self.versions[index] = self.last


class Server:
    """HTTP enough for a Kubernetes reader."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.watchers: set[asyncio.StreamWriter] = set()
        self.task: asyncio.Task[None] | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                url = urlsplit(head.split(b" ", 2)[1].decode())
                query = {name: values[0] for name, values in parse_qs(url.query).items()}
                if query.get("watch") == "true":
                    await self._watch(url.path, query, writer)
                else:
                    _answer(writer, await self._get(url.path, query))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.watchers.discard(writer)
            writer.close()

    async def _get(self, path: str, query: dict[str, str]) -> bytes:
        if path == "/version":
            return b'{"gitVersion":"v1.36.4"}'
        if path == "/apis":
            return b'{"kind":"APIGroupList","groups":[]}'
        if path == "/control/start":
            self.task = asyncio.create_task(self._changes(float(query["rate"]), float(query["seconds"])))
            return b"{}"
        if path == "/control/forget":
            for writer in self.watchers:
                _chunk(writer, b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n')
            return b"{}"
        if path == "/control/state":
            is_done = self.task is not None and self.task.done()
            state = {"sent": self.world.sent, "done": is_done}
            if query.get("digest"):
                state["digest"] = self.world.digest()
            return json.dumps(state).encode()
        return self._page(path, query)

    def _page(self, path: str, query: dict[str, str]) -> bytes:
        is_pods = path.endswith("/pods")
        count = self.world.num_pods if is_pods else self.world.num_nodes
        start, version = map(int, query.get("continue", f"0-{self.world.last}").split("-"))
        end = min(count, start + int(query.get("limit", count)))
        make = self.world.pod if is_pods else self.world.node
        items = b",".join(make(index) for index in range(start, end))
        follow = f',"continue":"{end}-{version}"' if end < count else ""
        return b'{"kind":"List","metadata":{"resourceVersion":"%d"%s},"items":[%s]}' % (
            version,
            follow.encode(),
            items,
        )

    async def _watch(self, path: str, query: dict[str, str], writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        if path.endswith("/pods"):
            if int(query["resourceVersion"]) < self.world.last:
                _chunk(writer, b'{"type":"ERROR","object":{"kind":"Status","code":410}}\n')
            self.watchers.add(writer)

    async def _changes(self, rate: float, seconds: float) -> None:
        """Send changes at a rate, catching up after a late tick."""
        began, total = time.monotonic(), int(rate * seconds)
        done = 0
        while done < total:
            due = min(total, int((time.monotonic() - began) * rate))
            lines = b"".join(self.world.change() for _ in range(due - done))
            done = due
            if lines:
                for writer in self.watchers:
                    _chunk(writer, lines)
                await asyncio.gather(*(writer.drain() for writer in self.watchers))
            await asyncio.sleep(TICK_SECONDS)


def _answer(writer: asyncio.StreamWriter, body: bytes) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))


async def main(nodes: int, pods: int) -> None:
    """Serve until killed; the port is the first line on stdout."""
    server = Server(World(nodes, pods))
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    print(listener.sockets[0].getsockname()[1], flush=True)
    async with listener:
        await listener.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--pods", type=int, required=True)
    options = parser.parse_args()
    asyncio.run(main(options.nodes, options.pods))
