"""vision.csv: throughput of image and text models a GPU; known by its header, predicted later."""

from __future__ import annotations

from rigright.base.tables import text
from rigright.base.words import say
from rigright.verbs.validate.record import Kind

_COLUMNS = (
    "id source model params_m gmacs mactivs gpu n_gpus mode img_size seq_len "
    "batch_size precision layout compile framework samples_per_s note"
)

KIND = Kind(
    name="vision",
    columns=dict.fromkeys(_COLUMNS.split(), text),
    marks=("img_size", "batch_size"),
    metrics=lambda _raw: ("samples_per_s",),
    predict=lambda _row: (),
    later=say(
        "the speed of image models cannot be predicted yet: this kind of file comes with the speed model"
    ),
)
