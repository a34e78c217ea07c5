"""How long a step takes, from its operations and what a device was measured to do; pure."""
