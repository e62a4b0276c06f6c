"""Serving on a machine: the case with its defaults, memory per GPU, limits, what to change, reasons."""
