"""The parts of docs/accuracy.md, one file each; `scripts/accuracy` puts them together."""
