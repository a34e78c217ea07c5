"""The Team document: its namespace, what it is guaranteed, where its walls stand, what it may spend."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from tonnage.spec.budget import Budget
from tonnage.spec.fields import (
    Cpus,
    CpuShare,
    DnsName,
    Flag,
    GpuType,
    LabelKey,
    LabelValue,
    Line,
    Name,
    Size,
    SizeShare,
    Whole,
)
from tonnage.spec.literals import CountRange, LiteralError
from tonnage.spec.metadata import API_VERSION, Metadata
from tonnage.spec.parts import Part, ShortPart, unsaid

NotNegative = Annotated[Whole, Field(ge=0)]


class Member(ShortPart):
    """Who belongs to the team. Short form: the name of a user."""

    short: ClassVar[str] = "name"

    name: Line
    """User, group or service account as the cluster knows it."""

    kind: Literal["User", "Group", "ServiceAccount"] = "User"
    """What the name stands for."""

    role: Literal["owner", "editor", "viewer"] = "editor"
    """`owner` may change the team, `editor` may run, `viewer` may look."""


class GpuShare(Part):
    """GPUs of one type. Short form: `guaranteed..maximum`, such as `8..32`; one number is both."""

    guaranteed: NotNegative = 0
    """GPUs the team can always get back."""

    maximum: NotNegative | None = None
    """GPUs it may use while nobody else needs them; without it, as many as the cluster has."""

    @model_validator(mode="before")
    @classmethod
    def _from_range(cls, value: Any) -> Any:
        if isinstance(value, dict | cls) or value is None:
            return value
        try:
            both = CountRange.parse(value)
        except LiteralError as error:
            raise LiteralError(
                error.code, error.what, expected="guaranteed..maximum like 8..32, or 8"
            ) from None
        return {"guaranteed": both.low, "maximum": both.high}

    @model_serializer(mode="wrap")
    def _to_range(self, handler: SerializerFunctionWrapHandler) -> Any:
        if self.maximum is None or self.maximum < self.guaranteed:
            return handler(self)
        return self.maximum if self.guaranteed == self.maximum else f"{self.guaranteed}..{self.maximum}"


class Compute(Part):
    """Walls around what all pods of the team may ask for together: `requests..limits`."""

    cpu: CpuShare | None = None
    """Cores of all pods together: requests..limits."""

    memory: SizeShare | None = None
    """RAM of all pods together: requests..limits."""

    disk: SizeShare | None = None
    """Ephemeral storage of all pods together: requests..limits."""


class StorageClassWall(ShortPart):
    """Walls for one StorageClass. Short form: the total."""

    short: ClassVar[str] = "total"

    total: Size | None = None
    """Bytes claimed from this class."""

    claims: NotNegative | None = None
    """Claims of this class."""


class Storage(ShortPart):
    """Walls around persistent storage. Short form: the total."""

    short: ClassVar[str] = "total"

    total: Size | None = None
    """Bytes claimed by all PersistentVolumeClaims."""

    claims: NotNegative | None = None
    """Number of PersistentVolumeClaims."""

    classes: dict[DnsName, StorageClassWall] = Field(default_factory=dict)
    """Walls by StorageClass."""


class Objects(Part):
    """How many objects of each sort the namespace may hold."""

    pods: NotNegative | None = None
    """Pods that are not finished."""

    jobs: NotNegative | None = None
    """Jobs."""

    services: NotNegative | None = None
    """Services."""

    secrets: NotNegative | None = None
    """Secrets."""

    config_maps: NotNegative | None = None
    """ConfigMaps."""

    load_balancers: NotNegative | None = None
    """Services of type LoadBalancer."""

    other: dict[DnsName, NotNegative] = Field(default_factory=dict)
    """Any other sort by resource and group, such as `jobsets.jobset.x-k8s.io: 20`."""


class Amounts(Part):
    """An amount of each resource of a container."""

    cpu: Cpus | None = None
    """Cores."""

    memory: Size | None = None
    """RAM."""

    disk: Size | None = None
    """Ephemeral storage."""

    gpus: NotNegative | None = None
    """GPUs."""


class DefaultAmounts(Part):
    """What a container gets that asked for nothing: `request..limit`."""

    cpu: CpuShare | None = None
    """Cores, request..limit."""

    memory: SizeShare | None = None
    """RAM, request..limit."""

    disk: SizeShare | None = None
    """Ephemeral storage, request..limit."""


class ContainerBounds(Part):
    """Bounds of every single container."""

    default: DefaultAmounts = unsaid()
    """For a container that asked for nothing."""

    min: Amounts = unsaid()
    """No container may ask for less."""

    max: Amounts = unsaid()
    """No container may ask for more. A GPU maximum never becomes a default, as in a plain LimitRange."""


class ClaimBounds(Part):
    """Bounds of every single PersistentVolumeClaim."""

    default: Size | None = None
    """Size of claims that Tonnage makes; Kubernetes itself has no default for claims."""

    min: Size | None = None
    """No claim may be smaller."""

    max: Size | None = None
    """No claim may be larger."""


class PriorityClassUse(ShortPart):
    """A priority class the team may use. Short form: its name."""

    short: ClassVar[str] = "name"

    name: DnsName
    """Name of the PriorityClass; `critical`, `high`, `normal` and `low` are made when missing."""

    value: Annotated[Whole, Field(ge=-2_147_483_648, le=1_000_000_000)] | None = None
    """Rank, when the class is to be made; higher goes first."""

    preempts: Flag = True
    """Whether it may push out lower ones. It says nothing about being pushed out itself."""

    gpus: NotNegative | None = None
    """Most GPUs of the team that may run at this priority."""


class TeamSpec(Part):
    """Whose it is, what is guaranteed, where the walls stand, what may be spent."""

    namespace: Name | None = None
    """Namespace of the team; called like the team when not given."""

    members: tuple[Member, ...] = ()
    """Who belongs to it."""

    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels of the namespace and of everything made in it."""

    cost_centre: Line | None = None
    """Whom the bill goes to."""

    gpus: dict[GpuType, GpuShare] = Field(default_factory=dict)
    """GPUs by type, `guaranteed..maximum`: `h100: 8..32`; `any` stands for every type not named."""

    compute: Compute = unsaid()
    """Walls around cpu, memory and ephemeral storage."""

    storage: Storage = unsaid()
    """Walls around persistent storage."""

    objects: Objects = unsaid()
    """Walls around numbers of objects."""

    container: ContainerBounds = unsaid()
    """Default, minimum and maximum of every container."""

    claim: ClaimBounds = unsaid()
    """Default, minimum and maximum of every PersistentVolumeClaim."""

    priority_classes: tuple[PriorityClassUse, ...] = ()
    """Priority classes the team may use; every class when empty."""

    default_priority: DnsName | None = None
    """Class of runs that name none."""

    budget: Budget | None = None
    """What the team may spend."""


class Team(Part):
    """A team on a shared cluster."""

    api_version: Literal["tonnage.dev/v1alpha1"] = API_VERSION
    """`tonnage.dev/v1alpha1`."""

    kind: Literal["Team"] = "Team"
    """`Team`."""

    metadata: Metadata
    """Name, labels and annotations."""

    spec: TeamSpec = unsaid()
    """Guarantees, walls, defaults and budget."""
