"""The documents people write (Run, Team, Cluster) and how they are read, checked and written."""
