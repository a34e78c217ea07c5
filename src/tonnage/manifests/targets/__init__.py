"""One file per Kubernetes object that can hold a run's pods."""
