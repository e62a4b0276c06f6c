"""vision.csv: samples a second of image and text networks, in inference and in training."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite, prod

from rigright.arch.benched import benched
from rigright.arch.classifiers import classifier
from rigright.arch.image_kinds import ImageKind, arch_kind, kind_of
from rigright.arch.record import Arch
from rigright.arch.sources import zoo
from rigright.arch.sources.find import copied
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.base.tables import Row
from rigright.base.units import GIB, KILO
from rigright.base.words import Sentence, say
from rigright.choice.training import LOOP
from rigright.cost.images import SUBJECT, ImageRun, ImageWork, work_of_counts
from rigright.cost.known import Ran
from rigright.demand import Layout, Size, Training
from rigright.facts.anchors import FULL, RunCase
from rigright.facts.chips import Chip
from rigright.facts.cpus import CpuRate, find_cpu
from rigright.facts.find import find_chip
from rigright.facts.nodes import find_node
from rigright.predict.painted import ImageCase, ImageCases, Place, samples_with_band, work_of_arch
from rigright.predict.trained_memory import least
from rigright.verbs.serving.samples import resized
from rigright.verbs.validate.ask import first_card
from rigright.verbs.validate.foreign import word
from rigright.verbs.validate.record import Answer, Basis, Prediction, TableKind, each, lookup, together

SPEED = "samples_per_s"
SEQ_TOK = 384  # of a text where nobody says: SQuAD
UNPADDED = 0.5  # of the longest text, on average, where texts are packed without padding: MLPerf BERT
UNCOUNTED, UNSIZED = 1.5, 1.5  # how much wider a band is, either way: cards not counted, no size told
_SERVER = re.compile(r"multi.?card|deepspeed")  # names of Habana's tests
SERVER_CARDS = 8
CPU_BATCH = 64.0  # that an engine gives a processor at once
PX, MACS_A_PARAM = 224, 170.0  # classifiers at that side: a middle of those that are benched
ACTS, ACTS_POWER = 5.0, 0.6  # elements written for multiply-adds, in millions for billions: the same
KEPT = 6.0  # times an element is held in training, for the batch that fits where nobody says
MOST_BATCH, LEAST_ROOM = 256, 0.2
GUESSED, UNSURE = (
    1.5,
    3.0,
)  # how much wider a band gets where the work is a guess, or what a test does is unsaid
TEXT_TOK, PAIR_TOK = 512, 128  # of a sample of a language model, and of GLUE's pairs, where nobody says
_TEST = re.compile(
    r"^test_(?:run_)?(?:(?:lora|prompt_tuning|image2text|finetune|clm|mlm|glue|qa|sft|dpo|ppo|reward_modeling|"
    r"summarization|image_classification|audio_classification|speech_recognition|seq2seq|ctc|clip|bridgetower|"
    r"sequence_classification)_)*|_(?:single_card|multi_card|deepspeed)$"
)  # names of tests in place of names of models
_TORCH = re.compile(r"pt(\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageAsk:
    """One row."""

    case: ImageCase
    assumed: Sentence | None = None
    wider: float = 1.0  # the band, where the network is a guess


def read_image(row: Row) -> ImageAsk:
    """What a row asks for."""
    gpu, batch = row.get("gpu") or row.get("chip"), row.get("batch_size")
    if not gpu:
        raise AskError(say("the row has no chip: gpu is empty"))
    place = _place(gpu)
    chip = place if isinstance(place, Chip) else None
    work, kind, assumed, wider = work_of_row(row)
    uncounted = row.get("n_gpus") is None and _SERVER.search(row.get("model") or "") is not None
    ranks = float(row.get("n_gpus") or (SERVER_CARDS if uncounted else 1))
    train = (row.get("mode") or "infer").lower().startswith("train")
    run = _run_of_row(row, chip)
    listed = benched(row.get("model") or "")
    many = 1.0 if listed is None else listed.samples
    fits = _batch_that_fits(work, chip, run=run, train=train, many=many)
    # tables of trainers name the batch of a chip or of all: what one chip has no room for is of all
    roomy = ranks == 1 or not batch or batch * many <= fits or (train and _learns(row, chip, run=run))
    share = batch * many / (1.0 if roomy else ranks) if batch else fits
    case = ImageCase(
        work=work, kind=kind, run=run, place=place, batch=max(share, 1.0), ranks=ranks, trains=train
    )
    is_sized = any(row.get(name) is not None for name in ("batch_size", "img_size", "seq_len", "gmacs"))
    built = word("image_engine", row.get("framework") or "")
    engine = 1.0 if built is None else built["wider"]  # that few ran
    doubts = (wider, engine, UNCOUNTED if uncounted else 1.0, 1.0 if is_sized else UNSIZED)
    return ImageAsk(case=case, assumed=assumed, wider=prod(doubts))


def work_of_row(row: Row) -> tuple[ImageWork, ImageKind, Sentence | None, float]:
    """From our own description, else from the counts a row bears, else from the table of benchmarks."""
    name = row.get("model") or ""
    if not name and row.get("gmacs") is None:
        raise AskError(say("the row has neither a model nor multiply-adds"))
    pair = _described(
        name, row.get("img_size"), seq_tok=row.get("seq_len"), unpadded=bool(row.get("padding_skipped"))
    )
    if pair is not None:
        return *pair, None, 1.0
    if row.get("gmacs") is not None and row.get("mactivs") is not None:
        counts = {key: row[key] for key in ("gmacs", "mactivs", "params_m")}
        return work_of_counts(**counts), kind_of(name), None, 1.0
    listed = benched(name)
    if listed is not None:
        counts = {key: getattr(listed, key) for key in ("gmacs", "mactivs", "params_m")}
        return replace(work_of_counts(**counts), kernels=listed.kernels), kind_of(listed.kind), None, 1.0
    # from parameters and the image's side: what such networks have on average
    params_m, gmacs = row.get("params_m"), row.get("gmacs")
    if gmacs is None and params_m is None:
        return _of_text(name, row.get("seq_len"))
    if gmacs is None:
        gmacs = MACS_A_PARAM / KILO * (params_m or 0.0) * ((row.get("img_size") or PX) / PX) ** 2
    return (
        work_of_counts(gmacs=gmacs, mactivs=ACTS * gmacs**ACTS_POWER, params_m=params_m),
        kind_of(name),
        say("compute of {model} estimated from its size", model=name[:60]),
        GUESSED,
    )


def _of_text(name: str, seq_tok: float | None) -> tuple[ImageWork, ImageKind, Sentence | None, float]:
    """A language model, under a name of a test or of its own."""
    plain = _TEST.sub("", name)
    arch = copied(plain) or open_model(plain)
    tok = round(seq_tok or (PAIR_TOK if "glue" in name else TEXT_TOK))
    note = say("{model}: assuming {tok} tokens per sample", model=arch.name[:60], tok=tok)
    return work_of_arch(arch, tok=tok), arch_kind(arch), note, UNSURE


@cache
def _place(name: str) -> Place:
    """A chip; a processor that benchmarks ran on, else any that we know the cores and memory of."""
    if not name.upper().startswith("CPU"):
        return find_chip(name)
    plain = re.sub(r"\d+th gen|\[.*|\(.*", "", name, flags=re.IGNORECASE)
    node = None if lookup(find_cpu, plain) else lookup(find_node, plain.removeprefix("CPU ").strip())
    if node is None:
        return find_cpu(plain)
    chip = node.cards[0].chip
    return CpuRate(
        name=chip.name,
        flops_per_s=chip.fp32_flops_per_s or float("nan"),
        mem_bytes_per_s=chip.mem_bytes_per_s,
    )


def _run_of_row(row: Row, chip: Chip | None) -> ImageRun:
    """Precision, order of maps, compiler, attention."""
    framework, value = (row.get("framework") or "").lower(), (row.get("compile") or "").lower()
    torch, built = _TORCH.search(framework), word("image_engine", framework)
    tuned = built is not None or "mlperf" in framework
    able = {} if chip is None else {"narrow": chip.fp8_flops_per_s, "tf32": chip.tf32_flops_per_s}
    beside = " ".join(["tuned" if tuned else "plain", *(name for name, rate in able.items() if rate)])
    precision = word("image_precision", row.get("precision") or "amp", beside=beside)
    return ImageRun(
        engine="" if built is None else built["is"],
        precision="16bit" if precision is None else precision["is"],
        channels_last=(row.get("layout") or "nchw").lower() in {"nhwc", "channels_last"},
        compiled="compile" in value or "dynamo" in value or "inductor" in value or "mlperf" in framework,
        fused_attention=not ((torch is not None and int(torch[1]) < 2) or "ngc" in framework),
    )


@cache
def _described(
    name: str, image_px: float | None, *, seq_tok: float | None, unpadded: bool
) -> tuple[ImageWork, ImageKind] | None:
    written = name.lower().replace(" ", "-")
    text = word("text_network", written)
    if text is not None:
        # long sequences of pre-training are mostly padding, which trainers take out
        packed = unpadded or ("pretrain" in written and (seq_tok or 0) >= SEQ_TOK)
        arch = zoo.arch(text["is"])
        work = work_of_arch(arch, tok=round((seq_tok or SEQ_TOK) * (UNPADDED if packed else 1)))
        parts = ("macs", "acts", "pairs", "params", "kernels")
        shares = {part: getattr(work, part) * text["layers"] for part in parts}
        return replace(work, **shares), arch_kind(arch)
    pair = _looking(name, image_px)
    return None if pair is None else (work_of_arch(pair[0]), pair[1])


@cache
def _looking(name: str, image_px: float | None) -> tuple[Arch, ImageKind] | None:
    """A network that looks at images, of our own description."""
    px = None if image_px is None else int(image_px)
    own = zoo.exact(name)
    if own is not None and zoo.arch(own).task == "vision":
        arch = zoo.arch(own) if px is None else resized(zoo.arch(own), Size.square(px))
        return arch, arch_kind(arch)
    plain = name.partition(".")[0]
    result = classifier(plain, image_px=px) or _near(plain, image_px)
    return None if result is None else (result, kind_of(name))


def _learns(row: Row, chip: Chip | None, *, run: ImageRun) -> bool:
    """Whether a step of the batch told fits a card, as `explain --train` has it."""
    pair = _looking(row.get("model") or "", row.get("img_size"))
    if chip is None or pair is None:
        return False
    wide = "fp32" if run.precision in {"fp32", "tf32"} else None
    training = Training(trainer=LOOP, micro_batch=row["batch_size"], precision=wide, seq_tok=1)
    return least(pair[0], training, layout=Layout(dp=2)).value <= first_card(chip.id).room_bytes


def _near(name: str, image_px: float | None) -> Arch | None:
    """The names other tables write: "ResNet50 v1.5", "ResNet-50", "google/vit-base-patch16-224-in21k"."""
    px = None if image_px is None else int(image_px)
    short = re.sub(r"[^a-z0-9]", "", name.lower().replace("v1.5", "").replace("v1", ""))
    if short == "resnet":  # MLPerf's
        short = "resnet50"
    if re.fullmatch(r"resnet\d+", short):
        return classifier(short, image_px=px)
    words = re.sub(
        r"[^a-z0-9]+",
        "_",
        _TEST.sub("", name.replace("widese-", "")).lower().rpartition("/")[2].rpartition(" ")[2],
    )
    pieces = words.split("_")
    ends = range(len(pieces), 1, -1)
    return next((arch for end in ends if (arch := classifier("_".join(pieces[:end]), image_px=px))), None)


def _batch_that_fits(work: ImageWork, chip: Chip | None, *, run: ImageRun, train: bool, many: float) -> float:
    if chip is None:
        return CPU_BATCH if run.compiled else 1.0
    sample = (work.acts + work.pairs) * (KEPT if train else 1.0) * (2 if run.precision == "16bit" else 4)
    least = LEAST_ROOM * chip.mem_bytes  # states that have no room are shared out, or adapters learn alone
    room = max(0.9 * chip.mem_bytes - (16 if train else 2) * work.params, least, GIB)
    return float(min(max(room / max(sample, 1.0), 1.0), MOST_BATCH * many))


def answers(rows: Sequence[Row]) -> list[Answer]:
    """Samples a second of all chips together; all rows share a call of the law."""

    def speeds(asks: Sequence[ImageAsk]) -> list[float]:
        return list(map(float, ImageCases.of([ask.case for ask in asks]).samples_per_s()))

    asks = each(read_image, rows)
    return each(
        lambda row, ask, speed: _predictions(row, ask, speed=speed), rows, asks, together(speeds, asks)
    )


def _predictions(row: Row, ask: ImageAsk, *, speed: float) -> tuple[Prediction, ...]:
    case, model = ask.case, row.get("model") or ""
    if not isfinite(speed):
        raise AskError(say("no peak rate known for {chip} in this precision", chip=row.get("gpu") or ""))
    values = (row.get(name) for name in ("mode", "precision", "layout", "compile", "framework"))
    ran = RunCase(
        weights=" ".join(filter(None, values)),
        chips=row.get("n_gpus") or 1,
        load=row.get("batch_size") or FULL,
        prompt_tok=row.get("img_size") or row.get("seq_len") or 0.0,
    )
    what = Ran(kind=case.kind.kin, model=model, source=row.get("source") or "", case=ran)
    estimate = samples_with_band(speed, place=case.place, what=what, trains=case.trains)
    chip = case.place.id if isinstance(case.place, Chip) else None
    basis = (
        None if chip is None else Basis(subject=SUBJECT, figure="samples", chip=chip, model=model, case=ran)
    )
    group = "train" if case.trains else "infer"
    return (Prediction.of(SPEED, estimate, group=group, why=ask.assumed, basis=basis).widened(ask.wider),)


KIND = TableKind(
    name="vision",
    marks=("img_size", "batch_size"),
    metrics=lambda _raw: (SPEED,),
    answers=answers,
    measured=(SPEED,),
)
