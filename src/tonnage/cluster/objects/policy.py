"""What an admin sets: namespaces, quotas, limit ranges, priority classes, disruption budgets."""

from __future__ import annotations

from tonnage.cluster.objects.meta import Condition, LabelSelector, Meta, Value
from tonnage.cluster.objects.pod import ResourceList


class NamespaceStatus(Value, frozen=True):
    phase: str = ""


class Namespace(Value, frozen=True):
    metadata: Meta = Meta()
    status: NamespaceStatus = NamespaceStatus()


class ScopeRequirement(Value, frozen=True):
    scope_name: str
    operator: str
    values: tuple[str, ...] = ()


class ScopeSelector(Value, frozen=True):
    match_expressions: tuple[ScopeRequirement, ...] = ()


class QuotaSpec(Value, frozen=True):
    hard: ResourceList = {}
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None


class QuotaStatus(Value, frozen=True):
    hard: ResourceList = {}
    used: ResourceList = {}


class ResourceQuota(Value, frozen=True):
    metadata: Meta = Meta()
    spec: QuotaSpec = QuotaSpec()
    status: QuotaStatus = QuotaStatus()


class LimitRangeItem(Value, frozen=True):
    """One wall of a LimitRange; `type` is Container, Pod or PersistentVolumeClaim."""

    type: str
    max: ResourceList = {}
    min: ResourceList = {}
    default: ResourceList = {}
    default_request: ResourceList = {}
    max_limit_request_ratio: ResourceList = {}


class LimitRangeSpec(Value, frozen=True):
    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(Value, frozen=True):
    metadata: Meta = Meta()
    spec: LimitRangeSpec = LimitRangeSpec()


class PriorityClass(Value, frozen=True):
    metadata: Meta = Meta()
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


class BudgetSpec(Value, frozen=True):
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class BudgetStatus(Value, frozen=True):
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    disrupted_pods: dict[str, str] = {}


class PodDisruptionBudget(Value, frozen=True):
    metadata: Meta = Meta()
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()
