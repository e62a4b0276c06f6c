"""One check a file; each bears `TITLE` and `check(case)`, and its docstring is its manual entry."""
