"""A machine that was looked at, here or in a file, as the node that plans are made for."""
