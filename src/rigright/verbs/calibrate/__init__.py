"""`calibrate`: refit the corrections from measured runs, or anchor them to a user's own."""
