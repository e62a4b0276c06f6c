"""`sweep`: many questions on this machine's cores or on a Ray cluster."""
