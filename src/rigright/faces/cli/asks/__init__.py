"""One file a verb: `SUMMARY`, `add(parser)` its arguments, `answer(options) -> Answer`."""
