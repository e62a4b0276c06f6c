"""What a machine may be told in besides being there: one form of text a file, known by what it holds.

Each bears `matches(text)` and `read(text) -> Read`.
"""
