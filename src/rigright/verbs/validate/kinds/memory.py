"""memory.csv: weight files, and memory of engines part by part and in total."""

from __future__ import annotations

from functools import partial

from rigright.base.record import replace
from rigright.base.tables import Row
from rigright.base.units import GIB
from rigright.base.words import say, with_semicolons
from rigright.choice.case import serving_case
from rigright.cost.estimate import Estimate
from rigright.cost.own_runs import SERVING
from rigright.cost.weights import has_experts
from rigright.demand import Layout, Serving
from rigright.facts.engines import find_engine
from rigright.facts.formats import find_format, find_kv_format
from rigright.facts.nodes import find_node
from rigright.predict.started import WEIGHT_FILES, StartFigure, asked_of, measure_of, start_figure
from rigright.terms.fitted import priors
from rigright.verbs.validate.ask import RunAsk, model_of
from rigright.verbs.validate.record import Basis, Prediction, TableKind, each

USUAL_CONTEXT_TOK, USUAL_PROMPT_TOK = 1024, 512  # where a row tells nothing
USUAL_ENGINE, USUAL_CARD = "transformers", "a100 sxm4 80gb"
USUAL_MOST_SHARE = 0.95  # of a card, that people give an engine which finds no room


def read_memory(row: Row) -> RunAsk:
    """Read one row; what it leaves open is as the engine does it."""
    arch, notes = model_of(row)
    version = row.get("engine_version")
    engine = find_engine(f"{row.get('engine') or USUAL_ENGINE} {version or ''}".strip())
    card = find_node(row.get("chip") or USUAL_CARD).cards[0]
    if row.get("total_memory_gib") is not None:
        withheld = card.chip.mem_usable_bytes - card.chip.mem_program_bytes
        card = replace(card, total_bytes=row["total_memory_gib"] * GIB + withheld)
    form = (row.get("format") or "").strip()
    weights = find_format(engine.says.get(form.lower(), form)).id
    prompt, output = row.get("prompt_tok"), row.get("output_tok")
    context = (
        row.get("context") or row.get("max_model_len") or (prompt + output if prompt and output else None)
    )
    usual = USUAL_CONTEXT_TOK if engine.pool != "exact" else engine.usual_context_tok
    if context is None:
        notes += (say("no context given: using the engine's default"),)
    if not version:
        notes += (say("{engine} version not stated: assuming the newest", engine=engine.label),)
    serving = Serving(
        engine=f"{engine.id} {engine.version}",
        weights=weights,
        kv=find_kv_format(row.get("kv") or ("fp32" if weights == "fp32" else "16bit")).id,
        context_tok=int(context or min(usual, arch.max_context_tok or USUAL_CONTEXT_TOK)),
        batch=int(row.get("batch") or 1),
        prompt_tok=None
        if engine.budget_tok is not None
        else prompt or (None if context else min(USUAL_PROMPT_TOK, usual)),
        budget_tok=row.get("max_num_batched_tokens"),
        max_seqs=row.get("max_num_seqs"),
        utilisation=row.get("gpu_memory_utilization"),
        graphs=(row.get("enforce_eager") or "").lower() != "true",
        flash=row.get("fa"),
    )
    tp, pp, dp = (row.get(name) or 1 for name in ("tp", "pp", "dp"))
    # replicas of attention share the experts
    spread = tp * dp if dp > 1 and has_experts(arch) else 1
    dealt = Layout(pp=max(row.get("n_chips") or 1, tp * pp))
    layout = dealt if engine.split == "layer" else Layout(tp=tp, pp=pp, dp=dp, ep=spread)
    cards = (card,) * (layout.tp * layout.pp * layout.dp)
    return RunAsk(
        case=serving_case(arch, serving, layout=layout, cards=cards),
        metric=row.get("what") or "",
        # how long sequences grew decides what an engine took that makes room as they do
        unsaid=(priors("memory")["context_tok"],) if engine.pool == "grow" and context is None else (),
        on_device=bool(row.get("on_device")),
        assumed=notes,
    )


def memory_figure(row: Row) -> tuple[StartFigure, RunAsk]:
    """The figure of one row; raises a RigError that says what was missing."""
    ask = read_memory(row)
    measure = measure_of(ask.metric)

    def figure_of(run_ask: RunAsk) -> StartFigure:
        model = row.get("model") or ""
        return start_figure(run_ask.case, measure, model=model, on_device=run_ask.on_device)

    figure = figure_of(ask)
    if measure == WEIGHT_FILES:  # however it is started
        return figure, replace(ask, assumed=model_of(row)[1])
    if figure.value_bytes <= 0 and measure.startswith("kv") and ask.case.engine.pool == "share":
        # it ran, so it was given more than the row says
        figure = figure_of(replace(ask, case=ask.case.over(utilisation=USUAL_MOST_SHARE)))
        why = say(
            "no room for a KV cache at the stated memory share: assuming {share}", share=USUAL_MOST_SHARE
        )
        ask = replace(ask, assumed=(*ask.assumed, why))
    for prior in ask.unsaid:
        ends = (read_memory({**row, "context": prior.values[end]}) for end in (0, -1))
        least, most_bytes = (figure_of(run_ask).value_bytes for run_ask in ends)
        figure = figure.moved((most_bytes - least) / 2)
    return figure, ask


def _predict_memory(row: Row) -> tuple[Prediction, ...]:
    """The figure beside its row."""
    figure, ask = memory_figure(row)
    case = ask.case
    basis = Basis(
        subject=SERVING, figure=figure.own, chip=ask.chip.id, engine=case.engine.id, model=case.arch.name,
        case=asked_of(case), of=figure.own_bytes / figure.unit,
    ) if figure.own else None  # fmt: skip
    estimate = Estimate(value=figure.value_bytes, low=figure.low_bytes, high=figure.high_bytes)
    return (
        Prediction.of(
            ask.metric, estimate, times=1 / figure.unit, why=with_semicolons(ask.assumed), basis=basis
        ),
    )


KIND = TableKind(
    name="memory",
    marks=("format", "what", "value_gib"),
    metrics=lambda raw: (raw.get("what") or "memory",),
    answers=partial(each, _predict_memory),
    needed=("what",),
    measured=("value_gib",),
)
