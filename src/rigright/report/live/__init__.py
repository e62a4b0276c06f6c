"""The live view of a machine: lines that are drawn over and over, and lines for a log."""
