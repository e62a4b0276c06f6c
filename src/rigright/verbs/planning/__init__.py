"""The input of `plan` in words, and the sources of its figures."""
