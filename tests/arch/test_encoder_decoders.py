"""Two towers: one that reads, one that writes and looks at what was read."""

import pytest

from rigright.arch import count
from rigright.arch.read import read_config
from rigright.arch.record import Mix

T5 = {
    "model_type": "t5",
    "d_model": 48,
    "d_kv": 8,
    "d_ff": 80,
    "num_layers": 3,
    "num_heads": 5,
    "vocab_size": 101,
}
BART = {
    "model_type": "bart",
    "d_model": 48,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 6,
    "encoder_ffn_dim": 60,
    "decoder_ffn_dim": 80,
    "vocab_size": 101,
    "max_position_embeddings": 64,
}
WHISPER = {
    **BART,
    "model_type": "whisper",
    "max_source_positions": 50,
    "max_target_positions": 20,
    "num_mel_bins": 16,
}


@pytest.mark.parametrize("config", [T5, BART, WHISPER])
def test_the_reader_sees_both_ways_and_the_writer_only_back(config):
    reader, writer = read_config(config, "made").towers
    assert (reader.name, writer.name) == ("encoder", "decoder")
    assert {layer.mixer.kind for layer in reader.layers} == {Mix.BOTH}
    assert {layer.mixer.kind for layer in writer.layers} == {Mix.FULL}
    assert {layer.cross.kind for layer in writer.layers} == {Mix.CROSS}
    assert all(layer.cross is None for layer in reader.layers)


@pytest.mark.parametrize("config", [T5, BART, WHISPER])
def test_the_table_of_words_stands_once_in_the_writer(config):
    arch = read_config(config, "made")
    tables = [weight for tower in arch.towers for weight in tower.outer if weight.role == "embed"]
    assert [weight.shape for weight in tables] == [(101, 48)]
    assert arch.trunk is arch.towers[1]
    assert count.embedding_params(arch) == 101 * 48


def test_t5_counts_its_relative_positions_in_the_first_layer_and_umt5_in_all():
    t5, umt5 = (
        read_config({**T5, "model_type": kind, "feed_forward_proj": "relu"}, "made")
        for kind in ("t5", "umt5")
    )
    assert count.params(umt5) - count.params(t5) == 2 * 2 * 32 * 5


def test_a_gate_is_a_third_matrix():
    plain, gated = (read_config({**T5, "feed_forward_proj": kind}, "made") for kind in ("relu", "gated-gelu"))
    assert count.params(gated) - count.params(plain) == 6 * 48 * 80


def test_t5_alone_as_an_encoder():
    alone = read_config({**T5, "architectures": ["T5EncoderModel"]}, "made")
    assert [tower.name for tower in alone.towers] == ["encoder"]
    assert not alone.tied
    assert count.embedding_params(alone) == 101 * 48


def test_a_decoder_may_be_shorter():
    arch = read_config({**T5, "num_decoder_layers": 1}, "made")
    assert [len(tower.layers) for tower in arch.towers] == [3, 1]


@pytest.mark.parametrize(("kind", "rows"), [("bart", 66), ("pegasus", 64), ("marian", 64), ("m2m_100", 0)])
def test_position_tables_of_the_kin_of_bart(kind, rows):
    reader = read_config({**BART, "model_type": kind}, "made").towers[0]
    found = [weight.shape for weight in reader.outer if weight.role == "position"]
    assert found == ([(rows, 48)] if rows else [])


def test_marian_may_keep_its_languages_apart():
    told = {
        **BART,
        "model_type": "marian",
        "share_encoder_decoder_embeddings": False,
        "decoder_vocab_size": 77,
    }
    reader, writer = read_config(told, "made").towers
    tables = [weight.shape for tower in (reader, writer) for weight in tower.outer if weight.role == "embed"]
    assert tables == [(101, 48), (77, 48)]


def test_whisper_hears_a_fixed_length():
    ear = read_config(WHISPER, "made").towers[0]
    assert ear.sample_tok == 50
    strides = [weight.sites for weight in ear.outer if weight.role == "conv"]
    assert strides == [100, 50]
    assert all(weight.sites == 50 for weight in ear.layers[0].weights)


def test_whisper_keys_have_no_bias():
    roles = {
        weight.role for tower in read_config(WHISPER, "made").towers for weight in tower.layers[0].weights
    }
    assert {"attn.q.bias", "attn.v.bias", "attn.o.bias", "cross.q.bias"} <= roles
    assert not {"attn.k.bias", "cross.k.bias"} & roles


def test_whisper_that_sorts_sounds_has_no_writer():
    arch = read_config({**WHISPER, "architectures": ["WhisperForAudioClassification"]}, "made")
    assert [tower.name for tower in arch.towers] == ["encoder"]


def test_bart_that_sorts_has_three_labels_of_its_own():
    sorting = read_config({**BART, "architectures": ["BartForSequenceClassification"]}, "made")
    bare = read_config({**BART, "architectures": ["BartModel"]}, "made")
    assert count.params(sorting) - count.params(bare) == (48 * 48 + 48) + 3 * (48 + 1)


@pytest.mark.parametrize(("config", "called"), [(BART, "BartForCausalLM"), (WHISPER, "WhisperForCausalLM")])
def test_a_writer_alone_leaves_the_reader_out(config, called):
    both = read_config(config, "made")
    alone = read_config({**config, "architectures": [called]}, "made")
    assert alone.towers == both.towers[1:]
    assert alone.tied


def test_prompts_that_are_not_counted_are_told():
    arch = read_config({**BART, "model_type": "mvp", "use_prompt": True}, "made")
    assert "prompts" in str(arch.warnings)
