"""Apple silicon: one chip with unified memory."""
