"""`calibrate`: anchors predictions to the user's own runs."""
