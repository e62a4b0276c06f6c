"""Whether a machine is healthy and set up right: a `Machine` -> findings."""
