"""Serving on a machine: the case with its defaults, memory card by card, limits, remedies, reasons."""
