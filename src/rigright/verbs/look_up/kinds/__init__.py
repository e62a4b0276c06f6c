"""One file per kind of thing that `look-up` knows, each with `KIND`."""
