"""How well leaks are foreseen: our forecast and its rivals on real pods and on made ones, with and without leaks."""
