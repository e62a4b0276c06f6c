"""A plan becomes a launch: what a program must be told is decided here, and the head of its file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path, PurePosixPath
from typing import Any, cast

from rigright.arch.denoisers import denoiser
from rigright.arch.record import Arch
from rigright.arch.sources.open import open_model
from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError
from rigright.base.files import read_bounded
from rigright.base.plugins import used
from rigright.base.units import MIB, show_bytes, show_count, show_seconds, show_short, to_gib
from rigright.base.words import LANGUAGES, say, tell
from rigright.choice.case import serving_case
from rigright.choice.drafts import COPIED, MADE, MODEL, OWN, drafter
from rigright.choice.offload import cpu_moe, gpu_layers
from rigright.cost.memory.places import dealt_bounds
from rigright.cost.weights import has_experts, stored
from rigright.demand import SAMPLES, KvStore, Layout, Offload, PostTraining, Serving, Size, Training
from rigright.export.launch import Launch, SampleSettings, ServerSettings, TrainerSettings
from rigright.facts.abilities import NVME, RAM, ability, head_repo
from rigright.facts.checkpoints import Making, published, quantizer
from rigright.facts.chips import Chip, by_id
from rigright.facts.engines import Engine, find_engine
from rigright.facts.formats import GGUF, find_format
from rigright.facts.launching import Launcher, programs
from rigright.facts.nodes import find_node
from rigright.facts.training import find_trainer, objectives
from rigright.facts.units import most_in_node, node_of
from rigright.predict.served import started_for
from rigright.search.named import pool
from rigright.search.plans import price_notes
from rigright.terms.memory import device_of, started
from rigright.terms.training import set_up
from rigright.verbs.runs.planned import PlannedRun

_CUTS = ("tp", "pp", "dp", "ep", "cp")
_SPEEDS = {
    "output_tok_per_s": "output tokens/s",
    "train_tok_per_s": "tokens/s",
    "texts_per_s": "texts/s",
    "images_per_s": "images/s",
    "videos_per_s": "videos/hour",
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
        unit, each = _SPEEDS[speed], 3600 if speed == "videos_per_s" else 1
        value, low, high = (show_short(each * figures[speed][end]) for end in ("value", "low", "high"))
        texts = [f"{value} {unit} ({low} to {high})"]
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


MOST_BYTES = 16 * MIB
_MODULES = {"attn": ("q_proj", "k_proj", "v_proj", "o_proj"), "ffn": ("gate_proj", "up_proj", "down_proj")}
_ALL = {"all", "linear"}
_PLAIN = ("bf16", "fp16", "fp32")
_NARROW = {"fp8"}  # precisions that not every program multiplies in
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+(:[\w.-]+)?", re.ASCII)
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def read_plan(path: str) -> dict[str, Any]:
    """What `plan --json` printed."""
    text = read_bounded(path, MOST_BYTES)
    try:
        data = bounded_json(text)
    except ValueError:
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("plans"), list) or "model" not in data:
        raise AskError(
            say('"{path}" contains no plan', path=path), hint=say("save one with: rigright plan MODEL --json")
        )
    return data


def plan_of(data: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """One plan of a `plan --json`; where none keeps every limit, what came nearest."""
    plans = data["plans"] or [value for value in (data.get("nearest"),) if value]
    if not 1 <= number <= len(plans):
        raise AskError(say("no plan {number}: the file has {count}", number=number, count=len(plans)))
    fields: Mapping[str, Any] = plans[number - 1]
    return fields


def launch_of(
    data: Mapping[str, Any],
    target: str | None,
    *,
    number: int = 1,
    checkpoint: str | None = None,
    script: str = "train.py",
) -> Launch:
    """The launch of one plan of a `plan --json`; `target` None: with the program that the plan names."""
    plan = plan_of(data, number)
    try:
        work, program = _work(plan, target, kind=_kind(data["wish"]))
        loaded = _loaded(data, work, program=program, checkpoint=checkpoint or data.get("checkpoint"))
        for word in (loaded["model"], script):
            if _UNSAFE.search(word) or word.startswith("-"):
                raise AskError(say("{name} cannot be used as a model or file name", name=json.dumps(word)))
        layout = Layout(**plan["layout"])
        chip = by_id().get(plan["chip"])
        nodes, gpus = _hosts(chip, plan, replica=layout.tp * layout.pp * layout.cp)
        common: dict[str, Any] = {
            "program": program,
            "script": script,
            "name": _safe(data["model"]),
            "why": tuple(head_of(data, plan, program=program)),
            "vendor": chip.vendor if chip is not None else "",
            "capability": chip.compute_capability if chip is not None else None,
            "nodes": nodes,
            "gpus": gpus,
            "port": program.port or 0,
            **{field.name: getattr(layout, field.name) for field in fields(Layout)},
            **loaded,
        }
        if _is_sample(plan):
            return Launch(passed=_passed(data, cast("Serving", work)), **common)
        if isinstance(work, Training):
            if program.families:
                common["arch"] = open_model(data["model"])
            return Launch(trained=_trained(data, plan, work=work, program=program), **common)
        made: dict[str, Any] = {"work": work, "program": program}
        served = _served(data, plan, layout=layout, **made)
        launch = Launch(served=served, **common)
        if not plan.get("prefill"):
            return launch
        prefill = Layout(**plan["prefill"])
        given = {field.name: getattr(prefill, field.name) for field in fields(Layout)}
        served = _served(data, plan, layout=prefill, **made)
        return replace(launch, prefill=replace(launch, served=served, **given))
    except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError) as error:
        raise AskError(
            say("the plan cannot be read: {error}", error=repr(error)),
            hint=say("save it again with: rigright plan MODEL --json"),
        ) from None


def _hosts(chip: Chip | None, plan: Mapping[str, Any], *, replica: int) -> tuple[int, int]:
    """Machines with a system of their own, and the GPUs of each: a rack of superchips has many.

    Where replicas do not share a machine's GPUs evenly, all that are paid for count.
    """
    nodes, count = int(plan["n_nodes"]), int(plan["n_chips"])
    if nodes < 1:
        raise ValueError("n_nodes")
    each = -(-count // nodes)
    paid = (plan.get("supply") or {}).get("n_chips") or count
    if count % nodes or (each % replica and replica % each):
        each = max(each, min(-(-int(paid) // nodes), most_in_node(chip)))
    if each > most_in_node(chip):
        each = node_of(chip)
        nodes = -(-count // each)
    return nodes, each


def runs_with(plan: Mapping[str, Any]) -> str:
    """The engine or the trainer of a plan."""
    work = plan["work"]
    return str(work["trainer"]) if "trainer" in work else find_engine(work["engine"]).id


def _work(
    plan: Mapping[str, Any], target: str | None, *, kind: str | None
) -> tuple[Serving | Training, Launcher]:
    """What is run, by which program; a target that cannot run it is refused."""
    words, runs = dict(plan["work"]), runs_with(plan)
    if words.get("offload") and "trainer" not in words:
        words["offload"] = Offload(**words["offload"])
    if words.get("post"):
        words["post"] = PostTraining(**words["post"])
    if words.get("kv_store"):
        words["kv_store"] = KvStore(**words["kv_store"])
    work: Serving | Training = Training(**words) if "trainer" in words else Serving(**words)
    passed = _is_sample(plan)
    fitting = [
        launcher
        for launcher in programs().values()
        if runs in launcher.runs
        and launcher.post == bool(words.get("post"))
        and (kind in launcher.works if passed else not launcher.works)
    ]
    if not fitting:
        raise AskError(say("no export for {engine} yet", engine=runs))
    if target is None:
        return work, next((launcher for launcher in fitting if launcher.starts), fitting[0])
    program = programs()[target]
    if program not in fitting:
        asked = program.runs[0]
        trains = program.kind == "train"
        flag = "--trainer" if trains else "--engine"
        known = ", ".join(launcher.id for launcher in fitting)
        if passed or program.works:
            raise AskError(
                say("{target} does not run this kind of work", target=target),
                hint=say("export {fitting}", fitting=known),
            )
        if trains != isinstance(work, Training):
            flag = f"--mode {'finetune' if trains else 'serve'} {flag}"
            sentence = (
                say("{target} is for training, but this is a serving plan", target=target)
                if trains
                else say("{target} is for serving, but this is a training plan", target=target)
            )
        else:
            sentence = say("the plan uses {engine}, not {target}", engine=runs, target=target)
        hint = say("plan with {flag} {asked}, or export {fitting}", flag=flag, asked=asked, fitting=known)
        raise AskError(sentence, hint=hint)
    return work, program


def _hub_id(data: Mapping[str, Any]) -> str:
    """What a program loads: a path or an id as it was typed; the id of the hub where a loose name was."""
    asked = str(data.get("model_asked") or data["model"])
    return (
        asked
        if set(asked) & {"/", "\\"} or asked.endswith(".gguf") or Path(asked).exists()
        else data["model"]
    )


def _loaded(
    data: Mapping[str, Any], work: Serving | Training, *, program: Launcher, checkpoint: str | None
) -> dict[str, Any]:
    """What the program loads: what was named, what is published in the format, or what is made first."""
    hub = _hub_id(data)
    if isinstance(work, Training) or program.works:
        return {"model": checkpoint or hub.partition("#")[0]}
    _check_formats(work, program)
    in_blocks, mix = work.weights.startswith(GGUF), work.weights.removeprefix(GGUF)
    fields = {"tokenizer": hub} if in_blocks else {}
    arch = open_model(data["model"])
    is_plain = work.weights in {arch.stored or arch.dtype, *program.converts, *_PLAIN}
    named = checkpoint or (hub if is_plain or hub.endswith(".gguf") else None)
    if named and in_blocks and not named.endswith(".gguf") and not _REPOSITORY.fullmatch(named):
        named = f"{PurePosixPath(named).name}-{mix}.gguf"
    named = named or published(hub, work.weights, engine=program.id)
    if named is not None:
        return fields | {"model": named}
    tool = quantizer(program.id, work.weights)
    if tool is None:
        raise AskError(
            say(
                "no checkpoint of {model} in {format} is known",
                model=data["model"],
                format=find_format(work.weights).label,
            ),
            hint=say("use --checkpoint"),
        )
    name = PurePosixPath(hub).name
    made = f"{name}-{mix}.gguf" if in_blocks else f"./{name}-{work.weights}"
    size = stored(arch, find_format("bf16")).total_bytes
    return fields | {
        "model": made,
        "making": Making(source=hub, source_bytes=size, tool=tool, sees=arch.task == "image-text"),
    }


def _safe(name: str) -> str:
    """A name as jobs, services and units take it."""
    bare = re.sub(r"[^a-z0-9]+", "-", PurePosixPath(name).name.lower()).strip("-")
    return bare[:50].strip("-") or "model"


def _check_formats(work: Serving, program: Launcher) -> None:
    """Refuse weights and caches that the program of today does not have."""
    if work.weights in program.gone:
        raise program.refusal(f"weights {work.weights}")
    if work.kv not in program.kv:
        raise AskError(say("{engine} has no {kv} KV cache", engine=program.label, kv=work.kv))


def _served(
    data: Mapping[str, Any], plan: Mapping[str, Any], *, work: Serving, layout: Layout, program: Launcher
) -> ServerSettings:
    _check_formats(work, program)
    arch, engine = open_model(data["model"]), find_engine(work.engine)
    planned = PlannedRun(model=data["model"], plan=plan, wish=data["wish"])
    node = find_node(planned.machine or "")
    cards = node.cards * node.n_nodes
    case = serving_case(arch, work, layout=layout, cards=cards)
    settings = case.settings
    replicas = layout.dp * (layout.tp if layout.attention_dp else 1)
    users = plan["concurrency"]
    own = -(-int(users or work.batch) // replicas)
    own_format = arch.stored or arch.dtype
    bits = work.weights if work.weights in _PLAIN else arch.dtype
    offload = work.offload or Offload()
    split: tuple[int, ...] = ()
    if engine.split_flag is not None and layout.pp > 1:
        devices = [device_of(card, engine) for card in cards[: layout.pp]]
        bounds = dealt_bounds(arch, case.weights, start=started(work), layout=layout, devices=devices)
        split = tuple(last - first for first, last in bounds)
        split = (*split[:-1], split[-1] + 1)  # the head goes with the last layers
    load = planned.load
    if load is None:
        raise ValueError("wish")
    return ServerSettings(
        dtype=bits if bits in _PLAIN else "bf16",
        weights=work.weights,
        label=find_format(work.weights).label,
        converts=None if work.weights == own_format else program.converts.get(work.weights),
        kv=program.kv[work.kv],
        context_tok=int(work.context_tok),
        max_seqs=max(own, 1) if engine.max_seqs is None else int(started_for(case, users=users)),
        budget_tok=None if engine.budget_tok is None else int(settings.budget_tok),
        share=None if settings.share is None else round(float(settings.share), 3),
        graphs=work.graphs,
        load=load,
        images=(data["wish"].get("images") or {}).get("count"),
        weights_bytes=case.weights.total_bytes,
        has_experts=has_experts(arch),
        hears=arch.task == "speech",
        sees=arch.task == "image-text",
        gpu_layers=0 if node.has_no_cards else gpu_layers(arch, offload),
        cpu_moe=cpu_moe(arch, offload),
        batch_tok=work.budget_tok or (engine.ram_batch if work.offload else None),
        split=split,
        numa=node.host is not None
        and node.host.sockets > 1
        and (node.has_no_cards or work.offload is not None),
        **_drafted(plan["drafts"], arch, engine=engine, work=work, program=program),
        **_stored(work, engine, replicas=int(layout.dp)),
        graph_seqs=engine.default(engine.graph_seqs, cards[0].total_bytes, chip=cards[0].chip.id)
        if work.graphs
        else None,
        flash=work.flash,
    )


def _stored(work: Serving, engine: Engine, *, replicas: int) -> dict[str, Any]:
    """Memory for caches beside the GPUs of each server."""
    store = work.kv_store or KvStore()
    sizes = {"kv_ram_gib": (RAM, store.ram_bytes), "kv_nvme_gib": (NVME, store.nvme_bytes)}
    return {
        name: round(to_gib(size / replicas), 1) if size and ability(engine, tier) else None
        for name, (tier, size) in sizes.items()
    }


def _drafted(
    plan: Mapping[str, Any], arch: Arch, *, engine: Engine, work: Serving, program: Launcher
) -> dict[str, Any]:
    """How tokens are drafted, and by which checkpoint."""
    if not plan["drafted_tok"]:
        return {}
    method = plan.get("method") or (OWN if plan.get("own") else COPIED)
    known, in_blocks = ability(engine, method), work.weights.startswith(GGUF)
    if known is None:
        raise AskError(say("{engine} is not exported with {choice}", engine=program.label, choice="drafts"))
    model = head_repo(arch.name) if method == MADE and not in_blocks else None
    if method == MADE and model is None:
        lacking = say("no EAGLE-3 head for {model}, {format}", model=arch.name, format=work.weights)
        raise AskError(lacking, hint=say("plan with --draft ngram or a small model of its family"))
    if method == MODEL:
        small = drafter(plan["model"]).name
        made = f"{PurePosixPath(small).name}-{work.weights.removeprefix(GGUF)}.gguf"
        model = (published(small, work.weights, engine=program.id) or made) if in_blocks else small
    return {
        "drafted_tok": int(plan["drafted_tok"]), "draft_method": method, "draft_word": known.word,
        "draft_model": model,
    }  # fmt: skip


def _is_sample(plan: Mapping[str, Any]) -> bool:
    """Whether a plan passes whole texts or images."""
    return not set(SAMPLES).isdisjoint(plan["figures"])


def _kind(wish: Mapping[str, Any]) -> str | None:
    """The kind of work as targets name it: an image is drawn in steps, or looked at once."""
    kind: str | None = wish.get("work")
    return "vision" if kind == "image" and not wish.get("steps") else kind


def _passed(data: Mapping[str, Any], work: Serving) -> SampleSettings:
    arch, wish = open_model(data["model"]), data["wish"]
    dtype = work.weights if work.weights in _PLAIN else arch.dtype
    return SampleSettings(
        dtype=dtype if dtype in _PLAIN else "bf16",
        weights=work.weights,
        batch=int(work.batch),
        compiled=work.compiled,
        text_tok=wish.get("prompt_tok"),
        picture=Size(**wish["picture"]) if wish.get("picture") else None,
        frames=(wish.get("length") or {}).get("frames"),
        net=denoiser(data["model"]),
        waits=work.parts_wait,
        steps=wish.get("steps"),
    )


def _trained(
    data: Mapping[str, Any], plan: Mapping[str, Any], *, work: Training, program: Launcher
) -> TrainerSettings:
    trainer = find_trainer(work.trainer)
    setup = set_up(work, hidden=0)  # its defaults, as the figures are of
    usual = setup.optimizer.id
    if program.optimizers and usual not in program.optimizers:
        raise AskError(say("{engine} has no optimizer {name}", engine=program.label, name=usual))
    words_for = program.optimizers | (program.sharded if work.sharding in {"fsdp", "hsdp"} else {})
    words = work.targets.split()
    modules = [name for word in words for name in _MODULES.get(word, (f"{word}_proj",))]
    precision = setup.precision.id.partition("-")[0]
    if precision in _NARROW and precision not in program.narrow:
        raise program.refusal(f"precision {precision}")
    tokens = data["wish"].get("train_tok")
    step_tok = work.micro_batch * (work.accumulate or 1) * work.seq_tok * plan["layout"]["dp"]
    if work.post is not None:
        step_tok *= objectives()[work.post.objective].sequences
    return TrainerSettings(
        trainer=trainer.id,
        method=work.method,
        optimizer=words_for.get(usual, usual),
        chosen=usual,
        precision=precision,
        mixed=setup.precision.id,
        micro_batch=work.micro_batch,
        accumulate=work.accumulate or 1,
        seq_tok=work.seq_tok,
        recompute=setup.habit.recompute,
        rank=work.rank,
        targets=() if _ALL & set(words) else tuple(dict.fromkeys(modules)),
        sharding=work.sharding,
        schedule=work.schedule,
        virtual_stages=work.virtual_stages,
        offload=work.offload,
        compiled=work.compiled,
        flash=work.flash,
        chunked_loss=work.chunked_loss,
        dropout=float(setup.habit.dropout),
        steps=None if not tokens else max(int(tokens // step_tok), 1),
        epochs=data["wish"].get("epochs") or 1.0,
        references=work.references,
        post=work.post,
        rollout_share=_rollout_share(data, plan, work=work),
    )


def _rollout_share(data: Mapping[str, Any], plan: Mapping[str, Any], *, work: Training) -> float:
    """Of the memory of a GPU, what the engine that writes completions is given."""
    if work.post is None or not work.post.rollout:
        return 0.0
    if work.post.rollout == "apart":
        raise AskError(say("no export for {engine} yet", engine="rollout apart"))
    from rigright.predict.rollout import engine_bytes

    taken = engine_bytes(open_model(data["model"]), work, layout=Layout(**plan["layout"]))
    return float(taken.always_bytes + taken.awake_bytes + taken.cache_bytes) / float(plan["room_bytes"])
