"""What a task puts on top of an encoder, and what it leaves out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch import count
from rigright.arch.read import read_config
from rigright.arch.record import Mix

HIDDEN, VOCAB, WIDTH, LAYERS = 48, 101, 80, 3
SIZES = {
    "hidden_size": HIDDEN,
    "num_attention_heads": 4,
    "intermediate_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "vocab_size": VOCAB,
    "max_position_embeddings": 37,
}
DENSE = HIDDEN * HIDDEN + HIDDEN
NORM = 2 * HIDDEN
LAYER = 4 * DENSE + 2 * HIDDEN * WIDTH + WIDTH + HIDDEN + 2 * NORM


def arch(kind, called, **more):
    return read_config({"model_type": kind, "architectures": [called], **SIZES, **more}, "made")


def params(kind, called, **more):
    return count.params(arch(kind, called, **more))


def test_bert_by_hand():
    tables = (VOCAB + 37 + 2) * HIDDEN + NORM
    assert params("bert", "BertModel") == tables + LAYERS * LAYER + DENSE


def test_masked_words_bring_a_dense_layer_a_norm_and_a_bias_and_leave_the_pooler():
    assert params("bert", "BertForMaskedLM") == params("bert", "BertModel") + NORM + VOCAB


def test_an_untied_head_has_a_matrix_and_a_bias_of_its_own():
    tied = params("bert", "BertForMaskedLM")
    assert params("bert", "BertForMaskedLM", tie_word_embeddings=False) == tied + VOCAB * (HIDDEN + 1)


def test_pretraining_has_pooler_words_and_the_order_of_sentences():
    masked = params("bert", "BertForMaskedLM")
    assert params("bert", "BertForPreTraining") == masked + DENSE + 2 * HIDDEN + 2


@given(st.integers(1, 50))
def test_each_label_is_a_row(labels):
    named = {str(index): f"label {index}" for index in range(labels)}
    for kind, called in (
        ("bert", "BertForSequenceClassification"),
        ("roberta", "RobertaForTokenClassification"),
    ):
        two = params(kind, called, id2label={"0": "no", "1": "yes"})
        assert params(kind, called, id2label=named) == two + (labels - 2) * (HIDDEN + 1)


def test_roberta_sorts_through_a_dense_layer_instead_of_a_pooler():
    bert = params("bert", "BertForSequenceClassification")
    assert params("roberta", "RobertaForSequenceClassification") == bert


def test_bare_models_with_and_without_pooler():
    assert params("roberta", "RobertaModel") == params("bert", "BertModel")
    assert params("distilbert", "DistilBertModel", dim=HIDDEN) < params("bert", "BertModel")


@pytest.mark.parametrize("kind", ["bert", "roberta", "mpnet", "electra", "nomic_bert", "gte", "deberta-v2"])
def test_every_layer_sees_both_ways(kind):
    read = read_config({"model_type": kind, **SIZES}, "made")
    assert {layer.mixer.kind for layer in read.trunk.layers} == {Mix.BOTH}
    assert len(read.trunk.layers) == LAYERS


def test_albert_counts_its_layers_once_and_works_through_them_all():
    few = {**SIZES, "embedding_size": 16}
    one = read_config(
        {"model_type": "albert", "architectures": ["AlbertModel"], **few, "num_hidden_layers": 1}, "a"
    )
    many = read_config({"model_type": "albert", "architectures": ["AlbertModel"], **few}, "b")
    assert count.params(one) == count.params(many)
    assert len(many.trunk.layers) == LAYERS
    outer = sum(2 * count.elems(w) for w in one.trunk.outer if len(w.shape) > 1 and w.role == "project")
    assert count.flops_per_tok(many.trunk) - outer == LAYERS * (count.flops_per_tok(one.trunk) - outer)


def test_modernbert_slides_but_for_every_third_layer():
    layers = arch("modernbert", "ModernBertModel", num_hidden_layers=7, local_attention=64).trunk.layers
    assert [layer.mixer.window_tok for layer in layers] == [None, 64, 64, None, 64, 64, None]


def test_listed_layer_types_stand_before_the_period():
    told = ["sliding_attention", "full_attention", "sliding_attention"]
    layers = arch("modernbert", "ModernBertModel", layer_types=told).trunk.layers
    assert [layer.mixer.window_tok is None for layer in layers] == [False, True, False]


def test_deberta_shares_its_keys_with_positions_or_has_some_more():
    relative = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 8}
    shared = params("deberta-v2", "DebertaV2Model", **relative, share_att_key=True)
    own = params("deberta-v2", "DebertaV2Model", **relative, share_att_key=False)
    assert own - shared == LAYERS * 2 * DENSE


def test_the_names_published_gte_and_nomic_models_give_themselves():
    gte = read_config(
        {"model_type": "new", "architectures": ["NewModel"], **SIZES, "type_vocab_size": 0}, "made"
    )
    assert gte.family == "gte"
    told = {"n_embd": HIDDEN, "n_inner": WIDTH, "n_head": 4, "n_layer": LAYERS, "vocab_size": VOCAB}
    nomic = read_config({"model_type": "nomic_bert", "architectures": ["NomicBertModel"], **told}, "made")
    assert (nomic.trunk.hidden, len(nomic.trunk.layers)) == (HIDDEN, LAYERS)


def test_an_embedding_model_is_no_text_generator():
    read = arch("bert", "BertModel")
    assert (read.task, read.tied, read.vocab) == ("embed", False, VOCAB)
    assert arch("bert", "BertForMaskedLM").tied
