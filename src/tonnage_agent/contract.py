"""What the agent, the SDK and whoever launches them have agreed on: names of variables, files and events.

Three parties meet here and none imports the others: the launcher (this machine or a manifest) sets variables, the
agent wraps the command and keeps the record, the SDK inside the training script tells progress and keeps
checkpoints. Everything is optional for everybody: a script without the SDK still has an agent, a script without an
agent still has checkpoints.

    launcher --variables--> agent --variables--> training script (SDK)
                              ^------datagrams-------'
                              '--record--> beside the checkpoints, and the termination message

Datagrams are JSON objects of at most 8 KiB on a UNIX socket named by TONNAGE_SOCKET; each has `event` and `when`:

    step        step, total?, loss?, seconds?, data?, collective?, rank?   seconds waited for data and collectives
    phase       name, state: begin|end, rank?                              load, preprocess, step, checkpoint, eval, ...
    checkpoint  step, path, seconds, bytes                                 it is whole: hashed, in place
    resumed     step, path                                                 -1 when it began anew
    skipped     path, why                                                  torn or corrupt, passed over on resume
    message     text

The way back is a small file named by TONNAGE_CONTROL, replaced atomically and polled by the SDK (one `stat` a step):

    {"save": n, "stop": reason}      save once when n has grown; save and end when a reason is given

Reasons: `deadline`, `budget`, `terminated`, `probe`. An absent file or name means: nothing asked.

The record is one JSON object (see `record.py`), camelCase, absent where unknown, kept current *before* death: the
agent may be killed in the same instant as the trainer. Places of record:

    $TONNAGE_RECORD/attempt-N/node-I/record.json     replaced atomically
    $TONNAGE_RECORD/attempt-N/node-I/samples.jsonl   appended
    $TONNAGE_TERMINATION_MESSAGE                     at most 4,096 bytes of the same, most important first
"""

from __future__ import annotations

RUN = "TONNAGE_RUN"
ATTEMPT = "TONNAGE_ATTEMPT"
NODE = "TONNAGE_NODE"
"""Index of this pod in the gang, from 0; else JOB_COMPLETION_INDEX."""
NODES = "TONNAGE_NODES"
RECORD = "TONNAGE_RECORD"
"""Folder (or s3:// place) of the black box; beside the checkpoints, so that it outlives the pod."""
TERMINATION_MESSAGE = "TONNAGE_TERMINATION_MESSAGE"
SOCKET = "TONNAGE_SOCKET"
CONTROL = "TONNAGE_CONTROL"
"""File in which the agent asks the script to save or to stop."""
SAMPLE_SECONDS = "TONNAGE_SAMPLE_SECONDS"
"""Seconds between two samples; 1 where not said, a fifth of it while memory is near its limit."""
STEP_PATTERN = "TONNAGE_STEP_PATTERN"
"""Regular expression of log lines that tell a step, with groups `step`, and perhaps `total` and `loss`."""
ASKED = "TONNAGE_ASKED"
"""File in which whoever keeps the run alive asks the agent, replaced atomically: {"save": n, "memoryLimit": bytes}."""
MEMORY_LIMIT = "TONNAGE_MEMORY_LIMIT"
"""Bytes. No cgroup holds the command to a limit: the agent adds up its processes and ends the largest above this."""
METRICS_PORT = "TONNAGE_METRICS_PORT"
"""Port of the Prometheus metrics; 0 or absent: none."""

CHECKPOINTS = "TONNAGE_CHECKPOINTS"
"""Folder or s3://bucket/prefix where the SDK keeps checkpoints."""
CHECKPOINT_EVERY = "TONNAGE_CHECKPOINT_EVERY"
"""Seconds between checkpoints, or `auto`."""
CHECKPOINT_KEEP = "TONNAGE_CHECKPOINT_KEEP"
CHECKPOINT_VERIFY = "TONNAGE_CHECKPOINT_VERIFY"
FAILURE_SECONDS = "TONNAGE_FAILURE_SECONDS"
"""Mean seconds between interruptions of the whole gang: what `auto` weighs the save time against."""
GRACE_SECONDS = "TONNAGE_GRACE_SECONDS"
"""From SIGTERM to SIGKILL; the agent keeps two seconds (or a tenth) of it for itself."""

DEADLINE = "TONNAGE_DEADLINE"
"""Seconds since 1970 at which the run must have ended."""
SECONDS_LEFT = "TONNAGE_SECONDS_LEFT"
"""The same counted from the agent's own start: a pod may wait for its node for days after it was made."""
PRICE_PER_HOUR = "TONNAGE_PRICE_PER_HOUR"
"""Micro-dollars per hour of the whole gang."""
BUDGET = "TONNAGE_BUDGET"
"""Micro-dollars the run may cost in all."""
SPENT = "TONNAGE_SPENT"
"""Micro-dollars spent by earlier attempts."""

PEERS = "TONNAGE_PEERS"
"""Names or addresses of all pods of the gang in order of their index, comma-separated, as `host:port`."""
PEERS_SECONDS = "TONNAGE_PEERS_SECONDS"
"""How long to wait for all peers before naming the missing one."""
LINK_BYTES_PER_SECOND = "TONNAGE_LINK_BYTES_PER_SECOND"
"""What the plan assumed between two nodes."""

MICRO_BATCH = "TONNAGE_MICRO_BATCH"
ACCUMULATION = "TONNAGE_ACCUMULATION"
PROBE_STEPS = "TONNAGE_PROBE_STEPS"
"""After this many steps the SDK saves once and ends the script (`run --probe`); a script that only prints its steps
is ended by the agent."""
PROBE_OVER = "the probe is over"
"""In the record's message, where it is."""

LEFT_RUNNING = "it left"
"""Begins the record's message about processes that the command left behind, which are ended with it."""

# Ends that are the agent's own doing; chosen outside what shells, Python and launchers use.
EXIT_PREFLIGHT = 80
EXIT_DEADLINE = 81
EXIT_BUDGET = 82
EXIT_AGENT = 83
"""A setting of the agent's own cannot be read; nothing was started."""

RECORD_FILE = "record.json"
SAMPLES_FILE = "samples.jsonl"
MESSAGE_LIMIT = 4096


def attempt_folder(attempt: int, node: int) -> str:
    """Where under the record's place one pod of one attempt writes.

    >>> attempt_folder(2, 0)
    'attempt-2/node-0'
    """
    return f"attempt-{attempt}/node-{node}"
