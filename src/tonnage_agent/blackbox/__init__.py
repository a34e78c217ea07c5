"""What is left after a SIGKILL: the record and the samples beside the checkpoints, and the termination message."""
