"""A row of hybrid.csv -> what ran: a model of which a part, or all, lay in main memory."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from rigright.arch.record import Arch
from rigright.base.errors import AskError, RigError
from rigright.base.tables import Row
from rigright.base.units import MIB, from_gib
from rigright.base.words import say
from rigright.choice.case import Beside, Case, serving_case
from rigright.choice.offload import asked_offload, least_offload
from rigright.choice.offload import in_ram as shares_of
from rigright.cost.speed.work import InRam, PassWork
from rigright.demand import Layout, Serving, ServingWish, Traffic
from rigright.facts.chips import Chip
from rigright.facts.engines import find_engine
from rigright.facts.fabrics import Stated, cabled
from rigright.facts.find import find_chip
from rigright.facts.formats import find_format, find_kv_format
from rigright.facts.host_words import find_host
from rigright.facts.hosts import Host, host_chip
from rigright.facts.nodes import chip_card, in_slots
from rigright.predict.streams import work_in
from rigright.terms.memory import weights_bytes
from rigright.terms.speed import stream_terms
from rigright.verbs.runs.columns import ALL_LAYERS
from rigright.verbs.validate.ask import RunAsk, model_of, usual

SERVER_CORES = 17  # a processor that nobody names has at least so many only in a server
PLAIN = {"bf16": "bf16", "int4": "int4", "int8": "gguf:Q8_0"}
USUAL_FORMATS = ("gguf:Q4_K_M", "gguf:Q3_K_M", "gguf:Q2_K", "gguf:IQ1_M")  # the first that memory holds
RAM_SHARE = 0.9  # of main memory, that weights may fill
LARGEST_GIB, USUAL_CONTEXT = 4096, 8192
USUAL_TOK = {"prompt_tok": 512, "output_tok": 128}
_FORMAT = re.compile(r"gguf:~?([\w.-]+)", re.IGNORECASE)
_NGL = re.compile(r"-ngl (\d{1,18})")
_UBATCH = re.compile(r"-ub (\d{1,18})")
_CPU_PART = re.compile(r"(\d{1,18}) % CPU")
_MOE = re.compile(r"(?:--n-cpu-moe|ncmoe) (\d{1,18})")
_EVERY_EXPERT = re.compile(r"--cpu-moe(?! 0)")
_LAYERS = re.compile(r"layers? (\d{1,18})-(\d{1,18})")
_FROM = re.compile(r"layers (\d{1,18})\+")
_BUT = re.compile(r"but ~?(\d{1,18})")
_OF = re.compile(r"(\d{1,18}) of (\d{1,18}) ")
_SOME = re.compile(r"(?:of ~?|last |^)(\d{1,18}) layers")
_OVERRIDE = re.compile(r'([^\s,"]+)=(CPU|CUDA\d+)')
_REPACKED = re.compile(r"_R[48]$", re.IGNORECASE)
_RANGE = re.compile(r"\((\d{1,18})\.\.(\d{1,18})\)")


def is_split(offload: str) -> bool:
    """Whether flags leave a part of the model in main memory."""
    layers, experts = _NGL.search(offload), _MOE.search(offload)
    if _EVERY_EXPERT.search(offload) or "=CPU" in offload:
        return True
    return bool((experts and int(experts[1])) or (layers and int(layers[1]) < ALL_LAYERS))


def read_hybrid(row: Row) -> RunAsk:
    """Read one row; what it leaves open is assumed and said."""
    arch, notes = model_of(row)
    engine = replace(find_engine(row.get("engine") or ""), version=row.get("engine_version") or "")
    weights, offload, host = _weights(row, arch), row.get("offload") or "", _host(row)
    threads, ubatch = row.get("threads"), _UBATCH.search(offload)
    chips = _in_slots(_chips(row), host)
    if chips and "bus" not in stream_terms(engine, chip=host_chip(host), weights=weights):
        raise AskError(say("{engine} does not keep part of a model in main memory", engine=engine.label))
    assumed = list(notes)
    prompt_tok, output_tok = (usual(row, name, value=tok, assumed=assumed) for name, tok in USUAL_TOK.items())
    seen_tok = float(row.get("context_depth") or 0)
    traffic = Traffic(
        prompt_tok=seen_tok + prompt_tok, output_tok=float(output_tok), cached_tok=seen_tok,
        concurrency=int(row.get("batch") or 1),
    )  # fmt: skip
    case = serving_case(
        arch,
        Serving(
            engine=engine.id,
            weights=weights,
            kv=find_kv_format((row.get("kv") or "f16").split()[0]).id,
            budget_tok=None if ubatch is None else float(ubatch[1]),
        ),
        layout=Layout(pp=max(len(chips), 1)),
        cards=tuple(map(chip_card, chips)) or (chip_card(host_chip(host, threads=threads)),),
        engine=engine,
        traffic=traffic,
        host=host,
        file_gib=row.get("model_gib"),
        is_alone=row.get("mode") in {"single", "batch"},
    )  # fmt: skip
    work = work_in(case)
    ram = _in_ram(row, work, arch=arch)
    if chips and ram == InRam():
        ram = _filled(case, host=host)
    beside = Beside(
        ram=ram,
        disk_share=_beyond(row, work, ram=ram),
        threads=threads,
        repacked=bool(_REPACKED.search(_weights_named(row))) or "-rtr" in offload,
        active_experts=row.get("active_experts"),
    )
    return RunAsk(case=replace(case, beside=beside), metric=row["metric"], assumed=tuple(assumed))


def _weights_named(row: Row) -> str:
    """The format as the row writes it, without remarks."""
    value = row.get("weights") or ""
    match = _FORMAT.search(value)
    return match[1] if match else value


def _weights(row: Row, arch: Arch) -> str:
    """The format nearest to what is stated; of a file that nobody names the usual one that memory holds."""
    text = _weights_named(row)
    try:
        return find_format(f"gguf:{_REPACKED.sub('', text)}").id
    except RigError:
        named = next((form for word, form in PLAIN.items() if text.lower().startswith(word)), None)
    if named is not None:
        return named
    room = _ram_room(row) + sum(chip.mem_bytes for chip in _chips(row))
    return next((form for form in USUAL_FORMATS if weights_bytes(arch, form) <= room), USUAL_FORMATS[-1])


def _chips(row: Row) -> tuple[Chip, ...]:
    value = row.get("gpu") or ""
    if not value:
        return () if not (row.get("n_gpus") or 0) else (find_chip("rtx 3090"),)
    chips: list[Chip] = []
    for part in value.split("+"):
        many = re.fullmatch(r"\s*(?:(\d{1,18})x )?(.+)", part)
        chips += [find_chip(many[2])] * int(many[1] or 1) if many else []
    cards = int(row.get("n_gpus") or len(chips))
    return tuple(chips * (cards // len(chips)) or chips) if len(set(chips)) == 1 else tuple(chips)


def _in_slots(chips: tuple[Chip, ...], host: Host) -> tuple[Chip, ...]:
    """Cards as the machine's slots feed them."""
    stated = in_slots(Stated(), host, cards=len(chips))
    return tuple(cabled(chip, stated, cards=len(chips))[0] for chip in chips)


def _host(row: Row) -> Host:
    """The machine a row tells of; what it leaves open is as such machines usually are."""
    cores, channels, kind = row.get("cpu_cores"), row.get("ram_channels"), row.get("ram_type")
    usual_cpu = "xeon" if (cores or 0) >= SERVER_CORES and (channels or 3) > 2 else ""
    sockets = "2x " if (row.get("numa_nodes") or 0) == 2 and usual_cpu else ""
    words = (
        row.get("cpu") or f"{sockets}{usual_cpu}",
        f"{row['ram_gb']:g} gb ram" if row.get("ram_gb") else "",
        kind + (f"-{row['ram_mts']:.0f}" if row.get("ram_mts") else "") if kind else "",
        f"{channels}ch" if channels else "",
    )
    host = find_host(" + ".join(filter(None, words)))
    if not cores:
        return host
    return replace(host, cpu=replace(host.cpu, cores=max(int(cores) // host.sockets, 1)))


def _ram_room(row: Row) -> float:
    """Room for weights in main memory; endless where the row does not tell its size."""
    return from_gib(row["ram_gb"]) * RAM_SHARE if row.get("ram_gb") else math.inf


def _filled(case: Case, *, host: Host) -> InRam:
    """Where a row does not say what lies where: cards are filled, and the rest is in main memory."""
    sent = case.traffic
    assert sent is not None  # noqa: S101 - every row sends something
    roomy = replace(host, ram_bytes=max(host.ram_bytes, from_gib(LARGEST_GIB)))
    context = max(int(sent.prompt_tok + sent.output_tok), USUAL_CONTEXT)
    serving = Serving(engine=case.engine.id, weights=case.serving.weights, context_tok=context)
    offload = least_offload(case.arch, serving, cards=case.cards, host=roomy)
    return InRam() if offload is None else shares_of(case.arch, offload)


def _beyond(row: Row, work: PassWork, *, ram: InRam) -> float:
    """The share of weights in main memory that it has no room for, where the row tells its size."""
    size = sum(float(gemm.size_bytes) * float(ram.of(gemm)) for gemm in work.gemms)
    return max(1 - _ram_room(row) / size, 0.0) if size else 0.0


def _in_ram(row: Row, work: PassWork, *, arch: Arch) -> InRam:
    """Shares of the model in main memory: as the log counts them, else as the flags say."""
    flagged = None if row.get("cpu_weights_mib") is not None else _flagged(row, arch)
    if flagged is not None:
        return flagged
    offload, on_gpu = row.get("offload") or "", str(row.get("layers_on_gpu") or "")
    if not (row.get("gpu") or "") and not (row.get("n_gpus") or 0):
        return InRam(experts=1.0, ffn=1.0, attn=1.0, head=1.0, kv=1.0)
    text = f"{row.get('experts_on_cpu') or ''} {on_gpu if 'FFN' in on_gpu else ''}".strip()
    layers, moe = float(work.layers), float(work.moe_layers)
    left = _whole_layers(offload, on_gpu, layers=layers) / layers
    dense_too = "FFN" in text or text.startswith("last")
    count = _layers_in_ram(offload, text, layers=layers if dense_too or not moe else moe)
    experts = min(count / moe, 1.0) if moe else 0.0
    ffn = 0.0
    if dense_too:
        ffn = max(count - (layers - moe), 0.0) / moe if moe else count / layers
    value = row.get("cpu_weights_mib")
    size = sum(gemm.size_bytes for gemm in work.gemms if gemm.kind == "expert")
    if value is not None and size and not dense_too and not left:
        experts = min(value * MIB / size, 1.0)
    return InRam(
        experts=max(experts, left),
        ffn=max(min(ffn, 1.0), left),
        attn=left,
        head=float(left > 1 / layers),
        kv=0.0 if "(KV on GPU)" in offload else left,
    )


def _flagged(row: Row, arch: Arch) -> InRam | None:
    """What the flags of llama.cpp say, counted as everywhere; None: there are none, or others beside them."""
    offload = row.get("offload") or ""
    layers, experts = _NGL.search(offload), _MOE.search(offload)
    others = _OVERRIDE.search(offload) or row.get("experts_on_cpu") or row.get("layers_on_gpu")
    if (layers is None and experts is None) or others or "KV on GPU" in offload:
        return None
    every = arch.trunk.layers
    routed = any(layer.ffn is not None and layer.ffn.experts for layer in every)
    moe = int(experts[1]) if experts is not None else len(every) if "--cpu-moe" in offload else None
    wish = ServingWish(gpu_layers=None if layers is None else int(layers[1]), cpu_moe=moe if routed else None)
    result = asked_offload(arch, wish)
    return None if result is None else shares_of(arch, result)


def _whole_layers(offload: str, on_gpu: str, *, layers: float) -> float:
    """Layers of which nothing lies on a card."""
    if "-ngl 0" in offload or on_gpu.startswith("0"):
        return layers
    split, match = _CPU_PART.search(offload), _NGL.search(offload)
    if split is not None:
        return float(split[1]) / 100 * layers
    return 0.0 if match is None else max(layers - float(match[1]), 0.0)


def _layers_in_ram(offload: str, text: str, *, layers: float) -> float:
    """Layers whose experts, or whole feed-forward parts, lie in main memory."""
    if match := _MOE.search(offload):
        return float(match[1])
    if "those named" in text:
        return layers - len(_named(offload, int(layers)))
    plain = text.partition("(")[0]
    for pattern, law in _LAYER_WORDS:
        if match := pattern.search(plain):
            counted = law(match, layers)
            return float(layers - counted if "but" in text and pattern is _LAYERS else counted)
    every = "--cpu-moe" in offload or "all" in text.split() or "experts on CPU" in offload
    return layers if every else 0.0


_LAYER_WORDS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], float], float]], ...] = (
    (_LAYERS, lambda hit, _: float(hit[2]) - float(hit[1]) + 1),
    (_FROM, lambda hit, every: every - float(hit[1])),
    (_OF, lambda hit, every: float(hit[1]) / float(hit[2]) * every),
    (_BUT, lambda hit, every: every - float(hit[1])),
    (re.compile(r"FFN of (\d{1,18}) layers"), lambda hit, every: every - float(hit[1])),
    (re.compile("FFN of first"), lambda _, every: every - 2),
    (_SOME, lambda hit, _: float(hit[1])),
    (re.compile("some"), lambda _, every: every * 0.7),
)


@cache
def _named(offload: str, layers: int) -> frozenset[int]:
    """Layers whose experts a flag keeps on a card: -ot "blk.(3|4).ffn_.*=CUDA0"."""
    numbers: set[int] = set()
    for pattern, place in _OVERRIDE.findall(_RANGE.sub(_listed, offload)):
        if place.startswith("CUDA") and len(pattern) < 200:
            try:
                rule = re.compile(pattern)
            except re.error:
                continue
            numbers |= {at for at in range(layers) if rule.search(f"blk.{at}.ffn_up_exps.weight")}
    return frozenset(numbers)


def _listed(match: re.Match[str]) -> str:
    """A range as people write it, as the regex they meant."""
    return "(" + "|".join(str(at) for at in range(int(match[1]), int(match[2]) + 1)) + ")"
