"""A real Kubernetes on this machine: control plane as plain processes, simulated GPU nodes, and real nodes on request."""
