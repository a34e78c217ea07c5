"""What this container holds and does now: files in, numbers out. Nothing here waits, loops or keeps state."""
