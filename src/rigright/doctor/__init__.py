"""Checks whether a machine is healthy and set up right: `Machine` -> findings with evidence and fix."""
