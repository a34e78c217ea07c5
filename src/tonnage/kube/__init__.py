"""Kubernetes I/O: kubeconfig, client, watch, apply, decode. The only room that talks to an API server."""
