"""What was seen of machines, in one file that survives everything."""
