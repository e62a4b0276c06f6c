"""The work: its usual lengths, context and load where nobody says, and how fast is fast enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import ceil, inf
from typing import Any

from rigright.arch.record import Arch
from rigright.base.record import dataclass, replace
from rigright.base.tables import DATA, read_toml
from rigright.base.units import show_seconds
from rigright.base.words import DECIDES, Sentence, assuming, say, with_commas
from rigright.choice.drafts import NONE, Drafts, paid_tok
from rigright.cost.layers import generates, transcribes
from rigright.demand import Drafting, Images, Numbers, PlanWish, Traffic
from rigright.facts.chips import Chip
from rigright.facts.engines import unknown_version

AUTO = "auto"
SPEECH = "speech"  # the one work of models that transcribe
RACK = frozenset({"datacenter", "workstation"})  # segments of chips that serve many; all others stand at home
THINKING = "thinking"
CARRIES = frozenset({"serve", SPEECH})  # a named machine is asked for as much of it as it carries
ALONE = frozenset({"soc", "embedded"})  # machines that no engine of many requests is made for
USUAL_TOK_PER_S = 5  # of each user, as fast as people read
LONG_TOK = 65_536  # a context from here on is asked about for a prompt of that length
NEAR = 1.05  # of a model's context: "1m" of one million is what it holds
SHORTER_TOK = (8192, 4096)  # contexts that people settle for where memory is short


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One kind of work; the head of data/works.toml says what each field means."""

    prompt_tok: int
    output_tok: int
    context_tok: int
    concurrency: int | None = None
    turns: float | None = None
    think_s: float | None = None
    enough_tok_per_s: float = 0.0
    ttft_s: float | None = None
    audio_s: float | None = None
    thinks: bool = False
    source: str = ""
    as_of: str = ""


@cache
def works() -> dict[str, Work]:
    """Every kind of work by the name that --mode takes."""
    return {name: Work(**row) for name, row in read_toml(DATA / "works.toml").items() if name != THINKING}


def spoken() -> frozenset[str]:
    """Kinds of work that a model which writes may be asked for."""
    return frozenset(works()) - {SPEECH}


def work_of(name: str, arch: Arch) -> Work:
    """The work with a model: who reasons at length writes more."""
    work = works()[name]
    if not work.thinks or not thinks(arch.name):
        return work
    longer = _thinking()
    return replace(work, output_tok=longer["output_tok"], context_tok=longer["context_tok"])


@cache
def _thinking() -> dict[str, Any]:
    return dict(read_toml(DATA / "works.toml")[THINKING])


def thinks(name: str) -> bool:
    """Whether a model of this name reasons at length before it answers."""
    row, plain = _thinking(), name.casefold()
    return any(word in plain for word in row["names"]) and not any(word in plain for word in row["not_names"])


def is_home(chips: Sequence[Chip]) -> bool:
    """Whether these are cards of a desk: consumer, unified memory, embedded, or unlike ones together."""
    return len({chip.id for chip in chips}) > 1 or any(chip.segment not in RACK for chip in chips)


def settled(arch: Arch, wish: PlanWish, *, chips: Sequence[Chip] = (), more: bool = False) -> PlanWish:
    """The wish with the work, its lengths, context and load where nobody said them.

    `chips`: of the machine that was named; `more`: others may be bought beside it. At home one person chats;
    elsewhere a service is asked about: of a named machine as much as it carries.
    """
    most = arch.max_context_tok
    if most is not None and wish.context_tok is not None and most < wish.context_tok <= NEAR * most:
        wish = replace(wish, context_tok=most)
    loaded = says_load(wish) or is_long(wish)
    name = SPEECH if transcribes(arch) else wish.work
    if name == AUTO:
        name = usual_work(wish, home=bool(chips) and is_home(chips))
    usual = work_of(name, arch)
    most = wish.context_tok or most
    room = None if most is None else max(most - arch.image_tok, 2)
    prompt, output = _lengths(wish, usual, most=room)
    if is_long(wish):  # one prompt that fills it
        prompt = max((room or 0) - output, 1)
    users = 1.0 if is_long(wish) else wish.users
    prompt += arch.image_tok
    jobs = wish.samples if wish.train_tok is None else float(ceil(wish.train_tok / (prompt + output)))
    context = wish.context_tok or usual_context_tok(name, arch, tok=prompt + output)
    alone = name == SPEECH and any(chip.segment in ALONE for chip in chips)
    if not loaded and (more or not chips or name not in CARRIES or alone):
        users = None if usual.concurrency is None else float(usual.concurrency)
    turns = wish.turns or (usual.turns if wish.cached_share is None else None)
    think = usual.think_s if wish.think_s is None else wish.think_s
    drafting = wish.drafting or (None if wish.draft is None else Drafting(accepted=wish.draft))
    return replace(
        wish, drafting=drafting, draft=None if drafting is None else drafting.accepted,
        work=name, prompt_tok=prompt, output_tok=output, context_tok=context, users=users,
        turns=turns, think_s=think, samples=jobs,
        images=None if wish.images is None else replace(wish.images, tok=arch.image_tok),
    )  # fmt: skip


def is_long(wish: PlanWish) -> bool:
    """Whether a context is asked about that only a prompt of that length needs."""
    return wish.prompt_tok is None and is_for_one(wish) and (wish.context_tok or 0) >= LONG_TOK


def patience_s(ttft_s: float, prompt_tok: float) -> float:
    """How long people wait for a first token: longer for a prompt of a length that nobody types."""
    return ttft_s if prompt_tok <= LONG_TOK / 2 else float(round(ttft_s * prompt_tok / SHORTER_TOK[0]))


def seen_with(arch: Arch, images: Images | None) -> Arch:
    """The model as it is asked: with images in each request, or without."""
    if images is None:
        return arch
    from rigright.arch.sight import seeing  # with the rules of processors, which text needs not

    return seeing(arch, count=images.count, width=images.width_px, height=images.height_px)


def says_load(wish: PlanWish) -> bool:
    """Whether somebody said how much is asked of it."""
    return any(value is not None for value in (wish.users, wish.rate_per_s, wish.tok_per_s))


def is_for_one(wish: PlanWish) -> bool:
    """Whether nobody speaks of more than one request at a time."""
    return wish.users in {None, 1} and wish.rate_per_s is None and wish.tok_per_s is None


def usual_work(wish: PlanWish, *, home: bool) -> str:
    """The work where nobody says: one person chats at home; nobody waits for requests that end."""
    if wish.samples is not None or wish.train_tok is not None:
        return "batch"
    return "chat" if home and is_for_one(wish) else "serve"


def usual_context_tok(work: str, arch: Arch, *, tok: Numbers) -> Numbers:
    """The context that an engine is started for, for such work with requests of so many tokens."""
    usual = work_of(work, arch).context_tok
    return max(min(usual, arch.max_context_tok or usual), tok)


def traffic_of(wish: PlanWish, load: Numbers, *, arch: Arch | None = None, drafts: Drafts = NONE) -> Traffic:
    """What a wish sends: requests in flight, or requests that arrive where a rate was stated."""
    prompt, rate = wish.prompt_tok or 0, wish.rate_per_s
    shared, turns = min(wish.shared_tok or 0, prompt), wish.turns or inf
    seen = shared + (prompt - shared) * (turns - 1) / (turns + 1) if wish.turns else shared
    if wish.cached_share is not None:
        seen = max(wish.cached_share * prompt, shared)
    return Traffic(
        prompt_tok=prompt,
        output_tok=wish.output_tok or 0,
        cached_tok=seen,
        think_s=(wish.think_s or 0.0) if seen else wish.think_s,
        turns=turns,
        shared_tok=shared,
        concurrency=load if rate is None else None,
        requests=wish.samples,
        rate_per_s=None if rate is None else rate * wish.growth,
        drafted_tok=drafts.drafted_tok,
        accepted_tok=0.0 if arch is None else paid_tok(arch, drafts),
    )


def side_by_side(arch: Arch, wish: PlanWish, *, machines: Sequence[Sequence[Chip]], named: bool) -> PlanWish:
    """The wish with one work and one load for all of several machines; no chips: a cloud's, still open.

    A chat where all of them stand at home, else a service: as much as each carries where all are `named`
    as a whole, else for the usual number of users.
    """
    if says_load(wish) or wish.work not in {AUTO, *CARRIES} or not generates(arch):
        return wish
    if wish.samples is not None:
        return replace(wish, work=usual_work(wish, home=False), users=None)
    home = all(chips and is_home(chips) for chips in machines)
    name = SPEECH if transcribes(arch) else "chat" if home and wish.work == AUTO else "serve"
    usual = works()[name].concurrency
    carried = name in CARRIES and named
    return replace(wish, work=name, users=None if carried or usual is None else float(usual))


def _lengths(wish: PlanWish, usual: Work, *, most: int | None) -> tuple[int, int]:
    """Prompt and answer: those said, else the usual ones, shortened alike where the context is short."""
    prompt, output = wish.prompt_tok or usual.prompt_tok, wish.output_tok or usual.output_tok
    if most is None or prompt + output <= most:
        return prompt, output
    if wish.prompt_tok is None and wish.output_tok is None:
        output = max(most * output // (prompt + output), 1)
        return max(most - output, 1), output
    if wish.output_tok is None:
        return prompt, max(min(output, most - prompt), 1)
    return (max(min(prompt, most - output), 1) if wish.prompt_tok is None else prompt), output


def contexts(wish: PlanWish, filled: PlanWish) -> tuple[int, ...]:
    """The contexts to try, the longest first: the one that was said, else shorter ones after the usual."""
    longest, least = filled.context_tok or 0, (filled.prompt_tok or 0) + (filled.output_tok or 0)
    if wish.context_tok is not None:
        return (longest,)
    return (longest, *(tok for tok in SHORTER_TOK if least <= tok < longest))


def assumed(arch: Arch, wish: PlanWish, *, filled: PlanWish) -> tuple[Sentence, ...]:
    """What nobody said, in one line; and a length that the model was not made for."""
    parts: list[Sentence] = []
    if wish.work == AUTO and filled.work == "chat":
        parts.append(say("chat"))
    if wish.work == AUTO and filled.work == "batch":
        parts.append(say("batch job"))
    audio_s = works()[filled.work].audio_s if filled.work in works() else None
    if audio_s is not None:
        parts.append(say("{seconds} s windows", seconds=f"{audio_s:g}"))
    elif wish.prompt_tok is None or wish.output_tok is None:
        parts.append(
            say(
                "{prompt} prompt + {output} output tokens",
                prompt=f"{(filled.prompt_tok or 0) - arch.image_tok:,}",
                output=f"{filled.output_tok:,}",
            )
        )
    if filled.images is not None and arch.pictured is not None:
        size = f"{filled.images.width_px}x{filled.images.height_px}"
        said = {"images": str(filled.images.count), "size": size, "tok": f"{arch.image_tok:,}"}
        known = say("{images} images of {size} ({tok} tokens)", **said)
        rough = say("{images} images of {size} ({tok} tokens, one sample of the tower each)", **said)
        parts.append(known if arch.pictured.is_known else rough)
    if wish.context_tok is None and audio_s is None:
        parts.append(say("{context} context", context=f"{filled.context_tok:,}"))
    if wish.users is None and filled.users is not None:
        parts.append(say("concurrency {users}", users=f"{filled.users:g}"))
    parts += _sessions(wish, filled)
    if wish.train_tok is not None and filled.samples is not None:
        parts.append(say("{count} requests", count=f"{filled.samples:,.0f}"))
    sentence = with_commas(parts)
    line = () if sentence is None else (assuming(sentence),)
    unknown = filter(None, map(unknown_version, wish.engines))
    return (*unknown, *line, *_beyond(filled, most=arch.max_context_tok))


def _sessions(wish: PlanWish, filled: PlanWish) -> Iterator[Sentence]:
    """What was assumed of prompts that repeat what came before."""
    if filled.turns and wish.turns is None:
        yield say("sessions of {turns} turns", turns=f"{filled.turns:g}")
    if filled.think_s and wish.think_s is None:
        yield say("{time} between turns", time=show_seconds(filled.think_s))


def _beyond(wish: PlanWish, *, most: int | None) -> tuple[Sentence, ...]:
    longest = max(wish.context_tok or 0, (wish.prompt_tok or 0) + (wish.output_tok or 0))
    if most is None or longest <= most:
        return ()
    return (
        say("{asked} tokens exceed the model's context of {most}", most=f"{most:,}", asked=f"{longest:,}").of(
            DECIDES
        ),
    )
