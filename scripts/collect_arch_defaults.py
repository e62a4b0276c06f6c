"""Collects what a config leaves unsaid: class defaults, from an installed transformers and diffusers.

Run by hand when a new one is out, with a Python that has both:

    python scripts/collect_arch_defaults.py KIND... > src/rigright/data/arch/defaults.json

A kind is a model type of transformers or a class of diffusers. Without any, those the table holds
already are renewed.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent.parent / "src/rigright/data/arch/defaults.json"
NO_SHAPE = re.compile(
    r"drop|init_|initializer|(^|_)eps|token|use_cache|_act$|act_fn|activation|(?<!qk_)rope|label|mask_(time|feature)|loss|apply_spec"
    r"|temperature|softcap|logit|aux|momentum|gradient|clip_value|attentions$|theta|scaling|ctc_|pad_|ignore"
)
SHAPE = re.compile(
    r"image_token|num_(query|latent|special)_?tokens?|vision_token|mask_token|register_tokens|use_mask|class_token|"
    r"per_layer_token|max_token|n_query|gated|feed_forward|use_logit|cls_token|activation_type|logit_scale|"
    r"apply_.*norm|apply_.*residual|with_.*token|num_pad|token_type|layer_scale|use_clipped|scaling_factor"
)


def kind_row(kind: str) -> dict[str, Any]:
    """Keys with their defaults, other names of keys, and the kinds of nested configs."""
    from transformers import PreTrainedConfig
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    if kind not in CONFIG_MAPPING:
        return {"keys": _diffusers_keys(kind)}
    found = CONFIG_MAPPING[kind]
    bare = {field.name for field in dataclasses.fields(PreTrainedConfig)} - {"is_encoder_decoder"}
    parts = {key: getattr(part, "model_type", "") for key, part in found.sub_configs.items()}
    row = {
        "keys": _keys(found, bare),
        "alias": {other: own for other, own in found.attribute_map.items() if other != own},
        "parts": {key: kind for key, kind in parts.items() if kind},
        "made": _made(found, bare),
    }
    return {name: value for name, value in row.items() if value}


def _diffusers_keys(kind: str) -> dict[str, Any]:
    """What the constructor of a diffusers class takes where its config says nothing."""
    import diffusers

    taken = inspect.signature(getattr(diffusers, kind).__init__).parameters
    plain = bool | int | float | str | list | tuple | None
    return {
        name: parameter.default
        for name, parameter in taken.items()
        if isinstance(parameter.default, plain) and not NO_SHAPE.search(name)
    }


def _keys(found: Any, bare: set[str]) -> dict[str, Any]:
    return {
        field.name: default
        for field in dataclasses.fields(found)
        if field.name not in bare
        and (SHAPE.search(field.name) or not NO_SHAPE.search(field.name))
        and (default := _default(field)) is not dataclasses.MISSING
    }


def _made(found: Any, bare: set[str]) -> dict[str, Any]:
    """Nested configs that a class makes where none is given, as far as they differ from their own class's."""
    try:
        whole = found()
    except Exception:  # noqa: BLE001 - a class that cannot be made of nothing has no defaults to tell
        return {}
    made = {}
    for key in found.sub_configs:
        inner = getattr(whole, key, None)
        if inner is None or not dataclasses.is_dataclass(inner):
            continue
        told: dict[str, Any] = {}
        for _ in range(2):  # the second time for what a class derives from what was told the first
            told |= _differences(inner, type(inner)(**told), _keys(type(inner), bare))
        made[key] = {"model_type": inner.model_type, **told}
    return made


def _differences(one: Any, other: Any, names: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name in names
        if (value := vars(one).get(name)) != vars(other).get(name)
        and (value is None or isinstance(value, int | float | str | bool))
    }


def _default(field: dataclasses.Field[Any]) -> Any:
    value = field.default_factory() if callable(field.default_factory) else field.default
    plain = value is None or isinstance(value, int | float | str | bool | list | tuple | dict)
    return value if plain else dataclasses.MISSING


def main() -> None:
    """Print the table."""
    import diffusers
    import transformers

    kinds = sys.argv[1:] or [kind for kind in json.loads(TABLE.read_text()) if not kind.startswith("_")]
    source = (
        f"configuration classes of transformers {transformers.__version__} (dataclass field defaults) "
        f"and constructors of diffusers {diffusers.__version__}"
    )
    rows = [("_source", source), *((kind, kind_row(kind)) for kind in sorted(set(kinds)))]
    lines = (f"{json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}" for name, row in rows)
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
