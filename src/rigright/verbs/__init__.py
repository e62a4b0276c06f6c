"""The public Python API: one function for each thing a user can want, a file a verb."""
