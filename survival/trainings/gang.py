"""Two ranks train one model in plain Python: each takes half of every batch, and the gradients are added up.

By MPI where mpirun started them. Otherwise over a socket: rank 0 listens where MASTER_ADDR and MASTER_PORT (or
TF_CONFIG) say and adds in the order of ranks. The sum of two is the same either way, so losses and weights are the same
bit for bit however often the gang is killed. Variables as in `spirals.py`.
"""

import json
import os
import random
import socket
import struct
import time
from array import array

from tonnage_agent import sdk

STEPS, PAUSE = int(os.environ.get("STEPS", "200")), float(os.environ.get("PAUSE", "0.02"))


def communicator():
    """MPI's, where mpirun started this."""
    if "OMPI_COMM_WORLD_RANK" not in os.environ:
        return None
    from mpi4py import MPI

    return MPI.COMM_WORLD


def place_in_gang():
    """Rank, number of ranks, and where rank 0 listens: from TF_CONFIG where there is one, else as torch is told."""
    if COMM is not None:
        return COMM.rank, COMM.size, None
    if "TF_CONFIG" not in os.environ:
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        return rank, world, (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    told = json.loads(os.environ["TF_CONFIG"])
    hosts = [*told["cluster"].get("chief", []), *told["cluster"]["worker"]]
    task = told["task"]
    rank = int(task["index"]) + (len(told["cluster"].get("chief", [])) if task["type"] == "worker" else 0)
    name, _, port = hosts[0].rpartition(":")
    return rank, len(hosts), (name, int(port))


COMM = communicator()
RANK, WORLD, MASTER = place_in_gang()
SIZE, BATCH, RATE = 16, 32, 0.05

journal = os.open(os.environ["JOURNAL"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def note(**values):
    who = {"attempt": int(os.environ.get("TONNAGE_ATTEMPT", "0")), "pid": os.getpid(), "when": time.time()}
    os.write(journal, (json.dumps({**who, "rank": RANK, **values}) + "\n").encode())


def meet():
    """Sockets to the other ranks, in the order of ranks: rank 0 has all of them, the others have rank 0's."""
    if COMM is not None:
        return []
    if RANK:
        give_up = time.monotonic() + 300
        while True:
            try:
                peer = socket.create_connection(MASTER, timeout=60)
                peer.sendall(struct.pack("!i", RANK))
                return [peer]
            except OSError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.1)
    found = {}
    with socket.create_server(("", MASTER[1])) as door:
        door.settimeout(300)
        while len(found) < WORLD - 1:
            peer, _ = door.accept()
            found[struct.unpack("!i", receive(peer, 4))[0]] = peer
    return [found[rank] for rank in sorted(found)]


def receive(peer, count):
    parts = b""
    while len(parts) < count:
        got = peer.recv(count - len(parts))
        if not got:
            raise ConnectionResetError("Connection closed by peer: a rank is gone")
        parts += got
    return parts


def all_reduce(values):
    """The sum over all ranks, added in their order."""
    if COMM is not None:
        total = array("d", values)
        COMM.Allreduce(array("d", values), total)
        return list(total)
    form = f"!{len(values)}d"
    if RANK:
        peers[0].sendall(struct.pack(form, *values))
        return list(struct.unpack(form, receive(peers[0], 8 * len(values))))
    for peer in peers:
        values = [a + b for a, b in zip(values, struct.unpack(form, receive(peer, 8 * len(values))))]
    for peer in peers:
        peer.sendall(struct.pack(form, *values))
    return values


def train_step(step):
    """Least squares on points that only the step decides; this rank's share of them."""
    chance = random.Random(step)
    truth = random.Random(-1)
    wanted = [truth.uniform(-1, 1) for _ in range(SIZE)]
    slopes, total = [0.0] * SIZE, 0.0
    for index in range(BATCH):
        point = [chance.gauss(0, 1) for _ in range(SIZE)]
        if index % WORLD != RANK:
            continue
        miss = sum((w - t) * x for w, t, x in zip(weights, wanted, point))
        total += miss * miss
        for column in range(SIZE):
            slopes[column] += 2 * miss * point[column]
    *slopes, total = all_reduce([*slopes, total])
    for column in range(SIZE):
        weights[column] -= RATE * slopes[column] / BATCH
    return total / BATCH


run = sdk.attach()
saved = run.resume()
weights = json.loads((saved.folder / "weights.json").read_text()) if saved else [0.0] * SIZE
peers = meet()
assert all_reduce([float(run.next_step)]) == [float(WORLD * run.next_step)], (
    "ranks resumed from different steps"
)
note(begin=run.next_step)
loss = float("nan")  # a training killed after its last save has no step left to make
for step in run.steps(STEPS, save=lambda folder: (folder / "weights.json").write_text(json.dumps(weights))):
    loss = train_step(step)
    run.note(loss=loss)
    note(step=step, loss=loss.hex())
    time.sleep(PAUSE)
print(f"finished: loss {loss:.6f}")
