"""The comment at the head of every launch file: what was planned, why, and what it should reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rigright.base.plugins import used
from rigright.base.units import show_bytes, show_count, show_seconds, show_short
from rigright.base.words import LANGUAGES, tell
from rigright.demand import Layout
from rigright.facts.engines import find_engine
from rigright.facts.launching import Launcher
from rigright.search.named import pool
from rigright.search.plans import price_notes

_CUTS = ("tp", "pp", "dp", "ep", "cp")
_SPEEDS = {
    "output_tok_per_s": "output tokens/s",
    "train_tok_per_s": "tokens/s",
    "texts_per_s": "texts/s",
    "images_per_s": "images/s",
}
_BOUNDS = {
    "memory": "memory bandwidth",
    "compute": "compute",
    "links": "the links between GPUs",
    "fixed": "fixed costs of each step",
    "cache": "a full KV cache: requests queue",
    "prompts": "busy prefill workers: requests queue",
}


def head_of(data: Mapping[str, Any], plan: Mapping[str, Any], *, program: Launcher) -> Iterator[str]:
    """Its lines, the plan itself first."""
    layout, work = plan["layout"], plan["work"]
    post = work.get("post")
    learns = f"{work.get('method')} training" + (f" ({post['objective']})" if post else "")
    what = work.get("weights") or learns
    cut = [f"{name} {layout[name]}" for name in _CUTS if layout[name] != 1]
    cut += ["attention data parallel"] if layout.get("attention_dp") else []
    cut += ["sequence parallel"] if layout.get("sequence_parallel") and layout["tp"] > 1 else []
    yield f"{data['model']}, {what}, on {plan['machine']}" + (f": {', '.join(cut)}" if cut else "")
    if plan.get("prefill"):
        prompts, tokens = (pool(Layout(**plan[name])) for name in ("prefill", "layout"))
        yield f"prefill workers: {prompts}; decode workers: {tokens}"
    yield from _figures(plan)
    if "method" in work:
        accumulate = work["accumulate"] or 1
        sequences = work["micro_batch"] * accumulate * layout["dp"]
        tokens = show_count(sequences * work["seq_tok"])
        yield (
            f"step: {sequences:,} sequences of {work['seq_tok']:,} tokens ({tokens} tokens):"
            f" micro-batch {work['micro_batch']}, {accumulate:,} accumulated, {layout['dp']:,} data parallel"
        )
    if post and post["rollout"]:
        yield (
            f"rollout: groups of {post['group']}, completions of {post['completion_tok']:,} tokens,"
            f" engines of {post['rollout_tp']} GPU, {post['rollout']}"
        )
    reasons = [str(reason) for reason in plan.get("reasons", ())]
    if reasons:
        yield f"chosen for: {', '.join(reasons)}"
    supply = plan.get("supply") or {}
    fields = {"used": bool(supply.get("used")), "stale": bool(supply.get("stale"))}
    bought = {
        tell(sentence, language)
        for sentence in price_notes(as_of=supply.get("as_of"), **fields)
        for language in LANGUAGES
    }
    yield from (f"note: {note}" for note in plan.get("notes", ()) if str(note) not in bought)
    added = data.get("plugins") or used(str(data))
    if added:
        yield str(added)
    if "engine" in work:
        engine = find_engine(work["engine"])
        if engine.id != program.id or not program.version.startswith(engine.version):
            yield (
                f"the figures are those of {engine.label} {engine.version}; the flags are {program.version}'s"
            )


def _figures(plan: Mapping[str, Any]) -> Iterator[str]:
    """What it should reach, and how full its memory is."""
    figures = plan["figures"]
    speed = next((name for name in _SPEEDS if name in figures), None)
    if speed is not None:
        value, unit = figures[speed], _SPEEDS[speed]
        texts = [
            f"{show_short(value['value'])} {unit} ({show_short(value['low'])} to {show_short(value['high'])})"
        ]
        texts += [
            f"{name[:4].upper()} {show_seconds(figures[name]['value'])}"
            for name in ("ttft_s", "tpot_s")
            if name in figures
        ]
        texts += [f"MFU {figures['mfu']['value']:.0%}"] if "mfu" in figures else []
        yield f"planned: {', '.join(texts)}; limited by {_BOUNDS.get(plan['bound'], plan['bound'])}"
    rank, room = plan.get("rank_bytes"), plan.get("room_bytes")
    if rank and room:
        yield f"memory: {show_bytes(rank['value'])} of {show_bytes(room)} on the fullest GPU"
