"""One file per command: `SUMMARY`, `add(parser)` for its arguments, `answer(options) -> Answer`.

`SUMMARY` is a `Sentence`. Help texts are English, `help=str(say("..."))`, and shown in the chosen
language. `options` also carries `language` ("en", "zh") and, after the stage "machine", `why` (show
formulas and sources). Heavy imports belong inside `answer`.
"""
