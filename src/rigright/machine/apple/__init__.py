"""Apple's machines: one chip, one memory for all of it."""
