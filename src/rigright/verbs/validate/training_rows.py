"""Rows of training tables: their words as ours, and what `choice/` makes of what they leave open."""

from __future__ import annotations

from collections.abc import Sequence

from rigright.base.errors import AskError, RigError
from rigright.base.record import dataclass, replace
from rigright.base.tables import Row
from rigright.base.words import Sentence, say
from rigright.choice import training_runs as runs
from rigright.choice.training_runs import Reported, RunTaken
from rigright.demand import Layout, Training
from rigright.facts.nodes import Card
from rigright.facts.training import find_trainer, trainers
from rigright.predict.trained import TrainingCase
from rigright.predict.trained_unsaid import Open
from rigright.search.training_settled import Uncut, fastest_of
from rigright.verbs.validate import training_words as words
from rigright.verbs.validate.ask import first_card
from rigright.verbs.validate.models import model_of
from rigright.verbs.validate.record import caught, each_caught

WORDED = ("method", "optimizer", "precision", "sharding", "recompute")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingQuestion:
    """What a row asks."""

    taken: RunTaken
    work: str
    loose: bool
    card: Card | None  # None: the row names no chip, or none we know
    no_card: Sentence | None  # why
    box: int | None
    ran_out: bool  # of memory

    @property
    def limit_bytes(self) -> float | None:
        """What its card holds."""
        return None if self.card is None else self.card.room_bytes

    @property
    def peaking(self) -> Open:
        """Its fullest batch, on a card that held it."""
        return self._open(self.taken.training, room=True)

    @property
    def timed(self) -> Open:
        """A usual batch; programs that cut models are told how by who knows what fits."""
        if self.no_card is not None:
            raise AskError(self.no_card)
        return self._open(self.taken.usual, room=self.work == "training")

    def _open(self, training: Training, *, room: bool) -> Open:
        taken = self.taken
        case = TrainingCase(
            arch=taken.arch,
            training=training,
            layout=taken.layout,
            chip=None if self.card is None else self.card.chip,
            box=self.box,
        )
        return Open(
            case=case,
            unsaid=taken.unsaid,
            room_bytes=self.limit_bytes if room and not self.ran_out else None,
            loose=self.loose,
            work=self.work,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """A row as it was read, before anybody says how it was cut over its cards."""

    row: Row
    told: Reported
    question: TrainingQuestion

    @property
    def uncut(self) -> Uncut | None:
        """What is asked of its layout, where that is open."""
        told, taken, card = self.told, self.question.taken, self.question.card
        if card is None or not runs.is_open(told):
            return None
        chips = int(told.n_chips or 1)
        return Uncut(
            arch=taken.arch, training=taken.usual, card=card, cards=chips, batch=told.batch or chips,
            cp=told.cuts.get("cp"),
        )  # fmt: skip

    def settled(self, layout: Layout | None) -> TrainingQuestion:
        """The question with nothing left open."""
        taken = self.question.taken
        if layout is not None:
            taken = runs.with_layout(taken, layout)
        taken = runs.gathered(self.told, taken)
        unknown = _unknown(self.row, taken.training)
        return replace(self.question, taken=replace(taken, assumed=(*taken.assumed, *unknown)))


def read_row(row: Row) -> TrainingQuestion:
    """Read one row; raises its error."""
    (found,) = read_rows([row])
    if isinstance(found, RigError):
        raise found
    return found


def read_rows(rows: Sequence[Row]) -> list[TrainingQuestion | RigError]:
    """Read rows; what they leave open is assumed and said, the layouts of all together."""
    begun = [caught(_begin, row) for row in rows]
    uncut = {
        place: asked
        for place, one in enumerate(begun)
        if isinstance(one, _Begun) and (asked := one.uncut) is not None
    }
    layouts = dict(zip(uncut, each_caught(fastest_of, list(uncut.values())), strict=True))
    return [
        one if isinstance(one, RigError) else _settle(one, layouts.get(place))
        for place, one in enumerate(begun)
    ]


def _settle(begun: _Begun, layout: Layout | RigError | None) -> TrainingQuestion | RigError:
    return layout if isinstance(layout, RigError) else caught(begun.settled, layout)


def _begin(row: Row) -> _Begun:
    arch, notes = model_of(row)
    named = row.get("framework")
    trainer = words.trainer_of(named or "", month=words.month_of(row.get("source") or ""))
    if trainer is None and named:
        trainer = find_trainer(named)  # says that there is none
    if trainer is None:
        trainer = trainers()["pytorch"]
        notes = (*notes, say("no trainer stated: assuming a plain PyTorch loop"))
    told = words.reported(row, arch, trainer=trainer)
    card, no_card = _card(row)
    taken = runs.run_taken(told)
    taken = replace(taken, assumed=(*notes, *taken.assumed))
    question = TrainingQuestion(
        taken=taken,
        work=told.work,
        loose=taken.training.method == "full" and told.loose,
        card=card,
        no_card=no_card,
        box=_box(row, card),
        ran_out=bool(row.get("oom")),
    )
    if told.micro_batch is None:
        whole = replace(question.peaking, room_bytes=question.limit_bytes)
        question = replace(question, taken=runs.with_samples(taken, whole.batches().middle))
    return _Begun(row=row, told=told, question=question)


def _card(row: Row) -> tuple[Card | None, Sentence | None]:
    """The card of a row, or why it has none; what names no chip still has a peak."""
    if not row.get("chip"):
        return None, say("the row has no chip")
    try:
        return first_card(row["chip"]), None
    except RigError as error:
        return None, error.whole


def _box(row: Row, card: Card | None) -> int | None:
    chips, boxes = row.get("n_chips"), row.get("nodes")
    if card is None or not chips or not boxes:
        return None
    return runs.box_of(card.chip, cards=max(1, chips // boxes), ranks=chips)


def _unknown(row: Row, training: Training) -> list[Sentence]:
    """Which words were not understood, and what stands in for them."""
    return [
        say(
            'unknown {column} "{cell}": using {value}',
            column=column,
            cell=cell[:40],
            value=getattr(training, column) or say("the trainer's own"),
        )
        for column in WORDED
        if not words.is_known(column, cell := row.get(column) or "")
    ]
