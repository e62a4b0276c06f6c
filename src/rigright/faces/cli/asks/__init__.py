"""One file per command: `STAGE`, `SUMMARY`, `answer(options) -> Answer`.

`SUMMARY` is a `Sentence`. What is typed is a row each: in `rigright.options`, in the file of the stage, under
the command's name; `options` carries each value, read, under the row's `dest`, and `language` ("en", "zh").
Heavy imports belong inside `answer`.
"""
