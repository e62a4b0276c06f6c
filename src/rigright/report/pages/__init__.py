"""One file a verb: `page(result) -> Page` for people, `plain(result)` -> what `--json` prints."""
