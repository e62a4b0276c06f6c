"""`bench`: what this hardware really does, held against what it should."""
