"""What to change first, what it gains, what it costs, and how to roll it out."""
