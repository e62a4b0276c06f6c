"""The live view of a machine: a screen that redraws, or lines for a log."""
