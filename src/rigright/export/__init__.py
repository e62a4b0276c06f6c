"""A plan, or a machine that is watched, as files that other programs read."""
