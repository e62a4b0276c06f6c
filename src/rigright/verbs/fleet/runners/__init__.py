"""How nodes are reached, one file a way: its RUNNER is a `jobs.Runner`."""
