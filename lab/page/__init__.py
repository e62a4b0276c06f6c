"""The parts of docs/accuracy.md, one file each; `lab/accuracy.py` puts them together."""
