# made by scripts/docs from the parsers and the records; do not edit
from collections.abc import Sequence
from os import PathLike
from typing import Any, TypeAlias

from rigright.base.errors import AskError as AskError
from rigright.base.errors import DataError as DataError
from rigright.base.errors import MissingError as MissingError
from rigright.base.errors import RigError as RigError
from rigright.doctor.baseline import Baseline
from rigright.doctor.examine import Examined
from rigright.faces.python import Reply
from rigright.machine.record import Machine
from rigright.report.pages.baseline import HeldAgainst
from rigright.report.pages.export import Exported, HeldFlags
from rigright.report.pages.files import PrintedFiles
from rigright.report.pages.health import NodeHealth
from rigright.report.pages.prices import Forgotten
from rigright.verbs.assembled import Assembled, CheckedList
from rigright.verbs.bench.benched import BenchRun, PartList
from rigright.verbs.calibrate.calibrated import Anchored
from rigright.verbs.comparing.compared import Compared
from rigright.verbs.comparing.sheets import Sheets
from rigright.verbs.completion import Completion
from rigright.verbs.costed import Costed
from rigright.verbs.decided import Decided
from rigright.verbs.diagnosed import BottleneckReport
from rigright.verbs.fitted import Fitted
from rigright.verbs.fleet.accept.accepted import Accepted
from rigright.verbs.fleet.nodes import Fleet
from rigright.verbs.measure.measured import Measured
from rigright.verbs.planning.planned import Planned
from rigright.verbs.priced import Priced, PriceList
from rigright.verbs.read.record import ReadGuide
from rigright.verbs.serving.explained import Explained
from rigright.verbs.setup.set_up import SetUp
from rigright.verbs.simulate.simulated import Simulated
from rigright.verbs.sweep.swept import Swept
from rigright.verbs.training.trained import Trained
from rigright.verbs.upgrade.upgraded import Upgraded
from rigright.verbs.validate.validation import Validation
from rigright.verbs.watch.frame import watch as watch
from rigright.verbs.watch.watched import Past

Texts: TypeAlias = str | float | PathLike[str] | Sequence[str | float | PathLike[str]]

__version__: str

class BaselineReply(Reply[Baseline | HeldAgainst]):
    def __getattr__(self, name: str) -> Any: ...

def baseline(
    *,
    save: Texts | None = None,
    check: Texts | None = None,
    bench: Texts | None = None,
    from_: Texts | None = None,
    lang: Texts | None = None,
) -> BaselineReply: ...

class BenchReply(Reply[BenchRun | PartList]):
    def __getattr__(self, name: str) -> Any: ...

def bench(
    *parts: Texts,
    quick: bool | None = None,
    time: Texts | None = None,
    on: Texts | None = None,
    python: Texts | None = None,
    disk: Texts | None = None,
    peer: Texts | None = None,
    listen: bool | Texts | None = None,
    endpoint: Texts | None = None,
    model: Texts | None = None,
    plan: Texts | None = None,
    save: Texts | None = None,
    rows: Texts | None = None,
    no_history: bool | None = None,
    from_: Texts | None = None,
    baseline: Texts | None = None,
    list: bool | None = None,
    lang: Texts | None = None,
) -> BenchReply: ...

class BuildReply(Reply[Assembled | CheckedList]):
    def __getattr__(self, name: str) -> Any: ...

def build(
    what: Texts | None = None,
    *,
    check: Texts | None = None,
    from_: Texts | None = None,
    room: Texts | None = None,
    on: Texts | None = None,
    own: Texts | None = None,
    chips: Texts | None = None,
    vendor: Texts | None = None,
    cloud: Texts | None = None,
    buy: bool | None = None,
    rent: bool | None = None,
    spot: bool | None = None,
    max_chips: Texts | None = None,
    mode: Texts | None = None,
    prompt: Texts | None = None,
    output: Texts | None = None,
    context: Texts | None = None,
    concurrency: Texts | None = None,
    users: Texts | None = None,
    rate: Texts | None = None,
    cached: Texts | None = None,
    draft: Texts | None = None,
    draft_tokens: Texts | None = None,
    image_size: Texts | None = None,
    steps: Texts | None = None,
    batch: Texts | None = None,
    engine: Texts | None = None,
    weights: Texts | None = None,
    format: Texts | None = None,
    kv: Texts | None = None,
    quality: Texts | None = None,
    tokens: Texts | None = None,
    samples: Texts | None = None,
    epochs: Texts | None = None,
    seq: Texts | None = None,
    method: Texts | None = None,
    train: Texts | None = None,
    trainer: Texts | None = None,
    days: Texts | None = None,
    ttft: Texts | None = None,
    tpot: Texts | None = None,
    latency: Texts | None = None,
    percentile: Texts | None = None,
    tok_per_s: Texts | None = None,
    budget: Texts | None = None,
    per_hour: Texts | None = None,
    per_mtok: Texts | None = None,
    watts: Texts | None = None,
    licence: Texts | None = None,
    license: Texts | None = None,
    growth: Texts | None = None,
    grows_to: Texts | None = None,
    tariff: Texts | None = None,
    place: Texts | None = None,
    customer: Texts | None = None,
    pue: Texts | None = None,
    years: Texts | None = None,
    duty: Texts | None = None,
    utilisation: Texts | None = None,
    utilization: Texts | None = None,
    used: bool | None = None,
    currency: Texts | None = None,
    prices: Texts | None = None,
    aim: Texts | None = None,
    plans: Texts | None = None,
    why: bool | None = None,
    details: bool | None = None,
    lang: Texts | None = None,
) -> BuildReply: ...

class CalibrateReply(Reply[Anchored], Anchored): ...

def calibrate(
    *,
    from_: Texts | None = None,
    out: Texts | None = None,
    on: Texts | None = None,
    model: Texts | None = None,
    plan: Texts | None = None,
    prompt: Texts | None = None,
    output: Texts | None = None,
    context: Texts | None = None,
    concurrency: Texts | None = None,
    users: Texts | None = None,
    batch: Texts | None = None,
    engine: Texts | None = None,
    weights: Texts | None = None,
    format: Texts | None = None,
    kv: Texts | None = None,
    step_tokens: Texts | None = None,
    max_seqs: Texts | None = None,
    util: Texts | None = None,
    no_graphs: bool | None = None,
    tp: Texts | None = None,
    pp: Texts | None = None,
    dp: Texts | None = None,
    ep: Texts | None = None,
    cp: Texts | None = None,
    attention_dp: bool | None = None,
    no_attention_dp: bool | None = None,
    seq: Texts | None = None,
    method: Texts | None = None,
    train: Texts | None = None,
    trainer: Texts | None = None,
    optimizer: Texts | None = None,
    precision: Texts | None = None,
    micro_batch: Texts | None = None,
    recompute: Texts | None = None,
    sharding: Texts | None = None,
    why: bool | None = None,
    lang: Texts | None = None,
) -> CalibrateReply: ...

class CompareReply(Reply[Compared | Sheets]):
    def __getattr__(self, name: str) -> Any: ...

def compare(
    *things: Texts,
    for_: Texts | None = None,
    model: Texts | None = None,
    anchors: Texts | None = None,
    buy: bool | None = None,
    rent: bool | None = None,
    spot: bool | None = None,
    max_chips: Texts | None = None,
    mode: Texts | None = None,
    prompt: Texts | None = None,
    output: Texts | None = None,
    context: Texts | None = None,
    concurrency: Texts | None = None,
    users: Texts | None = None,
    rate: Texts | None = None,
    cached: Texts | None = None,
    draft: Texts | None = None,
    draft_tokens: Texts | None = None,
    image_size: Texts | None = None,
    steps: Texts | None = None,
    batch: Texts | None = None,
    engine: Texts | None = None,
    weights: Texts | None = None,
    format: Texts | None = None,
    kv: Texts | None = None,
    quality: Texts | None = None,
    tokens: Texts | None = None,
    samples: Texts | None = None,
    epochs: Texts | None = None,
    seq: Texts | None = None,
    method: Texts | None = None,
    train: Texts | None = None,
    trainer: Texts | None = None,
    days: Texts | None = None,
    ttft: Texts | None = None,
    tpot: Texts | None = None,
    latency: Texts | None = None,
    percentile: Texts | None = None,
    tok_per_s: Texts | None = None,
    budget: Texts | None = None,
    per_hour: Texts | None = None,
    per_mtok: Texts | None = None,
    watts: Texts | None = None,
    licence: Texts | None = None,
    license: Texts | None = None,
    growth: Texts | None = None,
    grows_to: Texts | None = None,
    tariff: Texts | None = None,
    place: Texts | None = None,
    customer: Texts | None = None,
    pue: Texts | None = None,
    years: Texts | None = None,
    duty: Texts | None = None,
    utilisation: Texts | None = None,
    utilization: Texts | None = None,
    used: bool | None = None,
    currency: Texts | None = None,
    prices: Texts | None = None,
    aim: Texts | None = None,
    why: bool | None = None,
    details: bool | None = None,
    lang: Texts | None = None,
) -> CompareReply: ...

class CompletionReply(Reply[Completion], Completion): ...

def completion(
    shell: Texts,
    *,
    why: bool | None = None,
    lang: Texts | None = None,
) -> CompletionReply: ...

class CostReply(Reply[Costed], Costed): ...

def cost(
    what: Texts | None = None,
    *,
    for_: Texts | None = None,
    model: Texts | None = None,
    from_: Texts | None = None,
    on: Texts | None = None,
    own: Texts | None = None,
    chips: Texts | None = None,
    vendor: Texts | None = None,
    cloud: Texts | None = None,
    buy: bool | None = None,
    rent: bool | None = None,
    spot: bool | None = None,
    max_chips: Texts | None = None,
    mode: Texts | None = None,
    prompt: Texts | None = None,
    output: Texts | None = None,
    context: Texts | None = None,
    concurrency: Texts | None = None,
    users: Texts | None = None,
    rate: Texts | None = None,
    cached: Texts | None = None,
    draft: Texts | None = None,
    draft_tokens: Texts | None = None,
    image_size: Texts | None = None,
    steps: Texts | None = None,
    batch: Texts | None = None,
    engine: Texts | None = None,
    weights: Texts | None = None,
    format: Texts | None = None,
    kv: Texts | None = None,
    quality: Texts | None = None,
    tokens: Texts | None = None,
    samples: Texts | None = None,
    epochs: Texts | None = None,
    seq: Texts | None = None,
    method: Texts | None = None,
    train: Texts | None = None,
    trainer: Texts | None = None,
    days: Texts | None = None,
    ttft: Texts | None = None,
    tpot: Texts | None = None,
    latency: Texts | None = None,
    percentile: Texts | None = None,
    tok_per_s: Texts | None = None,
    budget: Texts | None = None,
    per_hour: Texts | None = None,
    per_mtok: Texts | None = None,
    watts: Texts | None = None,
    licence: Texts | None = None,
    license: Texts | None = None,
    growth: Texts | None = None,
    grows_to: Texts | None = None,
    tariff: Texts | None = None,
    place: Texts | None = None,
    customer: Texts | None = None,
    pue: Texts | None = None,
    years: Texts | None = None,
    duty: Texts | None = None,
    utilisation: Texts | None = None,
    utilization: Texts | None = None,
    used: bool | None = None,
    currency: Texts | None = None,
    cooling: Texts | None = None,
    space: Texts | None = None,
    upkeep: Texts | None = None,
    people: Texts | None = None,
    api: Texts | None = None,
    api_usd_per_mtok: Texts | None = None,
    mtok: Texts | None = None,
    after: Texts | None = None,
    then: Texts | None = None,
    prices: Texts | None = None,
    aim: Texts | None = None,
    why: bool | None = None,
    details: bool | None = None,
    lang: Texts | None = None,
) -> CostReply: ...

class DiagnoseReply(Reply[BottleneckReport], BottleneckReport): ...

def diagnose(
    *,
    for_: Texts | None = None,
    since: Texts | None = None,
    history: Texts | None = None,
    from_: Texts | None = None,
    lang: Texts | None = None,
) -> DiagnoseReply: ...

class DoctorReply(Reply[Examined], Examined): ...

def doctor(
    *,
    only: Texts | None = None,
    from_: Texts | None = None,
    for_: Texts | None = None,
    baseline: Texts | None = None,
    before: Texts | None = None,
    all: bool | None = None,
    why: bool | None = None,
    fix_script: Texts | None = None,
    lang: Texts | None = None,
) -> DoctorReply: ...

class ExplainReply(Reply[Explained | Trained]):
    def __getattr__(self, name: str) -> Any: ...

def explain(
    model: Texts,
    *,
    anchors: Texts | None = None,
    on: Texts | None = None,
    mode: Texts | None = None,
    prompt: Texts | None = None,
    output: Texts | None = None,
    context: Texts | None = None,
    concurrency: Texts | None = None,
    users: Texts | None = None,
    rate: Texts | None = None,
    cached: Texts | None = None,
    draft: Texts | None = None,
    draft_tokens: Texts | None = None,
    image_size: Texts | None = None,
    steps: Texts | None = None,
    batch: Texts | None = None,
    engine: Texts | None = None,
    weights: Texts | None = None,
    format: Texts | None = None,
    kv: Texts | None = None,
    step_tokens: Texts | None = None,
    max_seqs: Texts | None = None,
    util: Texts | None = None,
    gpu_layers: Texts | None = None,
    ngl: Texts | None = None,
    cpu_moe: Texts | None = None,
    n_cpu_moe: Texts | None = None,
    no_graphs: bool | None = None,
    tp: Texts | None = None,
    pp: Texts | None = None,
    dp: Texts | None = None,
    ep: Texts | None = None,
    cp: Texts | None = None,
    attention_dp: bool | None = None,
    no_attention_dp: bool | None = None,
    sequence_parallel: bool | None = None,
    train: bool | Texts | None = None,
    serve: bool | None = None,
    tokens: Texts | None = None,
    samples: Texts | None = None,
    epochs: Texts | None = None,
    seq: Texts | None = None,
    trainer: Texts | None = None,
    days: Texts | None = None,
    optimizer: Texts | None = None,
    precision: Texts | None = None,
    micro_batch: Texts | None = None,
    accumulate: Texts | None = None,
    recompute: Texts | None = None,
    rank: Texts | None = None,
    targets: Texts | None = None,
    base: Texts | None = None,
    references: Texts | None = None,
    sharding: Texts | None = None,
    offload: Texts | None = None,
    schedule: Texts | None = None,
    virtual_stages: Texts | None = None,
    flash: bool | None = None,
    no_flash: bool | None = None,
    chunked_loss: bool | None = None,
    compiled: bool | None = None,
    requests: Texts | None = None,
    ttft: Texts | None = None,
    tpot: Texts | None = None,
    latency: Texts | None = None,
    percentile: Texts | None = None,
    tok_per_s: Texts | None = None,
    why: bool | None = None,
    details: bool | None = None,
    lang: Texts | None = None,
) -> ExplainReply: ...

class ExportReply(Reply[Exported | HeldFlags]):
    def __getattr__(self, name: str) -> Any: ...

def export(
    target: Texts,
    model: Texts | None = None,
    *,
    from_: Texts | None = None,
    number: Texts | None = None,
    checkpoint: Texts | None = None,
    script: Texts | None = None,
    out: Texts | None = None,
    check: Texts | None = None,
    watched: Texts | None = None,
    alertmanager: Texts | None = None,
    token_file: Texts | None = None,
    every: Texts | None = None,
    on: Texts | None = None,
    own: Texts | None = None,
    chips: Texts | None = None,
    vendor: Texts | None = None,
    cloud: Texts | None = None,
    buy: bool | None = None,
    rent: bool | None = None,
    spot: bool | None = None,
    max_chips: Texts | None = None,
    mode: Texts | None = None,
    prompt: Texts | None = None,
    output: Texts | None = None,
    context: Texts | None = None,
    concurrency: Texts | None = None,
    users: Texts | None = None,
    rate: Texts | None = None,
    cached: Texts | None = None,
    draft: Texts | None = None,
    draft_tokens: Texts | None = None,
    image_size: Texts | None = None,
    steps: Texts | None = None,
    batch: Texts | None = None,
    engine: Texts | None = None,
    weights: Texts | None = None,
    format: Texts | None = None,
    kv: Texts | None = None,
    quality: Texts | None = None,
    tokens: Texts | None = None,
    samples: Texts | None = None,
    epochs: Texts | None = None,
    seq: Texts | None = None,
    method: Texts | None = None,
    train: Texts | None = None,
    trainer: Texts | None = None,
    days: Texts | None = None,
    ttft: Texts | None = None,
    tpot: Texts | None = None,
    latency: Texts | None = None,
    percentile: Texts | None = None,
    tok_per_s: Texts | None = None,
    budget: Texts | None = None,
    per_hour: Texts | None = None,
    per_mtok: Texts | None = None,
    watts: Texts | None = None,
    licence: Texts | None = None,
    license: Texts | None = None,
    growth: Texts | None = None,
    grows_to: Texts | None = None,
    tariff: Texts | None = None,
    place: Texts | None = None,
    customer: Texts | None = None,
    pue: Texts | None = None,
    years: Texts | None = None,
    duty: Texts | None = None,
    utilisation: Texts | None = None,
    utilization: Texts | None = None,
    used: bool | None = None,
    currency: Texts | None = None,
    prices: Texts | None = None,
    aim: Texts | None = None,
    plans: Texts | None = None,
    lang: Texts | None = None,
) -> ExportReply: ...

class FitReply(Reply[Fitted], Fitted): ...

def fit(
    machine: Texts | None = None,
    *,
    anchors: Texts | None = None,
    on: Texts | None = None,
    task: Texts | None = None,
    family: Texts | None = None,
    min_params: Texts | None = None,
    max_params: Texts | None = None,
    all_formats: bool | None = None,
    context: Texts | None = None,
    engine: Texts | None = None,
    licence: Texts | None = None,
    license: Texts | None = None,
    limit: Texts | None = None,
    why: bool | None = None,
    details: bool | None = None,
    lang: Texts | None = None,
) -> FitReply: ...

class FleetReply(Reply[Fleet | Accepted | NodeHealth | PrintedFiles]):
    def __getattr__(self, name: str) -> Any: ...

def fleet(
    what: Texts,
    *,
    hosts: Texts | None = None,
    slurm: bool | Texts | None = None,
    kubernetes: bool | Texts | None = None,
    from_: Texts | None = None,
    only: Texts | None = None,
    for_: Texts | None = None,
    baseline: Texts | None = None,
    parts: Texts | None = None,
    full: bool | None = None,
    accept: Texts | None = None,
    burn: Texts | None = None,
    disk: Texts | None = None,
    timeout: Texts | None = None,
    parallel: Texts | None = None,
    python: Texts | None = None,
    sudo: bool | None = None,
    options: Texts | None = None,
    save: Texts | None = None,
    all: bool | None = None,
    drain: bool | None = None,
    node: Texts | None = None,
    shell: bool | None = None,
    image: Texts | None = None,
    metrics: bool | None = None,
    nodes: Texts | None = None,
    lang: Texts | None = None,
) -> FleetReply: ...

class HistoryReply(Reply[Past], Past): ...

def history(
    *,
    since: Texts | None = None,
    until: Texts | None = None,
    of: Texts | None = None,
    every: Texts | None = None,
    file: Texts | None = None,
    lang: Texts | None = None,
) -> HistoryReply: ...

class LookUpReply(Reply[Any]):
    def __getattr__(self, name: str) -> Any: ...

def look_up(
    kind: Texts | None = None,
    *words: Texts,
    where: Texts | None = None,
    vendor: Texts | None = None,
    segment: Texts | None = None,
    min_memory: Texts | None = None,
    since: Texts | None = None,
    task: Texts | None = None,
    family: Texts | None = None,
    min_params: Texts | None = None,
    max_params: Texts | None = None,
    shape: Texts | None = None,
    run_code: bool | None = None,
    input: Texts | None = None,
    sort: Texts | None = None,
    reverse: bool | None = None,
    limit: Texts | None = None,
    sources: bool | None = None,
    why: bool | None = None,
    lang: Texts | None = None,
) -> LookUpReply: ...

class McpReply(Reply[Any]):
    def __getattr__(self, name: str) -> Any: ...

def mcp(
    *,
    http: Texts | None = None,
    root: Texts | None = None,
    list: bool | None = None,
    why: bool | None = None,
    lang: Texts | None = None,
) -> McpReply: ...

class MeasureReply(Reply[Measured], Measured): ...

def measure(
    *,
    plan: Texts | None = None,
    read: Texts | None = None,
    every: Texts | None = None,
    steps: Texts | None = None,
    tokens: Texts | None = None,
    save: Texts | None = None,
    lang: Texts | None = None,
) -> MeasureReply: ...

class PlanReply(Reply[Planned], Planned): ...

def plan(
    model: Texts,
    *,
    anchors: Texts | None = None,
    on: Texts | None = None,
    own: Texts | None = None,
    chips: Texts | None = None,
    vendor: Texts | None = None,
    cloud: Texts | None = None,
    buy: bool | None = None,
    rent: bool | None = None,
    spot: bool | None = None,
    max_chips: Texts | None = None,
    mode: Texts | None = None,
    prompt: Texts | None = None,
    output: Texts | None = None,
    context: Texts | None = None,
    concurrency: Texts | None = None,
    users: Texts | None = None,
    rate: Texts | None = None,
    cached: Texts | None = None,
    draft: Texts | None = None,
    draft_tokens: Texts | None = None,
    image_size: Texts | None = None,
    steps: Texts | None = None,
    batch: Texts | None = None,
    engine: Texts | None = None,
    weights: Texts | None = None,
    format: Texts | None = None,
    kv: Texts | None = None,
    quality: Texts | None = None,
    tokens: Texts | None = None,
    samples: Texts | None = None,
    epochs: Texts | None = None,
    seq: Texts | None = None,
    method: Texts | None = None,
    train: Texts | None = None,
    trainer: Texts | None = None,
    days: Texts | None = None,
    ttft: Texts | None = None,
    tpot: Texts | None = None,
    latency: Texts | None = None,
    percentile: Texts | None = None,
    tok_per_s: Texts | None = None,
    budget: Texts | None = None,
    per_hour: Texts | None = None,
    per_mtok: Texts | None = None,
    watts: Texts | None = None,
    licence: Texts | None = None,
    license: Texts | None = None,
    growth: Texts | None = None,
    grows_to: Texts | None = None,
    tariff: Texts | None = None,
    place: Texts | None = None,
    customer: Texts | None = None,
    pue: Texts | None = None,
    years: Texts | None = None,
    duty: Texts | None = None,
    utilisation: Texts | None = None,
    utilization: Texts | None = None,
    used: bool | None = None,
    currency: Texts | None = None,
    prices: Texts | None = None,
    aim: Texts | None = None,
    plans: Texts | None = None,
    why: bool | None = None,
    details: bool | None = None,
    lang: Texts | None = None,
) -> PlanReply: ...

class PricesReply(Reply[Priced | PriceList | Forgotten]):
    def __getattr__(self, name: str) -> Any: ...

def prices(
    what: Texts,
    *names: Texts,
    used: bool | None = None,
    currency: Texts | None = None,
    prices: Texts | None = None,
    why: bool | None = None,
    lang: Texts | None = None,
) -> PricesReply: ...

class ProbeReply(Reply[Machine], Machine): ...

def probe(
    *,
    from_: Texts | None = None,
    save: Texts | None = None,
    bundle: Texts | None = None,
    all: bool | None = None,
    lang: Texts | None = None,
) -> ProbeReply: ...

class ReadReply(Reply[ReadGuide], ReadGuide): ...

def read(
    file: Texts,
    *,
    why: bool | None = None,
    details: bool | None = None,
    lang: Texts | None = None,
) -> ReadReply: ...

class ReportReply(Reply[Decided], Decided): ...

def report(
    what: Texts,
    *,
    out: Texts | None = None,
    on: Texts | None = None,
    own: Texts | None = None,
    chips: Texts | None = None,
    vendor: Texts | None = None,
    cloud: Texts | None = None,
    buy: bool | None = None,
    rent: bool | None = None,
    spot: bool | None = None,
    max_chips: Texts | None = None,
    mode: Texts | None = None,
    prompt: Texts | None = None,
    output: Texts | None = None,
    context: Texts | None = None,
    concurrency: Texts | None = None,
    users: Texts | None = None,
    rate: Texts | None = None,
    cached: Texts | None = None,
    draft: Texts | None = None,
    draft_tokens: Texts | None = None,
    image_size: Texts | None = None,
    steps: Texts | None = None,
    batch: Texts | None = None,
    engine: Texts | None = None,
    weights: Texts | None = None,
    format: Texts | None = None,
    kv: Texts | None = None,
    quality: Texts | None = None,
    tokens: Texts | None = None,
    samples: Texts | None = None,
    epochs: Texts | None = None,
    seq: Texts | None = None,
    method: Texts | None = None,
    train: Texts | None = None,
    trainer: Texts | None = None,
    days: Texts | None = None,
    ttft: Texts | None = None,
    tpot: Texts | None = None,
    latency: Texts | None = None,
    percentile: Texts | None = None,
    tok_per_s: Texts | None = None,
    budget: Texts | None = None,
    per_hour: Texts | None = None,
    per_mtok: Texts | None = None,
    watts: Texts | None = None,
    licence: Texts | None = None,
    license: Texts | None = None,
    growth: Texts | None = None,
    grows_to: Texts | None = None,
    tariff: Texts | None = None,
    place: Texts | None = None,
    customer: Texts | None = None,
    pue: Texts | None = None,
    years: Texts | None = None,
    duty: Texts | None = None,
    utilisation: Texts | None = None,
    utilization: Texts | None = None,
    used: bool | None = None,
    currency: Texts | None = None,
    prices: Texts | None = None,
    aim: Texts | None = None,
    plans: Texts | None = None,
    why: bool | None = None,
    lang: Texts | None = None,
) -> ReportReply: ...

class SetupReply(Reply[SetUp], SetUp): ...

def setup(
    *,
    for_: Texts | None = None,
    on: Texts | None = None,
    from_: Texts | None = None,
    os: Texts | None = None,
    framework: Texts | None = None,
    script: bool | Texts | None = None,
    docker: bool | Texts | None = None,
    requirements: bool | Texts | None = None,
    lang: Texts | None = None,
) -> SetupReply: ...

class SimulateReply(Reply[Simulated], Simulated): ...

def simulate(
    model: Texts | None = None,
    *,
    on: Texts | None = None,
    prompt: Texts | None = None,
    output: Texts | None = None,
    context: Texts | None = None,
    concurrency: Texts | None = None,
    users: Texts | None = None,
    rate: Texts | None = None,
    cached: Texts | None = None,
    engine: Texts | None = None,
    weights: Texts | None = None,
    format: Texts | None = None,
    kv: Texts | None = None,
    step_tokens: Texts | None = None,
    max_seqs: Texts | None = None,
    util: Texts | None = None,
    gpu_layers: Texts | None = None,
    ngl: Texts | None = None,
    cpu_moe: Texts | None = None,
    n_cpu_moe: Texts | None = None,
    no_graphs: bool | None = None,
    tp: Texts | None = None,
    pp: Texts | None = None,
    dp: Texts | None = None,
    ep: Texts | None = None,
    cp: Texts | None = None,
    attention_dp: bool | None = None,
    no_attention_dp: bool | None = None,
    trace: Texts | None = None,
    setup: Texts | None = None,
    out: Texts | None = None,
    requests: Texts | None = None,
    arrivals: Texts | None = None,
    burst: Texts | None = None,
    burstiness: Texts | None = None,
    period: Texts | None = None,
    think: Texts | None = None,
    prompt_spread: Texts | None = None,
    output_spread: Texts | None = None,
    seed: Texts | None = None,
    policy: Texts | None = None,
    chunks: Texts | None = None,
    replicas: Texts | None = None,
    prefill_workers: Texts | None = None,
    router: Texts | None = None,
    ttft: Texts | None = None,
    tpot: Texts | None = None,
    percentile: Texts | None = None,
    why: bool | None = None,
    details: bool | None = None,
    lang: Texts | None = None,
) -> SimulateReply: ...

class SweepReply(Reply[Swept], Swept): ...

def sweep(
    grid: Texts,
    *,
    out: Texts | None = None,
    workers: Texts | None = None,
    ray: Texts | None = None,
    why: bool | None = None,
    details: bool | None = None,
    lang: Texts | None = None,
) -> SweepReply: ...

class UpgradeReply(Reply[Upgraded], Upgraded): ...

def upgrade(
    *,
    bound: Texts | None = None,
    machines: Texts | None = None,
    budget: Texts | None = None,
    from_: Texts | None = None,
    lang: Texts | None = None,
) -> UpgradeReply: ...

class ValidateReply(Reply[Validation], Validation): ...

def validate(
    *files: Texts,
    predictions: Texts | None = None,
    anchors: Texts | None = None,
    on: Texts | None = None,
    model: Texts | None = None,
    plan: Texts | None = None,
    prompt: Texts | None = None,
    output: Texts | None = None,
    context: Texts | None = None,
    concurrency: Texts | None = None,
    users: Texts | None = None,
    batch: Texts | None = None,
    engine: Texts | None = None,
    weights: Texts | None = None,
    format: Texts | None = None,
    kv: Texts | None = None,
    step_tokens: Texts | None = None,
    max_seqs: Texts | None = None,
    util: Texts | None = None,
    no_graphs: bool | None = None,
    tp: Texts | None = None,
    pp: Texts | None = None,
    dp: Texts | None = None,
    ep: Texts | None = None,
    cp: Texts | None = None,
    attention_dp: bool | None = None,
    no_attention_dp: bool | None = None,
    seq: Texts | None = None,
    method: Texts | None = None,
    train: Texts | None = None,
    trainer: Texts | None = None,
    optimizer: Texts | None = None,
    precision: Texts | None = None,
    micro_batch: Texts | None = None,
    recompute: Texts | None = None,
    sharding: Texts | None = None,
    why: bool | None = None,
    lang: Texts | None = None,
) -> ValidateReply: ...

class WebReply(Reply[Any]):
    def __getattr__(self, name: str) -> Any: ...

def web(
    *,
    serve: Texts | None = None,
    token: Texts | None = None,
    hub: bool | None = None,
    why: bool | None = None,
    lang: Texts | None = None,
) -> WebReply: ...
