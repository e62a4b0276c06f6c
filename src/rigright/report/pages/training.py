"""The page of `explain --train`: verdict, bar and table of memory, how far it goes, what to change."""

from __future__ import annotations

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
    Piece,
    Points,
    Shown,
    Table,
    answer_of,
    number,
    table,
)
from rigright.base.units import GIGA, show_bytes, show_count, show_seconds, show_short
from rigright.base.words import Sentence, say, with_commas
from rigright.cost.estimate import Estimate
from rigright.facts.chips import short
from rigright.predict.trained_step import StepUse
from rigright.report.pages import brief
from rigright.report.pages.figures import (
    estimates_table,
    figure_row,
    learning_lines,
    money_rows,
    sample_settings,
    sample_speeds,
    sample_table,
)
from rigright.verbs.training.trained import RankUse, Trained

_HOUR_S = 3600
TIMES = {
    "forward": say("forward pass"),
    "backward": say("backward pass"),
    "recompute": say("recomputation"),
    "scoring": say("scoring: reference, reward and old log-probabilities"),
    "rollout": say("rollout, weights to the engine first"),
    "optimizer": say("optimizer"),
    "tp": say("tensor parallel, exposed"),
    "dp": say("data parallel, exposed"),
    "pp": say("pipeline transfers"),
    "ep": say("expert parallel, exposed"),
    "cp": say("context parallel, exposed"),
    "bubble": say("pipeline bubble and stragglers"),
    "host": say("CPU launch overhead"),
}
BOUNDS = {
    "compute": say("limited by compute"),
    "links": say("limited by the interconnect"),
    "bubble": say("limited by the pipeline bubble"),
    "host": say("limited by CPU launches: use larger micro-batches"),
    "rollout": say("limited by the rollout: completions are written token by token"),
    "scoring": say("limited by scoring passes"),
    "optimizer": say("limited by the optimizer: accumulate more micro-batches"),
}
NAMES = {
    "frozen": say("frozen weights"),
    "weights": say("trainable weights"),
    "master": say("master weights"),
    "gradients": say("gradients"),
    "optimizer": say("optimizer"),
    "activations": say("activations"),
    "working": say("layer workspace"),
    "loss": say("logits and loss"),
    "gathered": say("gathered weights"),
    "buckets": say("buckets"),
    "casts": say("cast copies"),
    "step": say("optimizer step"),
    "engine": say("rollout engine"),
    "kv": say("KV cache of the rollout"),
    "reserved": say("reserved"),
    "device": say("device"),
}
PHASES = {
    "load": say("after loading"),
    "update": say("update"),
    "rollout": say("rollout"),
    "scoring": say("scoring"),
    "backward-start": say("start of the backward pass"),
    "backward-end": say("end of the backward pass"),
    "step": say("optimizer step"),
}
APART = ("rollout", "scoring")  # phases of a step before the model learns
MODES = {
    "sleep": say("asleep while the model learns"),
    "colocate": say("awake while the model learns"),
    "apart": say("on GPUs of its own"),
}
MOST_STAGES = 8  # shown one by one; the rest in `--json`


def page(result: Trained, *, why: bool = False, details: bool = False) -> Page:
    """The page for people."""
    answer = _verdict(result)
    names = NAMES | {f"{part}_s": name for part, name in TIMES.items()}
    return Page.of(
        answer,
        _detailed(result) if details else _brief(result),
        brief.reasons_table(result.why, names, title=say("why")) if why else None,
        brief.note_lines(result.notes, details=details, decided=answer.tone != "bad"),
        Commands.next(_next(result, details=details) if result.asked else ()),
    )


def _brief(result: Trained) -> Iterator[Part]:
    """Memory of the fullest rank, then speed and limits, or what to change."""
    worst = result.worst
    sizes = [*worst.parts_bytes, ("rest", worst.used_bytes - sum(size for _, size in worst.parts_bytes))]
    yield brief.memory_bar(sizes, limit=worst.total_bytes, names=brief.TRAINED)
    yield Line.dim(_learns(result))
    if not result.fits:
        yield from brief.remedies_table(result.remedies, most=brief.FEW_REMEDIES)
        return
    rows: list[tuple[Shown, ...]] = []
    if result.time is not None:
        rows += step_rows(result.time, learns_from=result.training.post is not None)
    if result.samples is not None:
        rows += sample_speeds(result.samples)
    rows += money_rows(result.figures, wish=result.wish)
    if result.samples is not None:
        rows += sample_settings(result.samples)
    rows.append((say("max micro-batch"), f"{result.limits.micro_batch:,}", ""))
    if result.limits.seq_tok is not None:
        rows.append((say("max sequence, tokens"), f"{result.limits.seq_tok:,}", ""))
    yield estimates_table(rows)
    if result.training.post is not None:
        yield _phases(result)
        yield from map(Line.dim, _engines(result))
    if result.time is not None:
        yield Line.dim(BOUNDS[result.time.bound])


def _detailed(result: Trained) -> Iterator[Part]:
    """Everything but notes."""
    machine = say("{machine}, {trainer}", machine=result.machine, trainer=result.trainer)
    yield Line.dim(machine)
    yield _bars(result)
    yield _table(result)
    if result.training.post is not None:
        yield _phases(result)
    if result.time is not None:
        yield time_table(result.time)
    if result.samples is not None:
        yield sample_table(result.samples)
        yield Points.of(learning_lines(result.samples))
    yield Points.of(_facts(result))
    yield from brief.remedies_table(result.remedies)


def _verdict(result: Trained) -> Line:
    worst = result.worst
    size, total = show_bytes(result.peak_bytes), show_bytes(worst.total_bytes)
    if not result.fits:
        sentence = say(
            "does not fit: needs {need} on the fullest GPU, which has {have}", need=size, have=total
        )
        return Line.bad(brief.helped(sentence, result.remedies))
    if result.broken:
        return Line.bad(brief.misses(short(result.machine), result.broken, fields={}))
    figures: list[Shown] = [say("peak {size} of {total}", size=size, total=total)]
    if result.time is not None:
        figures.insert(0, _pace(result.time, steps=result.training.post is not None))
    elif result.samples is not None:
        figures.insert(0, say("{rate} images/s", rate=show_short(result.samples.rate.value)))
    if result.days is not None:
        figures.insert(0, brief.done_in(result.days))
    figures.append(
        brief.money_words(result.figures, result.supply, currency=result.wish.currency, days=result.days)
    )
    sentence = say("{machine} trains {model} ({format}): {figures}", machine=short(result.machine),
               model=brief.model_name(result.model), format=brief.method_label(result.training),
               figures=with_commas(figures) or "")  # fmt: skip
    return brief.doubted(sentence, _doubts(result))


def _pace(step: StepUse, *, steps: bool) -> Sentence:
    if steps:
        return say("{rate} steps/hour", rate=show_short(step.steps_per_h.value))
    return say("{rate} tok/s", rate=show_short(step.tok_per_s))


def _phases(result: Trained) -> Table:
    """Memory and time of what follows upon each other in a step."""
    worst, times = result.worst, dict(result.time.parts_s) if result.time else {}
    sizes = dict(worst.phases_bytes)
    update = max(size for name, size in sizes.items() if name not in {*APART, "load"})
    took = {name: times.get(name, 0.0) for name in APART}
    took["update"] = sum(times.values()) - sum(took.values())
    peak = worst.peak_phase if worst.peak_phase in APART else "update"
    rows = [
        (
            say("{phase} (peak)", phase=PHASES[name]) if name == peak else PHASES[name],
            show_bytes(size),
            show_seconds(took[name]) if times else "",
        )
        for name, size in (*((name, sizes[name]) for name in APART if name in sizes), ("update", update))
    ]
    return table((say("phase"), number(say("allocated per GPU")), number(say("time"))), rows)


def _engines(result: Trained) -> Iterator[Sentence]:
    """How completions are written."""
    row, post = result.rollout, result.training.post
    if row is None or post is None:
        return
    tokens = {"completion": f"{post.completion_tok:,}", "tokens": f"{result.training.seq_tok:,}"}
    fields = {"prompts": row.prompts, "group": post.group, **tokens}
    yield say("{prompts} prompts x {group} completions, {completion} of {tokens} tokens written", **fields)
    yield say(
        "rollout: vLLM, {count} x tensor parallel {gpus}, {seqs} completions at once each, "
        "gpu_memory_utilization {share}, {mode}",
        count=row.engines, gpus=post.rollout_tp, seqs=row.at_once, share=f"{row.share:.2f}",
        mode=MODES[post.rollout],
    )  # fmt: skip
    yield say("each engine GPU gets {size} of new weights per step", size=show_bytes(row.sync_bytes))


def _doubts(result: Trained) -> Iterator[Sentence]:
    """What keeps a training from a plain tick."""
    worst, layout = result.worst, result.layout
    if worst.least_high_bytes > worst.total_bytes:
        yield brief.tight(worst.least_high_bytes)
    yield from brief.endless(result.days, by_days=result.by_days)
    yield from brief.unsure(result.certainty, safe=None, limits=brief.time_limits(result.wish))
    yield from brief.deciding(result.notes)
    yield from brief.idle_cards(result.supply, used=int(layout.tp * layout.pp * layout.dp * layout.cp))


def _bars(result: Trained) -> Bars:
    return Bars(bars=tuple(_bar(ranks) for ranks in _groups(result)), title=say("peak memory by rank"))


def _groups(result: Trained) -> list[list[RankUse]]:
    """Neighbouring stages that hold the same, as one."""
    return [list(group) for _, group in groupby(result.ranks, key=lambda rank: round(rank.used_bytes))][
        :MOST_STAGES
    ]


def _label(ranks: list[RankUse]) -> Sentence:
    count = sum(rank.ranks for rank in ranks)
    if len(ranks) == 1:
        return say("stage {stage}, {ranks} ranks", stage=ranks[0].stage, ranks=count)
    return say(
        "stages {first} to {last}, {ranks} ranks", first=ranks[0].stage, last=ranks[-1].stage, ranks=count
    )


def _bar(ranks: list[RankUse]) -> Bar:
    rank = ranks[0]
    pieces = [Piece(name=NAMES[part], size=size, shown=show_bytes(size)) for part, size in rank.parts_bytes]
    rest = (
        (say("allocator cache"), rank.reserved_bytes - rank.allocated_bytes),
        (say("context and NCCL"), rank.used_bytes - rank.reserved_bytes),
    )
    pieces += [Piece(name=name, size=size, shown=show_bytes(size)) for name, size in rest if size > 0]
    return Bar(
        label=_label(ranks),
        pieces=tuple(pieces),
        limit=rank.total_bytes,
        shown=f"{show_bytes(rank.used_bytes)} / {show_bytes(rank.total_bytes)}",
    )


def _table(result: Trained) -> Table:
    groups = _groups(result)
    known = {part for group in groups for part, _ in group[0].parts_bytes}
    rows: list[tuple[Shown, ...]] = [
        (NAMES[part], *(show_bytes(dict(group[0].parts_bytes).get(part, 0)) for group in groups))
        for part in NAMES
        if part in known
    ]
    totals = (
        (say("allocated by PyTorch"), [group[0].allocated_bytes for group in groups]),
        (say("reserved by PyTorch"), [group[0].reserved_bytes for group in groups]),
        (say("on the device"), [group[0].used_bytes for group in groups]),
    )
    rows += [(name, *(show_bytes(size) for size in sizes)) for name, sizes in totals]
    return table((say("part"), *(number(_label(group)) for group in groups)), rows, totals=True)


def step_rows(step: StepUse, *, learns_from: bool = False) -> Iterator[tuple[Shown, ...]]:
    """What a person wants of a step, with its band; `learns_from`: preferences or rewards."""
    yield figure_row(say("step, s"), step.step_s)
    if learns_from:
        yield figure_row(say("steps/hour"), step.steps_per_h)
        yield figure_row(say("samples/s"), step.times(step.samples_per_s * step.step_s.value))
    yield figure_row(say("tok/s per GPU"), step.tok_per_s_per_chip)
    yield say("MFU, %"), show_short(100 * step.mfu), ""
    yield say("1B tokens, hours"), show_short(GIGA / step.tok_per_s / _HOUR_S), ""


def time_table(step: StepUse) -> Table:
    """Where the time of a step goes."""
    rows = tuple(
        (TIMES[name], show_seconds(seconds), f"{seconds / step.step_s.value:.0%}")
        for name, seconds in step.parts_s
    )
    total = (
        say("one step, {tokens} tokens", tokens=show_count(round(step.tok_per_step))),
        _range(step.step_s),
        "100%",
    )
    columns = (say("part"), number(say("time")), number(say("share")))
    return table(columns, (*rows, total), title=say("time of one step"), totals=True)


def speed_facts(step: StepUse) -> Iterator[Sentence]:
    """What limits it, and how long a billion tokens take."""
    yield BOUNDS[step.bound]
    yield say(
        "MFU {mfu}; HFU {hfu} with recomputation",
        mfu=f"{step.mfu:.1%}",
        hfu=f"{step.hfu:.1%}",
    )
    yield say("1B tokens take {time}", time=show_seconds(GIGA / step.tok_per_s))


def _range(seconds: Estimate) -> str:
    return f"{show_seconds(seconds.value)} ({show_seconds(seconds.low)}-{show_seconds(seconds.high)})"


def _facts(result: Trained) -> Iterator[Sentence]:
    if result.time is not None:
        yield from speed_facts(result.time)
    yield from _engines(result)
    yield _learns(result)
    yield say("max micro-batch at this length: {batch}", batch=result.limits.micro_batch)
    if result.limits.seq_tok is not None:
        yield say("max sequence at this micro-batch: {tokens} tokens", tokens=f"{result.limits.seq_tok:,}")
    if result.host_bytes:
        yield say("each rank keeps {size} in host memory", size=show_bytes(result.host_bytes))
    if result.nvme_bytes:
        yield say("each rank keeps {size} on NVMe", size=show_bytes(result.nvme_bytes))


def _learns(result: Trained) -> Sentence:
    """What is trained, in which numbers and with which optimizer: memory hangs on them."""
    return say(
        "{learns} of {params} parameters trainable; {precision}; {optimizer}",
        learns=show_count(result.learnt_params),
        params=show_count(result.params),
        precision=result.precision,
        optimizer=result.optimizer,
    )


def _next(result: Trained, *, details: bool) -> Iterator[str]:
    if flag := brief.suited(result.remedies):
        yield brief.again(result.asked, flag)
    elif result.quicker is not None:
        yield brief.again(result.asked, f"--micro-batch {result.quicker}")
    yield f"{result.asked} --why" if details else f"{result.asked} --details"


plain = telling.RecordPrinter(Trained, verdict=answer_of(_verdict))
