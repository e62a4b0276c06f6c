"""One file per verb: `page(result) -> Page` for people, `plain(result)` for `--json`."""
