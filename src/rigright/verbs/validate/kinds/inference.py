"""inference.csv: speed of serving and generation; known by its header, predicted later."""

from __future__ import annotations

from rigright.base.tables import text
from rigright.base.words import say
from rigright.verbs.validate.record import Kind

_COLUMNS = (
    "id source measured engine engine_version model arch chip n_chips tp pp ep "
    "attn_dp moe_tp disagg weights kv mode load prompt_tok output_tok metric value note"
)

KIND = Kind(
    name="inference",
    columns=dict.fromkeys(_COLUMNS.split(), text),
    marks=("engine", "mode", "metric"),
    metrics=lambda raw: (raw.get("metric") or "value",),
    predict=lambda _row: (),
    later=say("the speed of inference cannot be predicted yet: this kind of file comes with the speed model"),
)
