"""What a node's kubelet and kernel do to the pods on it: what they may have, who goes first, what a kill looks like."""
