"""Training operator v1: PyTorchJob, TFJob, MPIJob (v1), XGBoostJob, PaddleJob and JAXJob.

It looks for its certificate below `/tmp` by a name fixed in its code, so it gets a `/tmp` of its own.
It takes no listening address for webhooks: that one port listens on every interface of this machine.
Kueue's MPIJob integration knows only v2beta1, which this operator does not serve, so it is not listed.
"""

from __future__ import annotations

from tonnage.sandbox.controllers.controller import Controller, Place


def _arguments(place: Place) -> list[str]:
    return [
        f"--kubeconfig=/tmp/{place.kubeconfig.name}",
        f"--webhook-server-port={place.webhook_port}",
        f"--health-probe-bind-address=127.0.0.1:{place.health_port}",
        f"--metrics-bind-address=127.0.0.1:{place.metrics_port}",
        "--kube-api-qps=100",
        "--kube-api-burst=200",
        "--mpi-kubectl-delivery-image=local/kubectl:1",  # real nodes have it, and no registry is reached
    ]


TRAINING_OPERATOR = Controller(
    name="training-operator",
    title="Training operator v1",
    version="v1.9.4",
    does="PyTorchJob, TFJob, MPIJob and their kin",
    module="github.com/kubeflow/training-operator",
    package="github.com/kubeflow/training-operator/cmd/training-operator.v1",
    module_folder="training_operator",
    manifests={"crds": "manifests/base/crds", "webhooks": "manifests/base/webhook"},
    namespace="kubeflow",
    certificate_secret="training-operator-webhook-cert",
    ca_name="training-operator-ca",
    service="training-operator.kubeflow.svc",
    kueue_frameworks=(
        "kubeflow.org/pytorchjob",
        "kubeflow.org/tfjob",
        "kubeflow.org/xgboostjob",
        "kubeflow.org/paddlejob",
        "kubeflow.org/jaxjob",
    ),
    arguments=_arguments,
    environment=lambda _: {"TMPDIR": "/tmp"},
    private_tmp=True,
)
