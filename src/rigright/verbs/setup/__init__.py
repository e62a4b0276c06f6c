"""`setup`: the software for a machine: what goes together, why, and the lines that install it."""
