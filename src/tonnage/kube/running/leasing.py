"""One holder per run, whichever machine it sits on: a Lease `tonnage-RUN` beside the lock of this machine.

The holder is a machine's store, not a process: when a supervisor dies, the next one on the same machine (which has
the lock) goes on at once; one on another machine waits until the Lease has expired. Where Leases may not be written
the run goes on without one, and says so.
"""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

from tonnage.errors import ForbiddenError, RefusedError
from tonnage.kube.running.api import Object, Ref, RunApi
from tonnage.kube.running.reading import moment
from tonnage.planning.workload.template import RUN_LABEL

API = "coordination.k8s.io/v1"
SECONDS = 45
RENEW_SECONDS = 10.0
"""Four renewals may fail before somebody else may take it."""


class RunLease:
    """The Lease of one run, for one holder."""

    def __init__(self, api: RunApi, run: str, identity: str) -> None:
        self._api, self._run, self._identity = api, run, identity
        self._renewed = -RENEW_SECONDS
        self.note = ""

    @property
    def ref(self) -> Ref:
        return Ref(API, "Lease", lease_name(self._run))

    def hold(self) -> str:
        """Take or renew it; who else holds it, empty where we do."""
        if self.note or time.monotonic() - self._renewed < RENEW_SECONDS:
            return ""
        try:
            other = self._take()
        except ForbiddenError as error:
            self.note = f"no Lease ({error.problem.what}): another machine could take it up as well"
            return ""
        if not other:
            self._renewed = time.monotonic()
        return other

    def let_go(self) -> None:
        """Nobody needs to hold it any more."""
        self._renewed = -RENEW_SECONDS
        found = None if self.note else self._api.get(self.ref)
        if found is not None and holder_of(found) == self._identity:
            self._api.delete(self.ref)

    def _take(self) -> str:
        found = self._api.get(self.ref)
        now = dt.datetime.now(dt.UTC)
        if found is None:
            self._api.create(self._lease(now))
            return ""
        holder = holder_of(found)
        if holder not in ("", self._identity) and not is_expired(found, now):
            return holder
        try:
            # Its version goes along: of two who find it expired, the second is refused.
            self._api.replace(self._lease(now, found))
        except RefusedError as error:
            if error.problem.code != "KUBE-060":
                raise
            return holder_of(self._api.get(self.ref) or found) or "somebody else"
        return ""

    def _lease(self, now: dt.datetime, found: Object | None = None) -> Object:
        written = now.isoformat(timespec="microseconds").replace("+00:00", "Z")
        before: dict[str, Any] = (found or {}).get("spec") or {}
        is_ours = before.get("holderIdentity") == self._identity
        spec = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": SECONDS,
            "renewTime": written,
            "acquireTime": before.get("acquireTime", written) if is_ours else written,
            "leaseTransitions": int(before.get("leaseTransitions") or 0)
            + (0 if is_ours or not before else 1),
        }
        meta: dict[str, Any] = {
            "name": self.ref.name,
            "namespace": self._api.namespace,
            "labels": {RUN_LABEL: self._run, "app.kubernetes.io/managed-by": "tonnage"},
        }
        if found is not None:
            meta["resourceVersion"] = found["metadata"]["resourceVersion"]
        return {"apiVersion": API, "kind": "Lease", "metadata": meta, "spec": spec}


def lease_name(run: str) -> str:
    return f"tonnage-{run}"


def holder_of(lease: Object) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")


def is_expired(lease: Object, now: dt.datetime) -> bool:
    """Whether its holder has not been heard of for as long as it said."""
    spec = lease.get("spec") or {}
    renewed = moment(spec.get("renewTime"))
    return renewed is None or (now - renewed).total_seconds() > float(
        spec.get("leaseDurationSeconds") or SECONDS
    )


def keeper_of(api: RunApi, run: str, now: dt.datetime) -> str:
    """Who keeps a run alive now; empty where nobody does."""
    lease = api.get(Ref(API, "Lease", lease_name(run)))
    return "" if lease is None or is_expired(lease, now) else holder_of(lease)
