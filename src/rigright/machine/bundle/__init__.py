"""A bundle: all that was read of a machine, without what is private, so that it can be examined elsewhere."""
