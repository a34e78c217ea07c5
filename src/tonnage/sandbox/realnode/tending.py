"""A process beside the real nodes that keeps two promises: claims get folders, nodes announce their GPUs.

    python -m tonnage.sandbox.realnode.tending NAME

Level-triggered and on purpose without memory: look at everything, do what is due, sleep half a second, look
again. Each list is answered from the API server's own cache, so looking costs a few milliseconds a second,
and nothing that was missed once stays missed. The decisions are in `storage` and `labelling`; here they
meet the disk.
"""

from __future__ import annotations

import http.client
import shutil
import sys
import time
from pathlib import Path

from tonnage.sandbox import state
from tonnage.sandbox.api import ApiError
from tonnage.sandbox.realnode.booting import nodes_of
from tonnage.sandbox.realnode.labelling import REAL_NODE, announces_gpus, status_with_gpus
from tonnage.sandbox.realnode.storage import PROVISIONER, node_of, volumes_done, volumes_due

PERIOD_SECONDS = 0.5
_CACHED = "resourceVersion=0"


def main(name: str) -> None:
    """Tend the sandbox of this name until it is gone."""
    sandbox = state.load(name)
    while sandbox is not None and sandbox.places.state.exists():
        try:
            tend_volumes(sandbox)
            announce_gpus(sandbox)
        except (ApiError, OSError, http.client.HTTPException) as trouble:
            # The API server may be restarting; the next look finds whatever is still due.
            print(f"{type(trouble).__name__}: {trouble}", flush=True)
        time.sleep(PERIOD_SECONDS)


def tend_volumes(sandbox: state.Sandbox) -> None:
    """Make the folders and volumes that are due, and remove those that are done with."""
    api = sandbox.api
    listed = api.get(f"/apis/storage.k8s.io/v1/storageclasses?{_CACHED}")["items"]
    classes = {c["metadata"]["name"]: c for c in listed if c["provisioner"] == PROVISIONER}
    claims = api.get(f"/api/v1/persistentvolumeclaims?{_CACHED}")["items"]
    volumes = api.get(f"/api/v1/persistentvolumes?{_CACHED}")["items"]
    folders = {node.name: node.volumes for node in nodes_of(sandbox)}
    for volume in volumes_due(claims, volumes, classes):
        # A simulated node has no folder to make; its pods write nothing either.
        if (parent := folders.get(node_of(volume))) is not None:
            _make_folder(parent / volume["metadata"]["name"])
        api.create(volume)
    for volume in volumes_done(volumes):
        if (parent := folders.get(node_of(volume))) is not None:
            shutil.rmtree(parent / volume["metadata"]["name"], ignore_errors=True)
        api.delete(f"/api/v1/persistentvolumes/{volume['metadata']['name']}")


def announce_gpus(sandbox: state.Sandbox) -> None:
    """Have every real node announce its GPUs, also after its Node object was made anew."""
    gpus = sandbox.request.gpus_per_real_node
    if not gpus:
        return
    for node in sandbox.api.get(f"/api/v1/nodes?labelSelector={REAL_NODE}=true&{_CACHED}")["items"]:
        if not announces_gpus(node, gpus):
            sandbox.api.patch(f"/api/v1/nodes/{node['metadata']['name']}/status", status_with_gpus(gpus))


def _make_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # Any user a container runs as may write; the folder above is closed to the users of this machine.
    folder.chmod(0o777)


if __name__ == "__main__":
    main(sys.argv[1])
