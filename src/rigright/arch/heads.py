"""The task heads that encoders carry, by the class a config names: masked words, labels, spans."""

from __future__ import annotations

from collections.abc import Collection

from rigright.arch.blocks import matrix
from rigright.arch.config import Config
from rigright.arch.record import Cut, Weight
from rigright.arch.stack import linear

TASKS = (
    "ForMaskedLM",
    "ForPreTraining",
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForQuestionAnswering",
    "ForMultipleChoice",
    "ForNextSentencePrediction",
    "ForImageClassification",
    "ForImageClassificationWithTeacher",
    "ForMaskedImageModeling",
    "ForConditionalGeneration",
    "ForCausalLM",
    "ForAudioClassification",
    "ForAudioFrameClassification",
    "ForCTC",
    "LMHeadModel",
    "GenerationDecoder",
    "WithProjection",
    "Backbone",
)


def task(config: Config, default: str) -> str:
    """What the config's class ends in; "" for the bare model."""
    named = config.items("architectures", default=[])
    text = str(named[0]) if named else default
    return next((ending for ending in TASKS if text.endswith(ending)), "" if named else default)


def labels(config: Config) -> int:
    """How many classes a classifier tells apart."""
    names = config.raw.get("id2label")
    return len(names) if isinstance(names, dict) and names else config.size("num_labels", default=2)


def vocab_head(
    vocab: int, width: int, *, tied: bool, bias: bool = True, twice: bool = False
) -> tuple[Weight, ...]:
    """The matrix that makes logits, with a bias that stays where it is tied; `twice`: else there are two."""
    weights = matrix("head", vocab, inputs=width, cut=Cut.VOCAB, bias=bias)
    return weights[1:] if tied else (*weights, *weights[1:] * twice)


def dense_label(hidden: int, classes: int) -> tuple[Weight, ...]:
    """A dense layer, then the classes."""
    return (*linear("project", (hidden, hidden)), *linear("head", (classes, hidden)))


def label_head(config: Config, asked: str, *, hidden: int, dense: Collection[str] = ()) -> tuple[Weight, ...]:
    """What a class that labels, marks or chooses puts on top, for some tasks behind a dense layer."""
    kinds = {
        "ForSequenceClassification": labels(config),
        "ForTokenClassification": labels(config),
        "ForQuestionAnswering": 2,
        "ForNextSentencePrediction": 2,
        "ForMultipleChoice": 1,
    }
    if asked not in kinds:
        return ()
    return dense_label(hidden, kinds[asked]) if asked in dense else linear("head", (kinds[asked], hidden))
