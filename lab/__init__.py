"""The laboratory: fits the corrections to measured runs, leaves groups out, makes bands and docs/accuracy.md.

It is no part of what users install. `python -m lab --help` says what it does.
"""
