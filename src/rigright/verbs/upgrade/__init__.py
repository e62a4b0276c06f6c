"""`upgrade`: what to change first, its gain, its cost, and how to roll it out."""
