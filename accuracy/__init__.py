"""How far predictions are from a real GPU: the measured set, the scripts that measured it, and the table of errors."""
