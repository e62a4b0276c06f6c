"""The page of `explain` for a model that serves: verdict, bar and table of memory, limits, what to change."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby

from rigright.base import telling
from rigright.base.page import (
    Bar,
    Bars,
    Commands,
    Line,
    Page,
    Part,
    Points,
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
from rigright.facts.hosts import CPU_ID
from rigright.predict.timed import Speed
from rigright.report.pages import brief
from rigright.report.pages.figures import (
    at_share,
    figures_table,
    limited_by,
    money_rows,
    sample_lines,
    sample_rate,
    sample_table,
    samples_table,
    speed_lines,
    speed_table,
)
from rigright.search.record import LEAST_SPARE
from rigright.verbs.serving.explained import CardUse, Explained, RamUse, ServingReach

_NEAR = 2  # times the context: so near a limit on it is worth a word on line 1

Group = tuple[int, CardUse]  # so many cards alike


def page(result: Explained, *, why: bool = False, details: bool = False) -> Page:
    """The page for people."""
    answer = _verdict(result)
    return Page.of(
        answer,
        _detailed(result) if details else _brief(result),
        brief.reasons_table(result.why, brief.NAMES) if why else None,
        brief.note_lines(result.notes, details=details, decided=answer.tone != "bad"),
        Commands.next(_next(result, details=details) if result.asked else ()),
    )


def _brief(result: Explained) -> Iterator[Part]:
    """Memory of the fullest card, then speed and limits, or what to change."""
    card = result.fullest
    bars = brief.memory_bar(card.parts_bytes, limit=card.total_bytes, label=brief.memory_name(card.chip)).bars
    yield Bars(bars=bars if result.ram is None else (*bars, _ram_bar(result.ram)))
    if result.ram is not None:
        yield from _ram_lines(result.ram)
    if not result.fits:
        yield from brief.remedies_table(result.remedies, most=brief.FEW_REMEDIES)
        return
    money = tuple(money_rows(result.figures, wish=result.wish))  # where that was asked
    if result.speed is not None:
        yield figures_table(result.speed, more=(*money, *_reach(result)))
        alone = result.fullest.chip.startswith(CPU_ID)
        yield limited_by(result.speed, hosted=result.ram is not None or alone)
    elif result.samples is not None:
        yield samples_table(result.samples, more=money)


def _ram_bar(ram: RamUse) -> Bar:
    """Main memory, as far as the model fills it."""
    return brief.bar_of(
        say("RAM"), ((say("weights"), ram.used_bytes),), limit=ram.total_bytes, show=brief.gib
    )


def _ram_lines(ram: RamUse) -> Iterator[Part]:
    """What lies in main memory, who works how long on a token, and the flags."""
    times = {"ram": show_seconds(ram.token_s), "card": show_seconds(ram.cards_s)}
    yield Line(text=ram.words)
    yield Line.dim(say("each token: {ram} on the CPU, {card} on the GPU", **times))


def _reach(result: Explained) -> Iterator[tuple[Shown, ...]]:
    """How far it goes, as rows."""
    limits, serving = result.limits, result.serving
    if limits is None:
        return
    if limits.context_tok is not None:
        head = say("max context at concurrency {batch}, tokens", batch=serving.batch)
        yield head, f"{limits.context_tok:,}", ""
    head = say("max concurrency at {context} tokens", context=f"{serving.context_tok:,}")
    yield head, f"{limits.batch:,}", ""


def _detailed(result: Explained) -> Iterator[Part]:
    """Everything but notes."""
    version = f"{result.engine_version} ({result.backend})" if result.backend else result.engine_version
    machine = say(
        "{machine}, {engine} {version}", machine=result.machine, engine=result.engine, version=version
    )
    yield Line.dim(machine)
    yield _bars(result)
    yield _table(result)
    if result.ram is not None:
        yield from _ram_lines(result.ram)
    if result.limits is not None:
        yield Points.of(_limits(result, result.limits))
    if result.speed is not None:
        yield speed_table(result.speed)
        if result.speed.audio_h_per_h is None:
            yield Points.of(speed_lines(result.speed))
    if result.samples is not None:
        yield sample_table(result.samples)
        yield Points.of(sample_lines(result.samples))
    yield from brief.remedies_table(result.remedies)


def _verdict(result: Explained) -> Line:
    card = result.fullest
    if not result.fits:
        return Line.bad(_refusal(result, card))
    doubts: list[Sentence] = []
    fills = result.limits is not None and result.limits.pool_tok is not None
    fills = fills or result.ram is not None  # what has no room lies in main memory
    doubts += brief.little_spare(card.spare_bytes, total_bytes=card.total_bytes, fills=fills)
    doubts += brief.deciding(result.notes)
    doubts += brief.idle_cards(result.supply, used=len(result.cards))
    speed, strains = result.speed, list[Sentence]()
    if speed is not None and speed.rate_per_s is not None and not math.isfinite(speed.ttft_s.value):
        return Line.bad(_overloaded(result, speed, rate=speed.rate_per_s))
    if result.broken:
        return Line.bad(brief.misses(short(result.machine), result.broken, fields=result.held))
    wish = result.wish
    doubts += brief.unsure(result.certainty, safe=result.safe, limits=brief.time_limits(wish))
    hurried = wish.ttft_s or wish.tpot_s or wish.tok_per_s
    if speed is not None and speed.audio_h_per_h is None and not hurried:
        pace = {"ttft_s": speed.ttft_s.value, "tpot_s": speed.tpot_s.value}
        strains += brief.strained(wish.work, users=speed.concurrency, prompt_tok=speed.prompt_tok, **pace)
    money = brief.money_words(result.figures, result.supply, currency=wish.currency, days=result.days)
    lossy = is_lossy(result.serving, asked=bool(wish.weights) or wish.quality is not None)
    doubts += [brief.MORE_BITS] * lossy
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
            else say("TTFT{at} {time}", at=at_share(speed.percentile), time=show_seconds(speed.ttft_s.value))
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
        return with_commas([done, sample_rate(result.samples)])
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


def _kept_free(cards: list[CardUse]) -> list[tuple[Shown, ...]]:
    """The share an engine leaves to others, where it leaves one."""
    asked = [card.need_bytes for card in cards]
    kept = [card.free_bytes - need - card.spare_bytes for card, need in zip(cards, asked, strict=True)]
    return (
        [(say("reserved by the engine setting"), *(_gib(size) for size in kept))]
        if max(kept) > 0.01 * GIB
        else []
    )


def groups(cards: tuple[CardUse, ...]) -> list[Group]:
    """Cards one after another that are used alike, counted."""

    def alike(card: CardUse) -> tuple[object, ...]:
        return card.name, card.parts_bytes, card.pool_bytes, card.total_bytes, card.free_bytes

    return [(len(same), same[0]) for _, grouped in groupby(cards, alike) for same in [list(grouped)]]


def _label(count: int, card: CardUse) -> str:
    return card.name if count == 1 else f"{count}x {card.name}"


def _bars(result: Explained) -> Bars:
    return Bars(
        bars=tuple(
            brief.bar_of(
                short(_label(count, card)),
                ((brief.NAMES[part], size) for part, size in card.parts_bytes),
                limit=card.total_bytes,
                used=card.used_bytes,
            )
            for count, card in groups(result.cards)
        )
    )


def _table(result: Explained) -> Table:
    shown = groups(result.cards)
    rows: list[tuple[Sentence | str, ...]] = [
        (brief.NAMES[part], *(_gib(dict(card.parts_bytes)[part]) for _, card in shown))
        for part in (*PARTS, "unused")
        if any(dict(card.parts_bytes)[part] > 0 for _, card in shown)
    ]
    rows += [
        (say("allocated by tensors"), *(_gib(card.allocated_bytes) for _, card in shown)),
        (say("reported by the driver"), *(_gib(card.used_bytes) for _, card in shown)),
        (
            say("  80 % band"),
            *(f"{to_gib(card.used_low_bytes):.2f}-{to_gib(card.used_high_bytes):.2f}" for _, card in shown),
        ),
        (say("free before start"), *(_gib(card.free_bytes) for _, card in shown)),
        *_kept_free([card for _, card in shown]),
        (say("remaining"), *(_gib(card.spare_bytes) for _, card in shown)),
    ]
    if any(card.layers for _, card in shown):
        rows.insert(0, (say("layers"), *(_layers(card) for _, card in shown)))
    heads = [number(_label(count, card)) for count, card in shown]
    return table((prose(say("part")), *heads), rows, title=say("memory per GPU, GiB"))


def _gib(size_bytes: float) -> str:
    return f"{to_gib(size_bytes):.2f}"


def _layers(card: CardUse) -> str:
    return "" if card.layers is None else f"{card.layers[0]}-{card.layers[1] - 1}"


def _limits(result: Explained, limits: ServingReach) -> Iterator[Sentence]:
    serving = result.serving
    yield say(
        "requested: {batch} x {context} tokens, {kv} KV cache; each additional token takes {bytes} per GPU",
        batch=serving.batch,
        context=f"{serving.context_tok:,}",
        kv=serving.kv,
        bytes=show_bytes(limits.token_bytes),
    )
    if limits.context_tok == 0 and limits.pool_tok == 0:
        yield say("the engine will not start: no memory is left for the KV cache")
        return
    if limits.pool_tok is not None:
        yield say(
            "the engine will log about {tokens} tokens of KV cache ({low} to {high}) in {blocks} blocks",
            tokens=f"{limits.pool_tok:,}",
            low=f"{limits.pool_low_tok:,}",
            high=f"{limits.pool_high_tok:,}",
            blocks=f"{limits.blocks:,}",
        )
    if limits.context_tok is None:
        yield say(
            "max context at concurrency {batch}: unlimited, memory does not grow with it", batch=serving.batch
        )
    elif limits.context_tok == limits.model_context_tok:
        yield say(
            "max context at concurrency {batch}: {context} tokens, the model's limit",
            batch=serving.batch,
            context=f"{limits.context_tok:,}",
        )
    else:
        yield say(
            "max context at concurrency {batch}: {context} tokens",
            batch=serving.batch,
            context=f"{limits.context_tok:,}",
        )
    yield say(
        "max concurrency at {context} tokens: {batch}",
        context=f"{serving.context_tok:,}",
        batch=f"{limits.batch:,}",
    )


def _next(result: Explained, *, details: bool) -> Iterator[str]:
    if flag := brief.suited(result.remedies):
        yield brief.again(result.asked, flag)
    yield f"{result.asked} --why" if details else f"{result.asked} --details"


plain = telling.RecordPrinter(Explained, verdict=answer_of(_verdict))
