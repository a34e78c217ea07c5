"""Scripts that run on a machine with a real GPU and write down the truth predictions are compared with."""
