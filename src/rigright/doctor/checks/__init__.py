"""One file per subject: each function under `@check` is a check, and its docstring is its manual entry."""
