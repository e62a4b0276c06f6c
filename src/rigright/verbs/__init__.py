"""The public Python API: one function per command, one file per verb, beside the record it returns."""
