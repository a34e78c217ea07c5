"""What Kubernetes is and the rules it plays by: pure values and pure functions, checked against the real components."""
