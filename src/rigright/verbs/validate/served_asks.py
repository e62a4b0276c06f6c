"""Rows of inference.csv that were served: what was asked, with what the row leaves open filled in."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.tables import Row
from rigright.base.words import Sentence, say
from rigright.choice.ways import as_published
from rigright.choice.work import usual_context_tok
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine, at_date, find_engine
from rigright.facts.formats import find_format, find_kv_format
from rigright.facts.nodes import Card, find_node
from rigright.terms.unsaid import priors
from rigright.verbs.validate.models import model_of
from rigright.verbs.validate.served_drafts import NO_DRAFTS, ServedDrafts, drafts_of
from rigright.verbs.validate.served_loads import ServedLoad, load_of

SERVE = "serve"  # the work that runs of many requests are
LATE = "2025-10"  # TensorRT-LLM 1.0 is of 2025-09
NOTHING_SAID = ServedLoad()
_WORKERS = re.compile(
    r"(prefill|decode) (\d{1,18})x\(tp(\d{1,18}) pp(\d{1,18}) dp(\d{1,18}) ep(\d{1,18})\)"
)  # "prefill 2x(tp8 pp1 dp1 ep1) decode ..."


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSplit:
    """Workers alike, and how one of them is cut over its chips."""

    workers: int
    tp: int
    pp: int
    ep: int
    attention_dp: bool = False
    free: bool = False  # the row tells tp, but not how experts and attention share the chips


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedAsk:
    """One served row."""

    arch: Arch
    weights: str
    kv: str
    engine: Engine
    card: Card
    cut: WorkerSplit | None  # None: not told, the best there is
    prefill: WorkerSplit | None  # where prompts have workers of their own; `cut` is then of the others
    chips: int
    load: float | None  # requests in flight at once; None: as many as fit, or what `sent` says
    prompt_tok: float
    output_tok: float
    context_tok: float  # that the engine is started for
    metric: str
    sent: ServedLoad = NOTHING_SAID
    budget_tok: float | None = None  # what the row says of the engine's settings
    max_seqs: float | None = None
    utilisation: float | None = None
    drafts: ServedDrafts = NO_DRAFTS
    assumed: tuple[Sentence, ...] = ()

    @property
    def chip(self) -> Chip:
        """The accelerator."""
        return self.card.chip


def read_served(row: Row) -> ServedAsk:
    """What a row asks; raises a RigError that says what is missing."""
    arch, notes = model_of(row)
    if arch.vocab == 0 or arch.task not in {"text", "image-text", "audio-text"}:
        raise AskError(say("{model} does not generate text", model=arch.name))
    assumed = list(notes)
    engine = _engine(row, assumed)
    if not row.get("chip"):
        raise AskError(say("the row has no chip"))
    card = first_card(row["chip"])
    # the format told; else as published, or what the chip multiplies fastest
    told = row.get("weights")
    if told == "fp32" and load_of(row, arch).manner:  # of tuned runs a slip: nobody serves so many bytes
        told = "mxfp4" if card.chip.vendor == "AMD" else "nvfp4"
        told = told if card.chip.fp4_flops_per_s else "fp8"
        assumed.append(say("weights not stated: assuming {weights}", weights=told))
    if told is None:
        told = arch.stored or ("fp8" if card.chip.fp8_flops_per_s else arch.dtype)
        assumed.append(say("weights not stated: assuming {weights}", weights=told))
    weights = as_published(arch, find_format(engine.says.get(told.lower(), told)).id)
    sent = load_of(row, arch)
    prompt, output = _lengths(sent, assumed)
    chips = row.get("n_chips") or (row.get("tp") or 1) * (row.get("pp") or 1) * (row.get("dp") or 1)
    prefill, cut = cuts_of(row, chips=chips, assumed=assumed)
    load = row.get("load") if row.get("mode") != "max" and sent.rate_per_s is None else None
    if prefill is not None and load is None and sent.rate_per_s is None:
        raise AskError(say("separate prefill and decode workers need a load: concurrency or request rate"))
    drafts = drafts_of(row, arch, engine=engine.id)
    if drafts.drafted_tok:
        assumed.append(say("these runs drafted {tok} tokens per pass", tok=f"{drafts.drafted_tok:g}"))
    return ServedAsk(
        arch=arch, weights=weights, kv=_kv(row, weights=weights, engine=engine, assumed=assumed),
        engine=engine, card=card, cut=cut, prefill=prefill, chips=chips,
        load=load,
        prompt_tok=prompt, output_tok=output, context_tok=_context_tok(row, arch, tok=prompt + output),
        metric=row["metric"],
        sent=sent, budget_tok=row.get("max_num_batched_tokens"), max_seqs=row.get("max_num_seqs"),
        utilisation=row.get("gpu_memory_utilization"), drafts=drafts, assumed=tuple(assumed),
    )  # fmt: skip


def _engine(row: Row, assumed: list[Sentence]) -> Engine:
    """The engine at its version; one older than the day it ran is of something around it."""
    name, version = row.get("engine") or "vllm", row.get("engine_version") or ""
    newest, day = find_engine(name), row.get("measured") or ""
    own = re.compile(rf"(?:^v?|\(|{newest.id} v?)(\d+(?:\.\d+)+)", re.IGNORECASE)
    told = own.search(version)
    if told and not (day >= LATE and newest.version >= "1" and told[1] < "1"):
        return find_engine(f"{newest.id} {told[1]}")
    if day:
        return at_date(newest, day)
    assumed.append(say("{engine} version not stated: assuming the newest", engine=newest.label))
    return newest


@cache
def first_card(chip: str) -> Card:
    """A file of runs names few chips, many times."""
    return find_node(chip).cards[0]


def _kv(row: Row, *, weights: str, engine: Engine, assumed: list[Sentence]) -> str:
    if row.get("kv"):
        return find_kv_format(row["kv"]).id
    narrow = weights.startswith(("fp8", "nvfp4")) and engine.kv_save == "fp8"
    kv = "fp8" if narrow else "16bit"
    assumed.append(say("KV cache format not stated: assuming {kv}", kv=kv))
    return kv


def _lengths(sent: ServedLoad, assumed: list[Sentence]) -> tuple[float, float]:
    """Lengths told, by the row or its benchmark; else the middle of how people run."""
    usual = priors("serving")
    prompt = usual["prompt_tok"].middle if sent.prompt_tok is None else sent.prompt_tok
    output = usual["output_tok"].middle if sent.output_tok is None else sent.output_tok
    if not sent.said_output:
        assumed.append(say("output length not stated: assuming {tok} tokens", tok=f"{output:g}"))
    if not sent.said_prompt:
        assumed.append(say("prompt length not stated: assuming {tok} tokens", tok=f"{prompt:.4g}"))
    return max(float(prompt), 1.0), max(float(output), 1.0)


def _context_tok(row: Row, arch: Arch, *, tok: float) -> float:
    """The context told, or that of such a service."""
    return float(row.get("context_tok") or usual_context_tok(SERVE, arch, tok=tok))


def cuts_of(
    row: Row, *, chips: int, assumed: list[Sentence]
) -> tuple[WorkerSplit | None, WorkerSplit | None]:
    """Workers for prompts (or none) and for tokens (None: nobody says how they are cut)."""
    if row.get("disagg"):
        found = {match[1]: _worker(match) for match in _WORKERS.finditer(row["disagg"])}
        if set(found) != {"prefill", "decode"}:
            raise AskError(
                say('cannot read workers "{text}"; for example "prefill 1x(tp8 pp1 dp1 ep1) decode ..."',
                    text=row["disagg"])
            )  # fmt: skip
        return found["prefill"], found["decode"]
    if row.get("tp") is None:
        assumed.append(say("layout not stated: assuming the best one"))
        return None, None
    # attention ranks times their tp make a replica; sources write one or the other where both are alike
    tp, pp, ep = row["tp"], row.get("pp") or 1, row.get("ep") or 1
    told = row.get("attn_dp") or 1
    spreads = bool(row.get("attention_dp")) or told == math.inf  # each rank has sequences of its own
    ranks = max(1 if told == math.inf else told, ep // tp)  # experts cut over more ranks than tensors are
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
    cut = WorkerSplit(
        workers=max(1, chips // (each * pp)),
        tp=each,
        pp=pp,
        ep=min(ep, each),
        attention_dp=ranks > 1,
        free=row.get("ep") is None and row.get("mode") == "max",
    )
    return None, cut


def _worker(match: re.Match[str]) -> WorkerSplit:
    workers, tp, pp, dp, ep = map(int, match.groups()[1:])
    return WorkerSplit(workers=workers, tp=tp * dp, pp=pp, ep=ep, attention_dp=dp > 1)
