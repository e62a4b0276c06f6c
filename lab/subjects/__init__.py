"""One file a table of corrections: what teaches it, and which of its terms may move."""
