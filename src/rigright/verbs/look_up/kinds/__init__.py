"""One file a kind of thing that can be looked up; each bears `KIND`."""
