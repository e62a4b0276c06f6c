"""The acceptance test of a fleet: staged measurements, one verdict per node."""
