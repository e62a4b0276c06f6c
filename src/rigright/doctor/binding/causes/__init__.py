"""One thing that can bind a file; each bears TITLE, SIDE, weigh, tell and REMEDIES."""
