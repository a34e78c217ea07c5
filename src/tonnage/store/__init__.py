"""History: runs, attempts, samples and findings, in SQLite on this machine."""
