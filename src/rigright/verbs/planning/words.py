"""Reads what was typed for `plan` into a wish: one reader for every option, whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rigright.base.errors import AskError
from rigright.base.units import (
    parse_amount,
    parse_count,
    parse_factor,
    parse_money,
    parse_rate,
    parse_seconds,
    parse_share,
    parse_watts,
)
from rigright.base.words import say
from rigright.demand import PlanWish

WORKS = ("serve", "chat", "batch", "finetune", "pretrain", "image", "embed")
METHODS = ("full", "lora", "qlora", "dora")
AIMS = ("cost", "speed", "latency", "ttft", "power", "quality", "price")
DAY_S = 86400
YES = frozenset({"y", "yes", "true", "1", "on"})
NO = frozenset({"n", "no", "false", "0", "off"})
TRAINS = frozenset({"finetune", "pretrain"})
OF_TRAINING = ("tokens", "samples", "epochs", "seq", "batch", "method", "trainer", "days")
SAMPLES = frozenset({"image", "embed"})
NOT_OF_SAMPLES = (
    "tokens",
    "seq",
    "method",
    "trainer",
    "output",
    "context",
    "users",
    "cached",
    "tpot",
    "percentile",
)
OF_SERVING = (
    "prompt",
    "output",
    "context",
    "users",
    "rate",
    "cached",
    "draft",
    "draft-tokens",
    "ttft",
    "tpot",
    "percentile",
    "per-mtok",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option: the field of the wish it fills, and how its text is read."""

    field: str
    read: Callable[[str], Any]


def read_wish(words: Mapping[str, str | None]) -> PlanWish:
    """The wish that options such as {"on": "8x h100", "ttft": "1s"} tell; None and "" say nothing."""
    told = {name: text for name, text in words.items() if text not in {None, ""}}
    strange = sorted(set(told) - set(OPTIONS))
    if strange:
        known = ", ".join(OPTIONS)
        raise AskError(say('there is no option "{name}"; there are: {known}', name=strange[0], known=known))
    fields: dict[str, Any] = {}
    for name, text in told.items():
        option = OPTIONS[name]
        value = option.read(str(text))
        if value is not None:
            if option.field in fields and fields[option.field] != value:
                raise AskError(say("--buy and --rent are two wishes; leave both out to compare them"))
            fields[option.field] = value
    if "budget" in told:
        fields["budget_said"] = _sum(str(told["budget"]))
    _refuse_idle(told, work=fields.get("work", "serve"))
    return PlanWish(**fields)


def _refuse_idle(told: Mapping[str, Any], *, work: str) -> None:
    """An option that would change nothing is an error, not silence."""
    useless = OF_SERVING if work in TRAINS else NOT_OF_SAMPLES if work in SAMPLES else OF_TRAINING
    idle = [f"--{name}" for name in useless if name in told]
    if not idle:
        return
    if work in SAMPLES:
        raise AskError(
            say("{options}: not for whole images or texts; say --rate, --samples, --latency or --batch",
                options=", ".join(idle))
        )  # fmt: skip
    if work in TRAINS:
        raise AskError(say("{options}: only for serving; with --mode {mode} say --tokens, --seq and --days",
                           options=", ".join(idle), mode=work))  # fmt: skip
    raise AskError(
        say("{options}: only for training; add --mode finetune or --mode pretrain", options=", ".join(idle))
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.replace("、", ",").split(",") if name.strip())


def _one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in choices:
            raise AskError(say('"{text}" is none of {choices}', text=text, choices=", ".join(choices)))
        return text.lower()

    return read


def _flag(value: bool | None) -> Callable[[str], bool | None]:  # noqa: FBT001 - what a yes stands for
    def read(text: str) -> bool | None:
        if text.lower() in YES:
            return value
        if text.lower() in NO:
            return None
        raise AskError(say('"{text}" is neither yes nor no', text=text))

    return read


def usd_of(text: str) -> float:
    """An amount of money in dollars, at the dated rate of the table."""
    from rigright.cost.prices import from_currency

    return from_currency(*parse_money(_sum(text)))


def _sum(text: str) -> str:
    """Money without what it is for each of."""
    plain = text.strip()
    for tail in ("/kwh", "/h", "/mtok", "每小时", "每度"):
        plain = plain[: -len(tail)] if plain.lower().endswith(tail) else plain
    return plain


def _days(text: str) -> float:
    bare = text.strip().replace(".", "", 1).isdecimal()
    return parse_seconds(f"{text}d" if bare else text) / DAY_S


def _percentile(text: str) -> float:
    """Read "p95", "95", "95%" or "0.95" as a share."""
    plain = text.strip().lower().removeprefix("p").removesuffix("%")
    share = parse_share(plain)
    share = share / 100 if share > 1 else share
    if not 0 < share < 1:
        raise AskError(say('"{text}" is no percentile; write for example p95', text=text))
    return share


def _share(text: str) -> float:
    share = parse_share(text)
    if share > 1:
        raise AskError(say('"{text}" is more than all; write a share such as 0.5 or 50%', text=text))
    return share


def _pue(text: str) -> float:
    pue = parse_factor(text)
    if pue < 1:
        raise AskError(say("a PUE is 1 or more, not {pue}", pue=text))
    return pue


OPTIONS = {
    "on": Option(field="on", read=str),
    "own": Option(field="owned", read=str),
    "chips": Option(field="chips", read=_names),
    "vendor": Option(field="vendors", read=_names),
    "cloud": Option(field="clouds", read=_names),
    "buy": Option(field="buy", read=_flag(value=True)),
    "rent": Option(field="buy", read=_flag(value=False)),
    "spot": Option(field="spot", read=_flag(value=True)),
    "mode": Option(field="work", read=_one_of(WORKS)),
    "engine": Option(field="engines", read=_names),
    "weights": Option(field="weights", read=_names),
    "kv": Option(field="kv", read=_names),
    "quality": Option(field="quality", read=str),
    "licence": Option(field="licence", read=str),
    "prompt": Option(field="prompt_tok", read=parse_count),
    "output": Option(field="output_tok", read=parse_count),
    "context": Option(field="context_tok", read=parse_count),
    "users": Option(field="users", read=parse_amount),
    "rate": Option(field="rate_per_s", read=parse_rate),
    "cached": Option(field="cached_share", read=_share),
    "draft": Option(field="draft", read=_share),
    "draft-tokens": Option(field="draft_tok", read=parse_count),
    "ttft": Option(field="ttft_s", read=parse_seconds),
    "tpot": Option(field="tpot_s", read=parse_seconds),
    "percentile": Option(field="percentile", read=_percentile),
    "tok-per-s": Option(field="tok_per_s", read=parse_amount),
    "budget": Option(field="budget_usd", read=usd_of),
    "per-hour": Option(field="usd_per_h", read=usd_of),
    "per-mtok": Option(field="usd_per_mtok", read=usd_of),
    "watts": Option(field="power_w", read=parse_watts),
    "max-chips": Option(field="most_chips", read=parse_count),
    "growth": Option(field="growth", read=parse_factor),
    "grows-to": Option(field="grows_to", read=str),
    "tokens": Option(field="train_tok", read=parse_amount),
    "samples": Option(field="samples", read=parse_amount),
    "epochs": Option(field="epochs", read=parse_amount),
    "seq": Option(field="seq_tok", read=parse_count),
    "batch": Option(field="global_batch", read=parse_count),
    "method": Option(field="method", read=_one_of(METHODS)),
    "trainer": Option(field="trainer", read=str),
    "image-size": Option(field="image_px", read=parse_count),
    "steps": Option(field="steps", read=parse_count),
    "latency": Option(field="latency_s", read=parse_seconds),
    "days": Option(field="days", read=_days),
    "tariff": Option(field="tariff_usd_per_kwh", read=usd_of),
    "pue": Option(field="pue", read=_pue),
    "years": Option(field="years", read=parse_amount),
    "duty": Option(field="duty", read=_share),
    "prices": Option(field="prices_file", read=str),
    "aim": Option(field="aim", read=_one_of(AIMS)),
    "plans": Option(field="most_plans", read=parse_count),
}
