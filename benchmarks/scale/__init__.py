"""How large a cluster we can follow, measured: memory, CPU per change and lag."""
