"""One file a verb: `SUMMARY`, `add(parser)` its arguments, `answer(options) -> Answer`.

`SUMMARY` is a `Sentence`. Help texts are English sentences, `help=str(say("..."))`: the frame shows
them in the language asked for. Beside its own arguments, `options` carries `language` ("en", "zh")
and, beyond the stage "machine", `why` (the user wants formulas and sources). Whatever is heavy is imported
inside `answer`.
"""
