"""`doctor`: whether a machine is healthy and set up right."""
