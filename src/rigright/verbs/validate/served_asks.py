"""Rows of inference.csv that were served: what was asked, with what the row leaves open filled in."""

from __future__ import annotations

import math
import re
from functools import cache

from rigright.arch.record import Arch
from rigright.arch.sight import eye_of, seeing
from rigright.base.errors import AskError
from rigright.base.record import dataclass, replace
from rigright.base.tables import DATA, CellReader, Row, number, read_rows, text
from rigright.base.units import MEGA
from rigright.base.words import Sentence, say
from rigright.choice.case import serving_case
from rigright.choice.ways import as_published
from rigright.choice.work import usual_context_tok
from rigright.cost.unsaid import Prior
from rigright.demand import Layout, Serving, Traffic
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine, at_date, find_engine
from rigright.facts.formats import find_format, find_kv_format
from rigright.facts.nodes import Card
from rigright.terms.fitted import priors
from rigright.verbs.validate import foreign
from rigright.verbs.validate.ask import RunAsk, card_of, model_of

_COLUMNS = {  # of tables of published runs: what a row is found by, and its figures
    "served_loads": (
        ("load", "model"),
        ("prompt_tok", "output_tok", "pictures", "megapixels", "output_spread"),
    ),
    "served_limits": (("scenario", "model"), ("ttft_p99_s", "tpot_p99_s")),
    "drafted_runs": (("engine", "version", "from"), ("drafted_tok", "accepted_tok")),
}
SERVE = "serve"  # the work that runs of many requests are
LATE = "2025-10"  # TensorRT-LLM 1.0 is of 2025-09
UNSURE = (0.6, 1.0, 1.7)  # of a length that was estimated from what runs came out at


def read_served(row: Row) -> RunAsk:
    """What a row asks; raises a RigError that says what is missing."""
    arch, notes = model_of(row)
    if arch.vocab == 0 or arch.task not in {"text", "image-text", "audio-text"}:
        raise AskError(say("{model} does not generate text", model=arch.name))
    assumed = list(notes)
    engine = _engine(row, assumed)
    card = card_of(row.get("chip"))
    arch = _with_pictures(row, arch)
    sent = load_of(row, arch)
    value = _weights(row, arch, chip=card.chip, tuned=bool(sent.manner), assumed=assumed)
    weights = as_published(arch, find_format(engine.says.get(value.lower(), value)).id)
    prompt, output = _lengths(sent, assumed)
    chips = cards_of(row)
    prefill, layout = layouts_of(row, chips=chips, assumed=assumed)
    load = row.get("load") if row.get("mode") != "max" and sent.rate_per_s is None else None
    alone = row["metric"] == "latency_ms" and sent.rate_per_s is None and sent.tpot_p99_s is None
    if load is None and alone:  # of one request that nothing holds up
        load = 1
    if prefill is not None and load is None and sent.rate_per_s is None:
        raise AskError(say("separate prefill and decode workers need a load: concurrency or request rate"))
    drafted, accepted = drafts_of(row, arch, engine=engine.id)
    if drafted:
        assumed.append(say("these runs drafted {tok} tokens per pass", tok=f"{drafted:g}"))
    if row.get("kv"):
        kv = find_kv_format(row["kv"]).id
    else:
        kv = "fp8" if weights.startswith(("fp8", "nvfp4")) and engine.kv_save == "fp8" else "16bit"
        assumed.append(say("KV cache format not stated: assuming {kv}", kv=kv))
    serving = Serving(
        engine=engine.asked,
        weights=weights,
        kv=kv,
        context_tok=float(row.get("context_tok") or usual_context_tok(SERVE, arch, tok=prompt + output)),
        batch=None,
        budget_tok=row.get("max_num_batched_tokens"),
        max_seqs=_max_seqs(row, engine, card=card),
        utilisation=row.get("gpu_memory_utilization"),
    )
    traffic = Traffic(
        prompt_tok=prompt, output_tok=output, concurrency=load, rate_per_s=sent.rate_per_s,
        requests=sent.requests, output_spread=sent.output_spread,
        tpot_p99_s=sent.tpot_p99_s, ttft_p99_s=sent.ttft_p99_s, drafted_tok=drafted, accepted_tok=accepted,
    )  # fmt: skip
    return RunAsk(
        case=serving_case(
            arch, serving, layout=layout or Layout(), cards=(card,) * chips, engine=engine, traffic=traffic,
            prefill=prefill, manner=sent.manner, ran=_ran(row) and layout is not None,
        ),
        metric=row["metric"], median=sent.median, is_laid_out=layout is not None,
        is_cut=bool(row.get("disagg")) or row.get("ep") is not None or row.get("mode") != "max",
        unsaid=_open_lengths(sent), assumed=tuple(assumed),
    )  # fmt: skip


def _ran(row: Row) -> bool:
    """Whether it is a run, and no question."""
    return bool(row.get("value") or row.get("source") or row.get("measured"))


def _max_seqs(row: Row, engine: Engine, *, card: Card) -> float | None:
    """Of a server as it was started; who counts requests and says no setting set none."""
    stated: float | None = row.get("max_num_seqs")
    capped = engine.pool == "share" and engine.admits == "seqs"
    if stated is not None or not capped or not _ran(row) or not row.get("requests"):
        return stated
    return engine.default(engine.max_seqs, card.total_bytes, chip=card.chip.id)


def _weights(row: Row, arch: Arch, *, chip: Chip, tuned: bool, assumed: list[Sentence]) -> str:
    """The format told; else as published, or what the chip multiplies fastest."""
    value: str | None = row.get("weights")
    if value == "fp32" and tuned:  # a slip: nobody tunes what serves so many bytes
        value = ("mxfp4" if chip.vendor == "AMD" else "nvfp4") if chip.fp4_flops_per_s else "fp8"
    elif value is None:
        value = arch.stored or ("fp8" if chip.fp8_flops_per_s else arch.dtype)
    else:
        return value
    assumed.append(say("weights not stated: assuming {weights}", weights=value))
    return value


def cards_of(row: Row) -> int:
    """The chips that a row names, or that its layout needs."""
    return row.get("n_chips") or (row.get("tp") or 1) * (row.get("pp") or 1) * (row.get("dp") or 1)


def _open_lengths(sent: ServedLoad) -> tuple[Prior, ...]:
    """Lengths that neither the row nor its benchmark tells, and those that we only estimate."""
    result = list[Prior]()
    for name, flag, known in (
        ("prompt_tok", sent.states_prompt, sent.prompt_tok),
        ("output_tok", sent.states_output, sent.output_tok),
    ):
        if known is None:
            result.append(priors("serving")[name])
        elif not flag and sent.unsure:
            values = tuple(known * share for share in UNSURE)
            result.append(replace(priors("serving")[name], values=values, weights=(0.25, 0.5, 0.25)))
    return tuple(result)


def _engine(row: Row, assumed: list[Sentence]) -> Engine:
    """The engine at its version; one older than the day it ran is of something around it."""
    name, version = row.get("engine") or "vllm", row.get("engine_version") or ""
    newest, day = find_engine(name), row.get("measured") or ""
    own = re.compile(rf"(?:^v?|\(|{newest.id} v?)(\d+(?:\.\d+)+)", re.IGNORECASE)
    match = own.search(version)
    if match and not (day >= LATE and newest.version >= "1" and match[1] < "1"):
        return find_engine(f"{newest.id} {match[1]}")
    if day:
        return at_date(newest, day)
    assumed.append(say("{engine} version not stated: assuming the newest", engine=newest.label))
    return newest


def _lengths(sent: ServedLoad, assumed: list[Sentence]) -> tuple[float, float]:
    """Lengths told, by the row or its benchmark; else the middle of how people run."""
    usual = priors("serving")
    prompt = usual["prompt_tok"].middle if sent.prompt_tok is None else sent.prompt_tok
    output = usual["output_tok"].middle if sent.output_tok is None else sent.output_tok
    if not sent.states_output:
        assumed.append(say("output length not stated: assuming {tok} tokens", tok=f"{output:g}"))
    if not sent.states_prompt:
        assumed.append(say("prompt length not stated: assuming {tok} tokens", tok=f"{prompt:.4g}"))
    return max(float(prompt), 1.0), max(float(output), 1.0)


def layouts_of(row: Row, *, chips: int, assumed: list[Sentence]) -> tuple[Layout | None, Layout | None]:
    """Workers for prompts (or none) and for tokens (None: nobody says how they are cut)."""
    if row.get("disagg"):
        worded = re.finditer(foreign.table()["workers"]["pattern"], row["disagg"])
        layouts = {match["does"]: _worker(match) for match in worded}
        if set(layouts) != {"prefill", "decode"}:
            raise AskError(
                say('cannot read workers "{text}"; for example "prefill 1x(tp8 pp1 dp1 ep1) decode ..."',
                    text=row["disagg"])
            )  # fmt: skip
        return layouts["prefill"], layouts["decode"]
    if row.get("tp") is None:
        assumed.append(say("layout not stated: assuming the best one"))
        return None, None
    # attention ranks times their tp make a replica; sources write one or the other where both are alike
    tp, pp, ep = row["tp"], row.get("pp") or 1, row.get("ep") or 1
    value = row.get("attn_dp") or 1
    spreads = bool(row.get("attention_dp")) or value == math.inf  # each rank has sequences of its own
    ranks = max(1 if value == math.inf else value, ep // tp)  # experts cut over more ranks than tensors are
    if spreads and tp * ranks == 1:
        ranks = row.get("dp") or 1
    each = tp * ranks if chips % (tp * ranks * pp) == 0 else max(tp, ranks)
    ranks = each if spreads else ranks
    spread = row.get("moe_tp") or 1
    if spread > max(each, chips):
        assumed.append(say("experts are split over {ranks} GPUs: using that many", ranks=spread))
        each = spread
    if spread * ep > each:  # both cannot be: where experts are cut over all chips, none has any whole
        ep = 1 if spread == each else max(each // spread, 1)
    dp = max(1, chips // (each * pp))
    return None, Layout(tp=each, pp=pp, dp=dp, ep=min(ep, each), attention_dp=ranks > 1)


def _worker(match: re.Match[str]) -> Layout:
    workers, tp, pp, dp, ep = (int(match[name]) for name in ("workers", "tp", "pp", "dp", "ep"))
    return Layout(tp=tp * dp, pp=pp, dp=workers, ep=ep, attention_dp=dp > 1)


def drafts_of(row: Row, arch: Arch, *, engine: str) -> tuple[float, float]:
    """Tokens drafted for each pass of a sequence, and those kept, of runs whose rows do not say so.

    Models that bring layers for it do so in versions and from days on when it was set.
    """
    version, day = row.get("engine_version") or "", row.get("measured") or ""
    if row.get("disagg") or not any(tower.name == "mtp" for tower in arch.spare):
        return 0.0, 0.0
    return next(
        (
            (known["drafted_tok"], known["accepted_tok"])
            for known in _table("drafted_runs")
            if known["engine"] == engine and version.startswith(known["version"]) and day >= known["from"]
        ),
        (0.0, 0.0),
    )


MLPERF = "mlperf"
ALIKE = 0.15  # logarithm: means of one set of prompts by two tokenizers
OPEN = frozenset({"Server", "Interactive"})  # scenarios of MLPerf whose requests come at random
SOME = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedLoad:
    """What a row's benchmark sends; None: neither the row nor its benchmark says."""

    prompt_tok: float | None = None
    output_tok: float | None = None
    states_prompt: bool = False  # by the row itself
    states_output: bool = False
    unsure: bool = False  # the benchmark's lengths are estimates of ours
    rate_per_s: float | None = None
    requests: float | None = None  # of the whole run; nan: a run of which nobody says how many it sent
    output_spread: float | None = None  # of its answers
    ttft_p99_s: float | None = None
    tpot_p99_s: float | None = None
    median: bool = False  # the figure is that of the middle pass, not the mean
    manner: str = ""  # how such runs are tuned


def load_of(row: Row, arch: Arch) -> ServedLoad:
    """The load of a row: its own columns, the means of its note, then what its benchmark is known to send."""
    scenario = row.get("scenario") or ""
    name = _load_name(row)
    known = _first_row("served_loads", arch, load=name) if name else {}
    limits = _first_row("served_limits", arch, scenario=scenario) if scenario in OPEN else {}
    prompt, output = row.get("prompt_tok"), row.get("output_tok")
    known = known or (_like(prompt, output) if _ran(row) else {})
    if output is None:
        output = row.get("mean_output_tok") or known.get("output_tok")
    if prompt is None:
        prompt = row.get("mean_prompt_tok") or known.get("prompt_tok")
    if prompt is not None:
        prompt += arch.image_tok
    rate = row.get("scheduled_samples_per_s") or row.get("rate_per_s")
    return ServedLoad(
        prompt_tok=prompt, output_tok=output,
        states_prompt=row.get("prompt_tok") is not None, states_output=row.get("output_tok") is not None,
        rate_per_s=rate,
        requests=_requests(row),
        output_spread=known.get("output_spread"),
        unsure=known.get("confidence") == "low",
        ttft_p99_s=limits.get("ttft_p99_s"), tpot_p99_s=limits.get("tpot_p99_s"),
        median=row.get("itl_p50_ms") is not None or bool(row.get("median_pass")),
        manner=MLPERF if name == MLPERF else "",
    )  # fmt: skip


def _like(prompt: float | None, output: float | None) -> Row:
    """The load of known spread whose mean lengths these are, within a tokenizer's difference."""
    for load in _table("served_loads"):
        pairs = ((prompt, load["prompt_tok"]), (output, load["output_tok"]))
        if load["output_spread"] and all(tok and abs(math.log(tok / mean)) < ALIKE for tok, mean in pairs):
            return load
    return {}


def _requests(row: Row) -> float | None:
    """Requests of a run: told, or some where the row says who measured it or when; None: of a service."""
    value: float | None = row.get("requests")
    if row.get("rate_per_s"):
        return value
    return SOME if value is None and (row.get("source") or row.get("measured")) else value


def is_loaded(row: Row) -> bool:
    """Whether a row that names no mode speaks of many requests: they arrive at a rate."""
    value = row.get("scheduled_samples_per_s") or row.get("rate_per_s")
    return not row.get("mode") and bool(value)


def _with_pictures(row: Row, arch: Arch) -> Arch:
    """The model with the pictures that its benchmark sends."""
    known = _first_row("served_loads", arch, load=_load_name(row)) if _load_name(row) else {}
    if not known.get("pictures") or row.get("prompt_tok") is not None or eye_of(arch) is None:
        return arch
    side = round((known["megapixels"] * MEGA) ** 0.5)
    return seeing(arch, count=known["pictures"], width=side, height=side)


def _load_name(row: Row) -> str:
    return MLPERF if row.get("scenario") else str(row.get("task") or "")


def _first_row(table: str, arch: Arch, **cells: str) -> Row:
    """The first row of such cells whose model the name contains; one without a model holds all."""
    name = arch.name.lower()
    return next(
        (
            row
            for row in _table(table)
            if (row.get("model") or "").lower() in name
            and all(row[column] == cell for column, cell in cells.items())
        ),
        {},
    )


@cache
def _table(name: str) -> tuple[Row, ...]:
    """A table of what is known of published runs."""
    keys, figures = _COLUMNS[name]
    readers: dict[str, CellReader] = dict.fromkeys((*keys, "source", "as_of", "confidence"), text)
    readers |= dict.fromkeys(figures, number)
    return tuple(read_rows(DATA / f"{name}.csv", readers, required=(keys[0], "source")))
