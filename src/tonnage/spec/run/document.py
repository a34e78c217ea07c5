"""The Run document: one page that says what to run, how large, and under which policies."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from tonnage.spec.budget import Budget
from tonnage.spec.fields import (
    Command,
    CountRange,
    CpuShare,
    DnsName,
    Duration,
    EnvName,
    Flag,
    Gpus,
    LabelKey,
    LabelValue,
    Name,
    SecretKey,
    SizeShare,
    Text,
    Whole,
)
from tonnage.spec.literals import CountRange as CountRangeValue
from tonnage.spec.literals import CpuShare as CpuShareValue
from tonnage.spec.literals import Duration as DurationValue
from tonnage.spec.literals import Gpus as GpusValue
from tonnage.spec.literals import SizeShare as SizeShareValue
from tonnage.spec.metadata import API_VERSION, Metadata
from tonnage.spec.parts import Part, unsaid
from tonnage.spec.run.policies import Idle, Network, OnForecast, OnOom, Retries, Spot
from tonnage.spec.run.storage import Checkpoints, Code, Data, Output, Volume
from tonnage.spec.run.training import Model, Train
from tonnage.spec.scalars import forgetting_how

FRAMEWORKS = Literal["auto", "torch", "tensorflow", "jax", "deepspeed", "horovod", "mpi", "xgboost", "other"]
TARGETS = Literal["auto", "Job", "IndexedJob", "JobSet", "TrainJob", "PyTorchJob", "TFJob", "MPIJob", "local"]


class RunSpec(Part):
    """What to run, how large, what it is, and the policies that keep it alive."""

    # -- whose it is
    team: Name | None = None
    """Team that owns the run: its namespace, walls, defaults and budget apply."""

    queue: DnsName | None = None
    """Kueue LocalQueue to wait in; the team's when not given."""

    priority: DnsName = "normal"
    """`critical`, `high`, `normal`, `low`, or a PriorityClass. Critical and high runs are Guaranteed."""

    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels put on every object and pod that the run creates."""

    # -- what runs
    image: Text | None = None
    """Container image; required on a cluster, not needed on this machine."""

    code: Code | None = None
    """Working folder laid into the image, without building one."""

    command: Command | None = None
    """What to run: a line or a list of words. `{microBatch}` and `{accumulation}` are filled in."""

    env: dict[EnvName, Text] = Field(default_factory=dict)
    """Environment variables. Secrets go under `secrets`."""

    secrets: dict[EnvName, SecretKey] = Field(default_factory=dict)
    """Environment variables from Kubernetes Secrets: `HF_TOKEN: secret-name/key`. Never a value."""

    service_account: DnsName | None = None
    """ServiceAccount of the pods; the namespace's default when not given."""

    image_pull_secrets: tuple[DnsName, ...] = ()
    """Secrets that log in to the image registry."""

    framework: FRAMEWORKS = "auto"
    """Training framework; decides how ranks find each other."""

    target: TARGETS = "auto"
    """Kubernetes object to create: a Job for one pod, a JobSet or Indexed Job for several, unless named."""

    # -- how large
    nodes: CountRange = CountRangeValue(1, 1)
    """Number of nodes, or a range within which the run may grow and shrink."""

    gpus: Gpus = GpusValue(0)
    """GPUs per node: `8`, `8 x h100`, a memory range `24GB..80GB`, or part of one, `0.5`."""

    processes_per_node: Annotated[Whole, Field(ge=1)] | None = None
    """Ranks per node; one per GPU when not given."""

    cpu: CpuShare = CpuShareValue()
    """Cores per node: `auto`, a number, or `request..limit`."""

    memory: SizeShare = SizeShareValue()
    """RAM per node: `auto`, a size, or `request..limit`. One size means request = limit."""

    shm: SizeShare = SizeShareValue()
    """/dev/shm per node; it counts as memory. `auto` is sized from ranks, loader workers and batches."""

    disk: SizeShare = SizeShareValue()
    """Ephemeral storage per node: caches, logs, scratch."""

    # -- what it is
    model: Model | None = None
    """The model, for exact or estimated memory and time."""

    train: Train = unsaid()
    """The training step."""

    # -- its bytes
    data: tuple[Data, ...] = ()
    """Datasets to read."""

    volumes: tuple[Volume, ...] = ()
    """Anything else to mount."""

    checkpoints: Checkpoints | None = None
    """Where progress is kept; a run that may last over an hour should have it."""

    output: Output | None = None
    """Where results go."""

    # -- policies
    spot: Spot = unsaid()
    """Whether capacity that can be taken back will do."""

    retries: Retries = unsaid()
    """How often each cause of death is forgiven."""

    on_oom: OnOom = unsaid()
    """The remedy for running out of memory."""

    on_forecast: OnForecast = unsaid()
    """What to do when memory is seen to run out."""

    budget: Budget | None = None
    """Most this run may cost."""

    idle: Idle = unsaid()
    """What to do with GPUs that are held and not used."""

    deadline: Duration | None = None
    """Longest time it may run, all attempts together."""

    max_wait: Duration | None = None
    """Longest time to wait for a start; then it is suspended, holding nothing, and its owner is told."""

    keep: Duration = DurationValue(7 * 86_400_000)
    """How long finished objects, with their logs and evidence, are kept."""

    network: Network = unsaid()
    """Who may talk to the ranks."""

    i_accept_losing_work: Flag = False
    """Run without checkpoints, or with checkpoints that die with the pod, although work can be lost."""

    pod_template: Annotated[dict[str, Any], AfterValidator(forgetting_how)] = Field(default_factory=dict)
    """Strategic-merge patch of the pod (`metadata`, `spec`), applied last: for whatever has no field here."""


class Run(Part):
    """A training run."""

    api_version: Literal["tonnage.dev/v1alpha1"] = API_VERSION
    """`tonnage.dev/v1alpha1`."""

    kind: Literal["Run"] = "Run"
    """`Run`."""

    metadata: Metadata
    """Name, namespace, labels and annotations."""

    spec: RunSpec = unsaid()
    """What to run and how."""
