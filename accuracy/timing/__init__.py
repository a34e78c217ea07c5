"""How fast the device is: scripts that time a real GPU, and the fit that turns their results into a table."""
