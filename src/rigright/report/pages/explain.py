"""The page of `explain` for a model that serves: verdict, memory, figures, or what to change."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby

from rigright.base import telling
from rigright.base.page import (
    Bars,
    Commands,
    Line,
    Page,
    Part,
    Shown,
    Table,
    answer_of,
    number,
    prose,
    table,
)
from rigright.base.units import GIB, show_bytes, show_seconds, show_short, to_gib
from rigright.base.words import Sentence, say, with_commas
from rigright.choice.ways import is_lossy
from rigright.cost.memory.serving import PARTS
from rigright.facts.chips import short
from rigright.predict.timed import Speed
from rigright.report.pages import brief, figures
from rigright.search import sure
from rigright.search.record import LEAST_SPARE
from rigright.verbs.serving.explained import CardUse, Explained

_NEAR = 2  # times the context: so near a limit on it is worth a word on line 1

Group = tuple[int, CardUse]  # so many cards alike


def page(result: Explained, *, why: bool = False, details: bool = False) -> Page:
    """The page for people."""
    answer = _verdict(result)
    return Page.of(
        answer,
        _parts(result, details=details),
        brief.reasons_table(result.why, brief.NAMES) if why else None,
        brief.note_lines(result.notes, details=details, decided=answer.tone != "bad"),
        Commands.next(brief.next_of(result, details=details)),
    )


def _parts(result: Explained, *, details: bool) -> Iterator[Part]:
    """Memory, then speed and limits, or what to change; with `details` part by part."""
    groups, ram, card = _groups(result), result.ram, result.fullest
    if details:
        version = f"{result.engine_version} ({result.backend})" if result.backend else result.engine_version
        fields = {"machine": result.machine, "engine": result.engine, "version": version}
        yield Line.dim(say("{machine}, {engine} {version}", **fields))
    bars = [
        *brief.memory_bar(card.parts_bytes, limit=card.total_bytes, label=brief.memory_name(card.chip)).bars
    ]
    if ram is not None:
        parts = ((say("weights"), ram.used_bytes),)
        bars.append(brief.bar_of(say("RAM"), parts, limit=ram.total_bytes, show=brief.gib))
    yield Bars(bars=tuple(bars))
    if details:
        yield _memory(groups)
    if ram is not None:
        times = {"ram": show_seconds(ram.token_s), "card": show_seconds(ram.cards_s)}
        yield Line(text=ram.words)
        yield Line.dim(say("each token: {ram} on the CPU, {card} on the GPU", **times))
    if details or not result.fits:
        yield from brief.remedies_table(result.remedies, most=None if details else brief.FEW_REMEDIES)
    if not (details or result.fits):
        return
    money = tuple(figures.money_rows(result.figures, wish=result.wish))  # where that was asked
    if result.speed is not None:
        yield figures.figures_table(result.speed, more=(*money, *_reach(result, details=details)))
        yield figures.limited_by(result.speed, hosted=ram is not None or brief.is_cpu(card.chip))
    elif result.samples is not None:
        yield figures.samples_table(result.samples, more=money, details=details)
    if details:
        yield from figures.time_tables(result.speed, result.samples)


def _verdict(result: Explained) -> Line:
    card = result.fullest
    if not result.fits:
        return Line.bad(_refusal(result, card))
    doubts: list[Sentence] = []
    fills = result.limits is not None and result.limits.pool_tok is not None
    fills = fills or result.ram is not None  # what has no room lies in main memory
    doubts += sure.little_spare(card.spare_bytes, total_bytes=card.total_bytes, fills=fills)
    doubts += sure.deciding(result.notes)
    doubts += sure.idle_cards(result.supply, used=len(result.cards))
    speed, strains = result.speed, list[Sentence]()
    if speed is not None and speed.rate_per_s is not None and not math.isfinite(speed.ttft_s.value):
        return Line.bad(_overloaded(result, speed, rate=speed.rate_per_s))
    if result.broken:
        return Line.bad(brief.misses(short(result.machine), result.broken, fields=result.held))
    wish = result.wish
    doubts += sure.unsure(result.certainty, safe=result.safe, limits=sure.time_limits(wish))
    hurried = wish.ttft_s or wish.tpot_s or wish.tok_per_s
    if speed is not None and speed.audio_h_per_h is None and not hurried:
        pace = {"ttft_s": speed.ttft_s.value, "tpot_s": speed.tpot_s.value}
        strains += sure.strained(wish.work, users=speed.concurrency, prompt_tok=speed.prompt_tok, **pace)
    money = brief.money_words(result.figures, result.supply, currency=wish.currency, days=result.days)
    lossy = is_lossy(result.serving, asked=bool(wish.weights) or wish.quality is not None)
    doubts += [sure.MORE_BITS] * lossy
    sentence = brief.runs(
        lossy,
        machine=short(result.machine),
        model=brief.model_name(result.model),
        format=brief.short_format(result.serving.weights),
        figures=with_commas([_figures(result, waits=bool(strains)), money]) or "",
    )
    return brief.doubted(sentence, (*doubts, *strains))


def _overloaded(result: Explained, speed: Speed, *, rate: float) -> Sentence:
    served = speed.output_tok_per_s.value / speed.output_tok
    alone = len(result.cards) == 1
    return brief.overloaded(short(result.machine), served=served, rate=rate, needed=None, is_one=alone)


def _figures(result: Explained, *, waits: bool) -> Sentence | None:
    """What a person wants to know first; `waits`: how long one waits for the first token is said after it."""
    limits = result.limits
    if result.speed is not None and result.speed.audio_h_per_h is not None:
        hours = show_short(result.speed.audio_h_per_h.value)
        users = say("concurrency {users}", users=f"{result.speed.running:,.0f}")
        return with_commas([say("{hours} hours of audio per hour", hours=hours), users])
    if result.speed is not None:
        speed = result.speed
        rate = show_short(
            speed.output_tok_per_s.value if speed.concurrency > 1 else speed.user_tok_per_s.value
        )
        sentence = say("{rate} tok/s", rate=rate)
        if speed.concurrency > 1:
            sentence = brief.expected(rate, users=speed.concurrency, safe=result.safe)
        if result.days is not None:
            return with_commas([brief.done_in(result.days), sentence])
        ttft = (
            None
            if waits
            else say(
                "TTFT{at} {time}",
                at=figures.at_share(speed.percentile),
                time=show_seconds(speed.ttft_s.value),
            )
        )
        cache = None
        if limits is not None and limits.pool_tok is not None:
            cache = say("KV cache for {tokens} tokens", tokens=f"{limits.pool_tok:,}")
        elif (
            limits is not None
            and result.fullest.spare_bytes >= LEAST_SPARE * result.fullest.total_bytes
            and (limits.context_tok or math.inf) < _NEAR * result.serving.context_tok
        ):
            cache = say("at most {tokens} context", tokens=brief.show_tokens(limits.context_tok or 0))
        return with_commas([sentence, ttft, cache])
    if result.samples is not None:
        done = None if result.days is None else brief.done_in(result.days)
        return with_commas([done, figures.sample_rate(result.samples)])
    return say("{spare} to spare", spare=show_bytes(result.fullest.spare_bytes))


def _refusal(result: Explained, card: CardUse) -> Sentence:
    """What it takes and what there is, and the best change that helps."""
    need = card.need_bytes
    able = need + card.spare_bytes  # what the engine may use
    have = card.free_bytes if need > card.free_bytes else able
    fields = {"need": show_bytes(need), "chip": short(card.name), "have": show_bytes(max(have, 0.0))}
    sentence = say("does not fit: needs {need}, the {chip} has {have}", **fields)
    if need <= card.free_bytes:
        sentence = say(
            "does not fit: needs {need}, {engine} may use {have} of the {chip}",
            engine=result.engine,
            **fields,
        )
    return brief.helped(sentence, result.remedies)


def _groups(result: Explained) -> list[Group]:
    """Cards one after another that are used alike, counted."""

    def alike(card: CardUse) -> tuple[object, ...]:
        return card.name, card.parts_bytes, card.pool_bytes, card.total_bytes, card.free_bytes

    return [(len(same), same[0]) for _, group in groupby(result.cards, alike) for same in [list(group)]]


def _memory(groups: list[Group]) -> Table:
    """Part by part, a column for cards alike."""
    cards = [card for _, card in groups]
    parts = [dict(card.parts_bytes) for card in cards]
    kept = [card.free_bytes - card.need_bytes - card.spare_bytes for card in cards]
    layers = ["" if card.layers is None else f"{card.layers[0]}-{card.layers[1] - 1}" for card in cards]
    bands = (f"{to_gib(card.used_low_bytes):.2f}-{to_gib(card.used_high_bytes):.2f}" for card in cards)
    sizes = [(brief.NAMES[name], [part[name] for part in parts]) for name in (*PARTS, "unused")]
    driver = (say("reported by the driver"), [card.used_bytes for card in cards])
    after = [(say("free before start"), [card.free_bytes for card in cards])]
    after += [(say("reserved by the engine setting"), kept)] if max(kept) > 0.01 * GIB else []
    after += [(say("remaining"), [card.spare_bytes for card in cards])]
    rows: tuple[tuple[Shown, ...], ...] = (
        (say("layers"), *layers),
        *brief.gib_rows(item for item in sizes if any(size > 0 for size in item[1])),
        *brief.gib_rows([(say("allocated by tensors"), [card.allocated_bytes for card in cards]), driver]),
        (say("  80 % band"), *bands),
        *brief.gib_rows(after),
    )
    names = (card.name if count == 1 else f"{count}x {card.name}" for count, card in groups)
    shown = (row for row in rows if any(row[1:]))
    return table((prose(say("part")), *map(number, names)), shown, title=say("memory per GPU, GiB"))


def _reach(result: Explained, *, details: bool) -> Iterator[tuple[Shown | None, ...]]:
    """How far it goes, as rows; with `details` what the engine will log of its cache."""
    limits, serving = result.limits, result.serving
    if limits is None:
        return
    head, most = say("max context at concurrency {batch}, tokens", batch=serving.batch), limits.context_tok
    yield head, say("unlimited") if most is None else f"{most:,}"
    head = say("max concurrency at {context} tokens", context=f"{serving.context_tok:,}")
    yield head, f"{limits.batch:,}"
    if not details:
        return
    if limits.model_context_tok is not None:
        yield say("max context of the model, tokens"), f"{limits.model_context_tok:,}"
    yield say("{kv} KV cache of one more token, per GPU", kv=serving.kv), show_bytes(limits.token_bytes)
    if limits.pool_tok is not None:
        band = f"{limits.pool_low_tok:,}-{limits.pool_high_tok:,}"
        yield say("KV cache in the log of the engine, tokens"), f"{limits.pool_tok:,}", band
        yield say("KV cache in the log of the engine, blocks"), f"{limits.blocks:,}"


plain = telling.RecordPrinter(Explained, verdict=answer_of(_verdict))
