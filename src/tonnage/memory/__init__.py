"""What a training step holds in GPU memory, and what its pod holds beside it: pure science, no torch, no I/O."""
