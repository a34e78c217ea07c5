"""A live cluster behind the cluster port: composition of client, reflectors and applier, and little else."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from typing import IO, Any

import msgspec

from tonnage import __version__
from tonnage.clock import Clock, SystemClock
from tonnage.cluster.port import Answer, Change, Permission, Target
from tonnage.cluster.snapshot import FORBIDDEN, NOT_INSTALLED, Gap, Snapshot
from tonnage.errors import ForbiddenError, Problem, TonnageError, UsageError
from tonnage.kube.assembling import assemble
from tonnage.kube.client import KubeClient
from tonnage.kube.decoding import Decoder, Page, RawPage, without_collecting
from tonnage.kube.failing import Asked, NotFoundError, NotInstalledError
from tonnage.kube.interning import Interner
from tonnage.kube.kinds import KINDS, Kind, find_kind
from tonnage.kube.saved import Header, Section, write_saved
from tonnage.kube.scrubbing import scrub
from tonnage.kube.watching import IDLE_SECONDS, Reflector, merged

PARALLEL_LISTS = 4


class KubeCluster:
    """A cluster reached through its API server."""

    def __init__(
        self,
        client: KubeClient,
        *,
        clock: Clock | None = None,
        target: Target | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self.client = client
        self._clock = clock or SystemClock()
        self._idle_seconds = idle_seconds
        self._target = target or Target("context", client.access.context, client.access.server)

    @property
    def target(self) -> Target:
        return self._target

    def observe(self, namespace: str = "") -> Snapshot:
        """Everything known now; what may not be read becomes a gap, unless nothing may."""
        snapshot, refusals = self.look(namespace)
        refuse_blindness(refusals, namespace)
        return snapshot

    def look(self, namespace: str = "") -> tuple[Snapshot, Mapping[str, TonnageError]]:
        """Whatever can be read, however little, and what was refused by resource."""
        taken_at = self._clock.now()
        version = self.client.server_version()
        # Made before the threads: msgspec crashes when two threads are the first to look at one type.
        decoders: list[Decoder[Any]] = [Decoder(kind.type, kind.full_name) for kind in KINDS]
        with without_collecting(), ThreadPoolExecutor(PARALLEL_LISTS) as pool:
            answers = list(
                pool.map(lambda kind, decoder: self._list(kind, decoder, namespace), KINDS, decoders)
            )
        found: dict[str, list[Any]] = {}
        gaps: list[Gap] = []
        refusals: dict[str, TonnageError] = {}
        for kind, (values, missing, refusal) in zip(KINDS, answers, strict=True):
            found.setdefault(kind.field, []).extend(values)
            gaps.extend(missing)
            if refusal is not None:
                refusals[kind.resource] = refusal
        snapshot = assemble(
            found,
            taken_at=taken_at,
            source=f"{self._target.kind} {self._target.name}",
            server_version=version,
            namespace=namespace,
            gaps=gaps,
        )
        return snapshot, refusals

    def save(self, file: IO[bytes], namespace: str = "") -> None:
        """Write everything a saved snapshot keeps to an open file."""
        gaps: list[Gap] = []
        header = Header(
            taken_at=self._clock.now().replace(microsecond=0),
            source=str(self._target),
            server_version=self.client.server_version(),
            namespace=namespace,
            written_by=f"tonnage {__version__}",
        )
        write_saved(file, header, self._sections(namespace, gaps), gaps)

    def follow(self, resources: Sequence[str], namespace: str = "") -> AsyncIterator[Change]:
        interner = Interner()
        reflectors = [
            Reflector[Any](
                self.client,
                _known(resource),
                namespace=namespace,
                interner=interner,
                idle_seconds=self._idle_seconds,
            )
            for resource in resources
        ]
        return merged([reflector.changes for reflector in reflectors])

    def fetch(self, resource: str, name: str, namespace: str = "") -> Mapping[str, Any] | None:
        kind = _known(resource)
        asked = Asked("get", kind.resource, kind.group, namespace, name)
        path = kind.path(namespace, version=self.client.version_of(kind), name=name)
        try:
            answer: dict[str, Any] = self.client.get_json(path, asked)
        except NotFoundError:
            return None
        return answer

    def apply(
        self, manifest: Mapping[str, Any], *, dry_run: bool = False, force: bool = False
    ) -> Mapping[str, Any]:
        from tonnage.kube.applying import Applier

        return Applier(self.client).apply(manifest, dry_run=dry_run, force=force)

    def may(self, permissions: Sequence[Permission]) -> Sequence[Answer]:
        with ThreadPoolExecutor(PARALLEL_LISTS) as pool:
            return list(pool.map(self.client.may, permissions))

    def _list(
        self, kind: Kind, decoder: Decoder[Any], namespace: str
    ) -> tuple[list[Any], list[Gap], TonnageError | None]:
        try:
            paging = self.client.list(kind, decoder.page, namespace)
        except (ForbiddenError, NotInstalledError) as error:
            return [], [gap_for(kind, error)], error
        return paging.items, paging.gaps, None

    def _sections(self, namespace: str, gaps: list[Gap]) -> Iterator[Section]:
        refusals: dict[str, TonnageError] = {}
        for kind in KINDS:
            try:
                # Pages wait (packed) until the list is whole: one that expires half way starts again.
                paging = self.client.list(kind, scrubbed_page, namespace)
            except (ForbiddenError, NotInstalledError) as error:
                gaps.append(gap_for(kind, error))
                refusals[kind.resource] = error
                refuse_blindness(refusals, namespace)
                continue
            version = kind.api_version(self.client.version_of(kind))
            yield Section(kind, version, map(zlib.decompress, paging.items))


def gap_for(kind: Kind, error: TonnageError) -> Gap:
    """What a snapshot says about a kind that could not be listed."""
    reason = FORBIDDEN if isinstance(error, ForbiddenError) else NOT_INSTALLED
    return Gap(resource=kind.full_name, reason=reason, message=error.problem.what)


def refuse_blindness(refusals: Mapping[str, TonnageError], namespace: str) -> None:
    """A snapshot with neither nodes nor pods answers nothing: say so instead of showing an empty cluster."""
    if "pods" in refusals and ("nodes" in refusals or namespace):
        raise refusals["pods"]


def scrubbed_page(body: bytes) -> Page[bytes]:
    """A page of a list as one packed piece of a saved snapshot, without secrets."""
    raw = msgspec.json.decode(body, type=RawPage)
    items = [msgspec.json.encode(scrub(msgspec.json.decode(item))) for item in raw.items or ()]
    return Page([zlib.compress(b",\n".join(items), level=1)] if items else [], raw.metadata)


def _known(resource: str) -> Kind:
    kind = find_kind(resource)
    if kind is None:
        near = get_close_matches(resource, [known.resource for known in KINDS], n=1)
        raise UsageError(
            Problem(
                code="KUBE-006",
                what=f"{resource!r} is not a resource that snapshots hold",
                hint=f"did you mean {near[0]!r}?" if near else None,
            )
        )
    return kind
