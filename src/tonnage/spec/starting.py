"""Starter documents: short, commented, valid as they are, and honest about what is optional."""

from __future__ import annotations

from tonnage.spec.dumping import write_yaml

SCHEMA_LINE = "# yaml-language-server: $schema={path}\n"
DEFAULT_NAMES = {"run": "my-run", "team": "my-team", "cluster": "my-cluster"}


def starter_run(name: str, *, command: str, gpus: int | float | str, image: str | None) -> str:
    """A Run to fill in."""
    image_line = f"image: {_inline(image)}" if image else "# image: registry.example/team/train:1.0"
    return f"""\
# A training run. Lines that start with # are optional.
# `tonnage check` finds every mistake at once.
apiVersion: tonnage.dev/v1alpha1
kind: Run
metadata:
  name: {_inline(name)}
spec:
  # -- what runs; an image is required on a cluster, not on this machine
  {image_line}
  code: .                  # this folder, laid into the image: no build needed
  command: {_inline(command)}
  # env: {{EPOCHS: 3}}
  # secrets: {{HF_TOKEN: hf-token/token}}   # secret-name/key, never the value

  # -- how large; auto leaves it to Tonnage
  {f"gpus: {_inline(gpus)}":<24} # per node; also 8 x h100, 24GB..80GB, 0.5
  # nodes: 2
  memory: auto             # or 64Gi, or request..limit: 64Gi..128Gi
  # cpu: auto
  # shm: auto              # /dev/shm, counts as memory
  # disk: auto

  # -- what must not be lost; without it, a death costs all the work so far
  # checkpoints: pvc/ckpt  # or s3://bucket/prefix; the last 3 are kept
  # output: s3://bucket/models
  # data: [s3://bucket/corpus]

  # -- policies
  # team: research
  # spot: true             # cheap nodes that can be taken back
  # budget: $400/week
  # deadline: 2d
  # onOOM: raise           # out of memory: come back with more
"""


def starter_team(name: str) -> str:
    """A Team to fill in."""
    return f"""\
# A team on a shared cluster. Lines that start with # are optional.
apiVersion: tonnage.dev/v1alpha1
kind: Team
metadata:
  name: {_inline(name)}
spec:
  # namespace: ml-{name}     # called like the team when not given
  # costCentre: rd-001
  # members: [alice@example.com, {{name: oncall, kind: Group, role: owner}}]
  gpus:
    any: 8..32                 # guaranteed..maximum; h100: 8..32 by type
  # compute: {{cpu: 256..512, memory: 1Ti..2Ti}}     # all requests..all limits
  # storage: {{total: 20Ti, claims: 20}}
  # container:
  #   default: {{cpu: 1..2, memory: 4Gi..8Gi}}       # if not asked
  #   max: {{memory: 512Gi, gpus: 8}}
  # claim: {{min: 1Gi, max: 2Ti}}
  # priorityClasses: [high, normal, low]
  # defaultPriority: normal
  # budget: $12,000/month
"""


def starter_cluster(name: str) -> str:
    """A Cluster to fill in."""
    return f"""\
# A cluster to plan on without having it at hand: wherever a cluster is asked
# for, `--on` takes this file.
apiVersion: tonnage.dev/v1alpha1
kind: Cluster
metadata:
  name: {_inline(name)}
spec:
  # timezone: Europe/Berlin
  pools:
    - name: h100
      nodes: 4
      gpus: 8 x h100           # cpu, memory, disk: what usually comes with them
      # price: $98/hour        # per node; {{gpu: $3..5/hour}} is per GPU
      # capacityType: spot
      # autoscale: 0..8
      # zones: [eu-west-1a, eu-west-1b]
      # schedules: [{{days: mon-fri, hours: '07:00..20:00', nodes: 8}}]
    - name: cpu
      nodes: 2
      cpu: 64
      memory: 256Gi
"""


def _inline(value: object) -> str:
    """One value as it stands after `name: `."""
    return write_yaml({"value": value}).removeprefix("value:").strip()
