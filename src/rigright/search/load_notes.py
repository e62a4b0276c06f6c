"""What is said of a load beside its figures: what drafting gives, and what sessions find of their prompts."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.record import replace
from rigright.base.units import show_bytes, show_seconds
from rigright.base.words import DECIDES, Sentence, say
from rigright.choice.case import Case
from rigright.choice.drafts import MADE, NONE, drafts_of, head_bytes
from rigright.demand import PlanWish, Traffic
from rigright.facts.abilities import head_repo
from rigright.predict.cases import Figures, predict

MISSED = 0.95  # of what was stated: less is not what was asked about
SOME = 0.005  # of a prompt


def load_notes(case: Case, wish: PlanWish) -> Iterator[Sentence]:
    """Which share of prompts is found, where, and what was stated and has no room; after drafting."""
    traffic = case.traffic
    yield from _drafting(case, wish)
    if traffic is not None and traffic.think_s is not None and traffic.cached_tok:
        yield from _prefixes(traffic, wish, found=predict([case]))
    elif wish.kv_store is not None:
        yield say("no prompt repeats another: --offload-kv needs --turns, --shared or --cached").of(DECIDES)


def _prefixes(traffic: Traffic, wish: PlanWish, *, found: Figures) -> Iterator[Sentence]:
    gpu, ram, disk, reload_s = (float(found[f"hit_{name}"][0]) for name in ("gpu", "ram", "disk", "reload_s"))
    share, seen = gpu + ram + disk, float(traffic.cached_tok / traffic.prompt_tok)
    shown = {
        "share": f"{share:.0%}", "seen": f"{seen:.0%}", "gpu": f"{gpu:.0%}", "ram": f"{ram:.0%}",
        "disk": f"{disk:.0%}", "time": show_seconds(reload_s),
    }  # fmt: skip
    if share < MISSED * seen and wish.cached_share is not None:
        yield say("memory keeps {share} of each prompt, not the {seen} of --cached", **shown).of(DECIDES)
    if ram + disk > SOME:
        yield say("prefix cache hit rate {share}: GPU {gpu}, RAM {ram}, NVMe {disk}, loaded in {time}",
                  **shown)  # fmt: skip
    else:
        yield say("prefix cache hit rate {share} of {seen} seen before", **shown)


def _drafting(case: Case, wish: PlanWish) -> Iterator[Sentence]:
    """What drafting takes, and what it gives under this load."""
    drafts, traffic = case.drafts, case.traffic
    if wish.drafting is None or traffic is None:
        return
    if not drafts.drafted_tok:
        slower = say("speculative decoding would be slower under this load: not used")
        unable = say("{engine} does not draft tokens this way", engine=case.engine.label)
        yield (slower if drafts_of(case.arch, wish, engine=case.engine).drafted_tok else unable).of(DECIDES)
        return
    plain = replace(case, drafts=NONE, traffic=replace(traffic, drafted_tok=0, accepted_tok=0))
    per_user, rates = (predict([case, plain])[name] for name in ("user_tok_per_s", "output_tok_per_s"))
    shown = {
        "kept": f"{drafts.accepted_tok:.1f}", "drafted": drafts.drafted_tok,
        "user": f"{per_user[0]:.3g}", "plain": f"{per_user[1]:.3g}",
        "rate": f"{rates[0]:,.0f}", "before": f"{rates[1]:,.0f}",
    }  # fmt: skip
    if rates[0] < rates[1] or per_user[0] < per_user[1]:
        yield say("drafting slows this load: {rate} tok/s, {user} per user; without it {before}, {plain}",
                  **shown).of(DECIDES)  # fmt: skip
    else:
        yield say("{kept} of {drafted} drafted tokens kept: {user} tok/s per user, {plain} without",
                  **shown)  # fmt: skip
    size = head_bytes(case.arch, case.serving.weights, drafts=drafts) / (case.layout.tp * case.layout.pp)
    what = {"head": drafts.model or {"mtp": "MTP", "eagle3": "EAGLE-3"}.get(drafts.method)}
    if size and drafts.model:
        yield say("per GPU: {size} for {head}, and its own KV cache", size=show_bytes(size), **what)
    elif size:
        yield say("per GPU: {size} for its {head} head", size=show_bytes(size), **what)
    if drafts.method == MADE and head_repo(case.arch.name) is None:
        yield say("no EAGLE-3 head for {model} is known: it must be trained first", model=case.arch.name)
