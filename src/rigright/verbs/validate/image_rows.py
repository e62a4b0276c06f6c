"""A row of vision.csv as what is asked: a network's work, how it is run, and on what."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

from rigright.arch.benched import benched
from rigright.arch.classifiers import classifier
from rigright.arch.image_kinds import ImageKind, kind_of
from rigright.arch.record import Arch
from rigright.arch.sources import zoo
from rigright.base.errors import AskError
from rigright.base.tables import Row
from rigright.base.units import GIB, KILO
from rigright.base.words import Sentence, say
from rigright.cost.images.rates import ImageRun
from rigright.cost.images.work import ImageWork, arch_kind, work_of_arch, work_of_counts
from rigright.facts.chips import Chip
from rigright.facts.cpu_rates import CpuRate, find_cpu
from rigright.facts.find import find_chip

SEQ_TOK = 384  # of a text where nobody says: SQuAD
UNPADDED = 0.5  # of the longest text, on average, where texts are packed without padding: MLPerf BERT
PX, MACS_A_PARAM = 224, 170.0  # classifiers at that side: a middle of those that are benched
ACTS, ACTS_POWER = 5.0, 0.6  # elements written for multiply-adds, in millions for billions: the same
KEPT = 6.0  # times an element is held in training, for the batch that fits where nobody says
MOST_BATCH = 256
BERTS = {"bert-large": "google-bert/bert-large-uncased", "bert-base": "google-bert/bert-base-uncased"}
_TORCH = re.compile(r"pt(\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageAsk:
    """One row."""

    work: ImageWork
    kind: ImageKind
    run: ImageRun
    chip: Chip | None  # None: on a processor
    cpu: CpuRate | None  # None: on a chip
    batch: float  # samples of one chip
    ranks: float
    train: bool
    assumed: Sentence | None = None


def read_image(row: Row) -> ImageAsk:
    """What a row asks for."""
    gpu = row.get("gpu") or row.get("chip")
    if not gpu:
        raise AskError(say("the row names no chip: gpu is empty"))
    cpu = find_cpu(gpu) if gpu.upper().startswith("CPU") else None
    chip = find_chip(gpu) if cpu is None else None
    work, kind, assumed = work_of_row(row)
    ranks = float(row.get("n_gpus") or 1)
    train = (row.get("mode") or "infer").lower().startswith("train")
    run = run_of_row(row, chip)
    batch = row.get("batch_size")
    known = benched(row.get("model") or "")
    many = known.samples if known is not None else 1.0
    each = batch * many / ranks if batch else _batch_that_fits(work, chip, run=run, train=train, many=many)
    return ImageAsk(
        work=work,
        kind=kind,
        run=run,
        chip=chip,
        cpu=cpu,
        batch=max(each, 1.0),
        ranks=ranks,
        train=train,
        assumed=assumed,
    )


def work_of_row(row: Row) -> tuple[ImageWork, ImageKind, Sentence | None]:
    """From our own description, else from the counts a row bears, else from the table of benchmarks."""
    name = row.get("model") or ""
    if not name and row.get("gmacs") is None:
        raise AskError(say("the row names no model, and bears no multiply-adds"))
    found = _described(
        name, row.get("img_size"), seq_tok=row.get("seq_len"), unpadded="unpadded" in (row.get("note") or "")
    )
    if found is not None:
        return *found, None
    if row.get("gmacs") is not None and row.get("mactivs") is not None:
        counts = {key: row[key] for key in ("gmacs", "mactivs", "params_m")}
        return work_of_counts(**counts), kind_of(name), None
    known = benched(name)
    if known is not None:
        counts = {key: getattr(known, key) for key in ("gmacs", "mactivs", "params_m")}
        return replace(work_of_counts(**counts), kernels=known.kernels), kind_of(name), None
    # from parameters and the image's side: what such networks have on average
    params_m, gmacs = row.get("params_m"), row.get("gmacs")
    if gmacs is None and params_m is None:
        raise AskError(say("no description of the model, no multiply-adds and no parameters are known"))
    if gmacs is None:
        gmacs = MACS_A_PARAM / KILO * (params_m or 0.0) * ((row.get("img_size") or PX) / PX) ** 2
    return (
        work_of_counts(gmacs=gmacs, mactivs=ACTS * gmacs**ACTS_POWER, params_m=params_m),
        kind_of(name),
        say("the work of {model} was guessed from its size", model=name[:60]),
    )


def run_of_row(row: Row, chip: Chip | None) -> ImageRun:
    """Precision, order of maps, compiler, attention."""
    framework, said = (row.get("framework") or "").lower(), (row.get("compile") or "").lower()
    torch = _TORCH.search(framework)
    old = (torch is not None and int(torch[1]) < 2) or "ngc" in framework
    return ImageRun(
        precision=_precision((row.get("precision") or "amp").lower(), chip),
        channels_last=(row.get("layout") or "nchw").lower() in {"nhwc", "channels_last"},
        compiled="compile" in said or "dynamo" in said or "inductor" in said or "mlperf" in framework,
        fused_attention=not old,
    )


def _precision(said: str, chip: Chip | None) -> str:
    if "tf32" in said:
        return "tf32" if chip is not None and chip.tf32_flops_per_s else "fp32"
    if said.startswith(("fp32", "float32")):
        return "fp32"
    return "fp8" if said == "fp8" else "16bit"


@cache
def _described(
    name: str, image_px: float | None, *, seq_tok: float | None, unpadded: bool
) -> tuple[ImageWork, ImageKind] | None:
    text = next((source for word, source in BERTS.items() if word in name.lower().replace(" ", "-")), None)
    if text is not None:
        tok = round((seq_tok or SEQ_TOK) * (UNPADDED if unpadded else 1))
        arch = zoo.arch(text)
        return work_of_arch(arch, tok=tok), arch_kind(arch)
    plain = name.partition(".")[0]
    found = classifier(plain, image_px=None if image_px is None else int(image_px)) or _near(plain, image_px)
    return None if found is None else (work_of_arch(found), kind_of(name))


def _near(name: str, image_px: float | None) -> Arch | None:
    """The names other tables write: "ResNet50 v1.5", "ResNet-50"."""
    short = re.sub(r"[^a-z0-9]", "", name.lower().replace("v1.5", ""))
    if not re.fullmatch(r"resnet\d+", short):
        return None
    return classifier(short, image_px=None if image_px is None else int(image_px))


def _batch_that_fits(work: ImageWork, chip: Chip | None, *, run: ImageRun, train: bool, many: float) -> float:
    if chip is None:
        return 1.0
    each = (work.acts + work.pairs) * (KEPT if train else 1.0) * (2 if run.precision == "16bit" else 4)
    room = max(0.9 * chip.mem_bytes - (16 if train else 2) * work.params, GIB)
    return float(min(max(room / max(each, 1.0), 1.0), MOST_BATCH * many))
