"""The page of `explain --train`: verdict, bar and table of memory, how far it goes, what to change."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rigright.base import telling
from rigright.base.page import Commands, Line, Page, Part, Shown, Table, answer_of, number, prose, table
from rigright.base.units import GIGA, show_bytes, show_count, show_seconds, show_short
from rigright.base.words import Sentence, say, with_commas
from rigright.facts.chips import short
from rigright.predict.trained import StepUse
from rigright.report.pages import brief, figures
from rigright.search import sure
from rigright.verbs.training.case import RankUse, Trained

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
PHASES = {"rollout": say("rollout"), "scoring": say("scoring"), "update": say("update")}
APART = ("rollout", "scoring")  # phases of a step before the model learns
MODES = {
    "sleep": say("asleep while the model learns"),
    "colocate": say("awake while the model learns"),
    "apart": say("on GPUs of its own"),
}
MOST_STAGES = 8  # shown one by one; the rest in `--json`

Group = list[RankUse]  # neighbouring stages that hold the same


def page(result: Trained, *, why: bool = False, details: bool = False) -> Page:
    """The page for people."""
    answer = _verdict(result)
    names = NAMES | {f"{part}_s": name for part, name in TIMES.items()}
    return Page.of(
        answer,
        _parts(result, details=details),
        brief.reasons_table(result.why, names, title=say("why")) if why else None,
        brief.note_lines(result.notes, details=details, decided=answer.tone != "bad"),
        Commands.next(brief.next_of(result, details=details)),
    )


def _parts(result: Trained, *, details: bool) -> Iterator[Part]:
    """Memory of the fullest rank, then speed and limits, or what to change; with `details` part by part."""
    worst, samples, post = result.worst, result.samples, result.training.post
    if details:
        yield Line.dim(say("{machine}, {trainer}", machine=result.machine, trainer=result.trainer))
    sizes = [*worst.parts_bytes, ("rest", worst.used_bytes - sum(size for _, size in worst.parts_bytes))]
    yield brief.memory_bar(sizes, limit=worst.total_bytes, names=brief.TRAINED)
    learns, params = (show_count(count) for count in (result.learnt_params, result.params))
    fields = {"precision": result.precision, "optimizer": result.optimizer}
    fields |= {"learns": learns, "params": params}
    yield Line.dim(say("{learns} of {params} parameters trainable; {precision}; {optimizer}", **fields))
    if details:
        yield _memory(result)
    if details or not result.fits:
        yield from brief.remedies_table(result.remedies, most=None if details else brief.FEW_REMEDIES)
    if not (details or result.fits):
        return
    yield figures.estimates_table(
        (
            *(() if result.time is None else step_rows(result.time, details=details, post=post is not None)),
            *(() if samples is None else figures.sample_speeds(samples)),
            *figures.money_rows(result.figures, wish=result.wish),
            *(() if samples is None else figures.sample_settings(samples)),
            *_reach(result),
        )
    )
    if post is not None:
        yield _phases(result)
        yield from map(Line.dim, _engines(result))
    if result.time is not None:
        yield Line.dim(BOUNDS[result.time.bound])
    if details:
        yield from (time_table(step) for step in [result.time] if step is not None)
        yield from figures.time_tables(None, samples)


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
        yield sure.tight(worst.least_high_bytes)
    yield from sure.endless(result.days, by_days=result.by_days)
    yield from sure.unsure(result.certainty, safe=None, limits=sure.time_limits(result.wish))
    yield from sure.deciding(result.notes)
    yield from sure.idle_cards(result.supply, used=int(layout.tp * layout.pp * layout.dp * layout.cp))


def _memory(result: Trained) -> Table:
    """Peak memory part by part, a column for neighbouring stages that hold the same."""
    ranks = [list(same) for _, same in groupby(result.ranks, key=lambda rank: round(rank.used_bytes))]
    ranks = ranks[:MOST_STAGES]
    parts = [dict(group[0].parts_bytes) for group in ranks]
    rows = [
        *(
            (name, [part.get(key, 0.0) for part in parts])
            for key, name in NAMES.items()
            if any(key in part for part in parts)
        ),
        (say("allocated by PyTorch"), [group[0].allocated_bytes for group in ranks]),
        (say("reserved by PyTorch"), [group[0].reserved_bytes for group in ranks]),
        (say("on the device"), [group[0].used_bytes for group in ranks]),
    ]
    heads = (prose(say("part")), *(number(_label(group)) for group in ranks))
    return table(heads, brief.gib_rows(rows), title=say("peak memory by rank, GiB"), totals=True)


def _label(ranks: Group) -> Sentence:
    count, first, last = sum(rank.ranks for rank in ranks), ranks[0].stage, ranks[-1].stage
    if len(ranks) == 1:
        return say("stage {stage}, {ranks} ranks", stage=first, ranks=count)
    return say("stages {first} to {last}, {ranks} ranks", first=first, last=last, ranks=count)


def _reach(result: Trained) -> Iterator[tuple[Shown, ...]]:
    """How far it goes, and what lies beside the cards."""
    yield say("max micro-batch"), f"{result.limits.micro_batch:,}"
    if result.limits.seq_tok is not None:
        yield say("max sequence, tokens"), f"{result.limits.seq_tok:,}"
    if result.host_bytes:
        yield say("host memory per rank"), show_bytes(result.host_bytes)
    if result.nvme_bytes:
        yield say("NVMe per rank"), show_bytes(result.nvme_bytes)


def step_rows(step: StepUse, *, details: bool = False, post: bool = False) -> Iterator[tuple[Shown, ...]]:
    """What a person wants of a step, with its band; `post`: it learns from preferences or rewards."""
    yield figures.figure_row(say("step, s"), step.step_s)
    if post:
        yield figures.figure_row(say("steps/hour"), step.steps_per_h)
        yield figures.figure_row(say("samples/s"), step.times(step.samples_per_s * step.step_s.value))
    yield figures.figure_row(say("tok/s per GPU"), step.tok_per_s_per_chip)
    yield say("MFU, %"), show_short(100 * step.mfu)
    if details:
        yield say("HFU with recomputation, %"), show_short(100 * step.hfu)
    yield say("1B tokens, hours"), show_short(GIGA / step.tok_per_s / _HOUR_S)


def time_table(step: StepUse) -> Table:
    """Where the time of a step goes."""
    total = say("one step, {tokens} tokens", tokens=show_count(round(step.tok_per_step)))
    times = [*((TIMES[name], time_s) for name, time_s in step.parts_s), (total, step.step_s.value)]
    rows = ((name, show_seconds(time_s), f"{time_s / step.step_s.value:.0%}") for name, time_s in times)
    heads = (say("part"), number(say("time")), number(say("share")))
    return table(heads, rows, title=say("time of one step"), totals=True)


plain = telling.RecordPrinter(Trained, verdict=answer_of(_verdict))
