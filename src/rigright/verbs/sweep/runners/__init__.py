"""Where a sweep runs, one file per place."""
