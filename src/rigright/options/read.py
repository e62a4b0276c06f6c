"""What was typed becomes values, wishes, and the command that asks the same again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from rigright.base.errors import AskError, clash
from rigright.base.loader import rows
from rigright.base.money import USD, home_of
from rigright.base.words import Sentence, say
from rigright.demand import PlanWish
from rigright.options.row import ALL, SAMPLES, SERVE, SPEECH, TEXT, TRAINS, Option
from rigright.options.rows import SAMPLE_MODES, TRAINING_MODES, kinds_of, options_of, trains_as

Wish = TypeVar("Wish")


def read_wish(words: Mapping[str, str | None], *, verb: str = "plan", home: str | None = None) -> PlanWish:
    """The wish that options such as {"on": "8x h100", "ttft": "1s"} tell; None and "" say nothing.

    `home`: the currency of who asks, see `home_of`.
    """
    fields = split_training(verb, _typed_of(verb, words))
    mode = None
    if (
        "mode" not in fields
        and {"method", "objective", "trainer"} & set(fields)
        and "finetune" in _modes_of(verb)
    ):
        fields["mode"] = "finetune"
    if "mode" in fields:
        mode = (
            next(option for option in options_of(verb) if option.name == "mode")
            .plain(fields["mode"].strip())
            .lower()
        )
    values = values_of(verb, fields, kinds=kinds_of(mode), home=home)
    return fill(PlanWish, verb, values={**values, "budget_said": fields.get("budget")})


def split_training(verb: str, fields: Mapping[str, str]) -> dict[str, str]:
    """The loss and the method apart, where a training was said by both: "grpo lora"."""
    if "objective" in fields or all(option.name != "objective" for option in options_of(verb)):
        return dict(fields)
    for name, rest in (("train", "full"), ("method", ""), ("mode", "")):
        pair = trains_as(fields[name]) if name in fields else None
        if pair is not None:
            method = {"method" if name == "mode" else name: pair[1] or rest}
            plain = {key: text for key, text in fields.items() if key != name}
            return {**plain, **(method if pair[1] or rest else {}), "objective": pair[0]}
    return dict(fields)


def _modes_of(verb: str) -> tuple[str, ...]:
    """The modes of a verb; none where it has no `--mode`."""
    mode = next((option for option in options_of(verb) if option.name == "mode"), None)
    return () if mode is None or mode.choices is None else mode.choices()


def kinds_typed(fields: Mapping[str, str]) -> frozenset[str]:
    """What the work may be where it is also said by `--train` or `--serve`: not against the mode."""
    mode = fields.get("mode")
    kinds = ALL - TRAINS if mode is None else kinds_of(mode.strip().lower())
    trains = mode is not None and kinds <= TRAINS
    wrong = "serve" if trains else "train" if mode is not None else None
    if wrong in fields:
        raise clash(f"--mode {mode}", f"--{wrong}")
    return TRAINS if "train" in fields else kinds


def _typed_of(verb: str, words: Mapping[str, str | None]) -> dict[str, str]:
    """What was said, each option by its own name; one that is not there is refused."""
    known = {name: option for option in options_of(verb) for name in (option.name, *option.aliases)}
    fields: dict[str, str] = {}
    for name, text in words.items():
        if text is None or text == "":
            continue
        if name not in known:
            raise unknown_option(name, tuple(known))
        option = known[name]
        before = fields.setdefault(option.name, text)
        joined = text if before == text else option.joins(before, text) if option.joins else None
        if joined is None:
            raise AskError(
                say("{first} and {second} mean the same", first=option.flag, second=f"--{name}"),
                hint=say("remove one of them"),
            )
        fields[option.name] = joined
    return fields


def unknown_option(name: str, known: Sequence[str], *, dash: str = "") -> AskError:
    """The complaint about an option, with the one that is meant; each has `dash` before it as it is shown."""
    from difflib import get_close_matches

    plain = name.lstrip("-").lower().replace("_", "-")
    by_plain = {word.replace("_", "-"): word for word in known}
    near = [word for word in _meant(plain) if word in by_plain]
    near = near or get_close_matches(plain, by_plain, n=1, cutoff=0.75)
    example = OTHERWISE.get(plain) if "on" in by_plain else None
    if example is not None:
        hint = say("write it with the machine: {example}", example=example)
    elif near:
        hint = say("did you mean {near}?", near=dash + by_plain[near[0]])
    elif dash:
        hint = say("see --help for all options")
    else:
        hint = say("options: {known}", known=", ".join(known))
    return AskError(say('unknown option "{name}"', name=name), hint=hint)


def _meant(typed: str) -> list[str]:
    """What other programs call so."""
    table = rows("other_options.csv", "typed", "meant")
    return next((meant.split() for word, meant in table if word == typed), [])


OTHERWISE = {  # what people type as an option and what is said with the machine instead
    "free": '--on "4090, 12GB free"', "ram": '--on "4090 + 64gb"', "cpu": '--on "4090 + 7950x"',
    "gpus": '--on "2x 4090"', "nodes": '--on "2 nodes of 8x h100"',
    "network": '--on "2 nodes of 8x h100 + 100gbe"',
}  # fmt: skip


def values_of(
    verb: str, fields: Mapping[str, str], *, kinds: frozenset[str] = ALL, home: str | None = None
) -> dict[str, Any]:
    """Each value that was said, read; what does not go together, or says nothing of such work, is refused.

    `kinds`: what the work may be, as far as it is known before the model is.
    """
    fields = split_training(verb, fields)
    table = {option.name: option for option in options_of(verb)}
    values = {name: table[name].value(text) for name, text in fields.items()}
    values = {
        name: value for name, value in values.items() if value is not None
    }  # a flag with "no" behind it
    for name in values:
        for wrong in refusals(table[name], values=values, kinds=kinds, verb=verb):
            raise wrong
    # the same with money in dollars; an amount without a currency is in the one that was named, else at home
    money = {name: value for name, value in values.items() if hasattr(value, "currency")}
    named = values.get("currency") or next((item.currency for item in money.values() if item.currency), None)
    home = home or home_of(fields.values())
    if not money and home == USD:
        return dict(values)
    named = named or home
    return {**values, **{name: value.usd(named) for name, value in money.items()}, "currency": named}


def refusals(
    option: Option,
    *,
    values: Mapping[str, Any],
    kinds: frozenset[str],
    verb: str = "plan",
    model: str | None = None,
) -> Iterator[AskError]:
    """Why an option cannot stand beside the others: it says nothing of such work, or they go together badly.

    `kinds`: what the work is, or may be; `model`: where that is known because the model is.
    """
    if not option.works & kinds:
        work = _typed_kind(kinds) if model is None else say("{model}", model=model)
        yield AskError(
            say("{option} does not apply to {work}", option=option.flag, work=work),
            hint=_where(option, verb) if model is None else say("remove {option}", option=option.flag),
        )
    yield from option.beside(values)


def _typed_kind(kinds: frozenset[str]) -> Sentence:
    if kinds <= TRAINS:
        return say("training")
    if kinds == {SPEECH}:
        return say("speech to text")
    return say("serving") if SERVE in kinds else say("images and embeddings")


def _where(option: Option, verb: str) -> Sentence:
    """What to add so that an option applies."""
    if option.works <= TRAINS:
        add = "--train" if verb == "explain" else f"--mode {' | '.join(TRAINING_MODES)}"
        return say("it is a training option: add {flags}", flags=add)
    if option.works <= TEXT:
        return say("it applies to text serving only")
    kinds = [
        *(TRAINING_MODES if option.works & TRAINS else ()),
        *(SAMPLE_MODES if option.works & SAMPLES else ()),
        *(("serve",) if SERVE in option.works else ()),
    ]
    return say("it applies to --mode {modes}", modes=" | ".join(kinds))


def fill(wish: type[Wish], verb: str, *, values: Mapping[str, Any]) -> Wish:
    """A wish with every value that it has a field for."""
    plain = wish()
    fields = {
        name: values[name] for name in ("currency", "budget_said") if name in values and hasattr(plain, name)
    }
    for option in options_of(verb):
        name = next((name for name in option.fields if hasattr(plain, name)), None)
        if name is None or option.name not in values:
            continue
        value = values[option.name]
        if isinstance(value, tuple) and not isinstance(getattr(plain, name), tuple):
            if len(value) > 1:
                raise AskError(
                    say(
                        "{option} takes a single name here, got {count}", option=option.flag, count=len(value)
                    ),
                    hint=say("choose one of {known}", known=", ".join(value)),
                )
            value = value[0]
        fields[name] = value
    return wish(**fields)


def values_in(wish: object, verb: str, *, kinds: frozenset[str] = ALL) -> dict[str, Any]:
    """What a wish says, option by option: `fill` the other way round.

    Of options that fill the same field, those that say something of such work.
    """
    suits = fields_of(verb, kinds=kinds)
    fields: dict[str, Any] = {}
    plain = type(wish)()
    for option in options_of(verb):
        name = next((name for name in option.fields if hasattr(plain, name)), None)
        value = None if name is None else getattr(wish, name)
        if name is None or value is None or value == getattr(plain, name):
            continue
        if name in suits and not option.works & kinds:
            continue
        if option.metavar or value == option.read("yes"):
            fields[option.name] = value
    return fields


def fields_of(verb: str, *, kinds: frozenset[str] = ALL) -> frozenset[str]:
    """Fields of wishes that options of a verb fill for such work."""
    return frozenset(name for option in options_of(verb) if option.works & kinds for name in option.fields)


def typed(verb: str, values: Mapping[str, Any], *, kinds: frozenset[str] = ALL) -> list[str]:
    """Fields of wishes as options are typed, in their order; None, and what no option says, is left out."""
    texts: list[str] = []
    for name, value in values.items():
        able = (item for item in options_of(verb) if name in item.fields and item.works & kinds)
        for option in able if value is not None else ():
            if option.metavar or option.read("yes") == value:
                texts += [option.flag, option.written(value)] if option.metavar else [option.flag]
                break
    return texts


def idle(wish: object, verb: str, *, kind: str) -> Iterator[Option]:
    """Options that filled a field which says nothing of such work, whichever of them was typed."""
    texts = set(values_in(wish, verb))
    plain = type(wish)()
    suits = {name for option in options_of(verb) if kind in option.works for name in option.fields}
    for option in options_of(verb):
        field = next((name for name in option.fields if hasattr(plain, name)), None)
        if option.name in texts and field not in suits:
            yield option


def command(verb: str, positional: Sequence[str], *, fields: Mapping[str, str]) -> str:
    """The command that asks this, quoted for a shell; commas too, of which PowerShell makes lists."""
    typed = ["rigright", verb, *positional]
    for option in options_of(verb):
        if option.name in fields:
            typed += [option.flag] if not option.metavar else [option.flag, fields[option.name]]
    return " ".join(f"'{word}'" if "," in word and "'" not in word else shlex.quote(word) for word in typed)
