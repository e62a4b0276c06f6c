"""Ears: encoders of sound alone, and before a language model."""

from __future__ import annotations

from rigright.arch import merging
from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.families import kind_of
from rigright.arch.heads import labels, task
from rigright.arch.kin.seq2seq import audio_encoder
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Layer, Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear, table, vector
from rigright.base.record import replace
from rigright.base.words import say

_WAV2VEC2_KINDS = ("wav2vec2", "hubert", "wavlm", "unispeech", "unispeech-sat", "data2vec-audio")


SAMPLES = 160_000  # ten seconds at 16 kHz


def read_wav2vec2(config: Config, name: str) -> Arch:
    """wav2vec 2.0 and its kin: convolutions over the sound itself, then layers of BERT's kind."""
    kind = kind_of(config, "wav2vec2")
    asked = task(config, "ForCTC")
    hidden = config.size("hidden_size")
    # the convolutions over samples, and how many frames they leave
    weights: list[Weight] = []
    length, channels = SAMPLES, 1
    groups = config.word("feat_extract_norm", default="group") == "group" and kind != "data2vec-audio"
    steps = config.aligned(**{key: config.sizes(key) for key in ("conv_dim", "conv_kernel", "conv_stride")})
    for index, (outputs, kernel, stride) in enumerate(steps):
        length = (length - kernel) // stride + 1
        biased = config.flag("conv_bias", default=False)
        weights += conv("conv", (outputs, channels, kernel), bias=biased, sites=length)
        weights += norm(outputs, bias=True) if index == 0 or not groups else ()
        channels = outputs
    stem, tok = tuple(weights), length
    stack = Stack(
        hidden=hidden,
        heads=config.size("num_attention_heads"),
        width=config.size("intermediate_size"),
        tok=tok,
    )
    tower = Tower(
        name="audio",
        hidden=hidden,
        layers=_layers(config, kind, stack=stack),
        outer=(
            *stem,
            *_entry(config, kind, hidden=hidden, tok=tok),
            *norm(hidden, bias=True),
            *_head(config, asked, hidden=hidden, tok=tok),
        ),
        sample_tok=tok,
    )
    return Arch(name=name, family=kind, task="speech", towers=(tower,), dtype="fp32")


def _entry(config: Config, kind: str, *, hidden: int, tok: int) -> tuple[Weight, ...]:
    """From the stem's width to the layers', a token for what is masked, positions from a convolution."""
    channels = config.sizes("conv_dim")[-1]
    masks = kind == "unispeech-sat" or any(
        config.number(key, default=usual) > 0
        for key, usual in (("mask_time_prob", 0.05), ("mask_feature_prob", 0))
    )
    kernel, groups = (
        config.size("num_conv_pos_embeddings"),
        config.size("num_conv_pos_embedding_groups", default=16),
    )
    if kind == "data2vec-audio":
        depth, width = (
            config.layers("num_conv_pos_embeddings"),
            config.size("conv_pos_kernel_size", default=19),
        )
        near = conv("conv", (hidden, hidden // groups, width), sites=tok) * depth
    else:
        near = (*conv("conv", (hidden, hidden // groups, kernel), sites=tok), *vector(1, 1, kernel))
        if config.flag("conv_pos_batch_norm", default=False):
            near = (*conv("conv", (hidden, hidden // groups, kernel), sites=tok), *norm(hidden, bias=True))
    normed = config.flag("feat_proj_layer_norm", default=True)
    return (
        *(norm(channels, bias=True) if normed else ()),
        *linear("project", (hidden, channels), sites=tok),
        *(vector(hidden) if masks else ()),
        *near,
    )


def _layers(config: Config, kind: str, *, stack: Stack) -> tuple[Layer, ...]:
    """Equal layers; WavLM's know of relative places, the first with the table of them."""
    count = config.layers("num_hidden_layers")
    adapts = config.maybe("adapter_attn_dim")
    narrow: tuple[Weight, ...] = ()
    if adapts:
        hidden = stack.hidden
        narrow = (
            *norm(hidden, bias=True),
            *linear("other", (adapts, hidden)),
            *linear("other", (hidden, adapts)),
        )
    if kind != "wavlm":
        return (layer(replace(stack, extra=narrow)),) * count
    gates = (*vector(1, stack.heads, 1, 1), *linear("other", (8, stack.hidden // stack.heads)))
    rest = layer(replace(stack, extra=gates))
    first = layer(replace(stack, extra=(*gates, *table(config.size("num_buckets"), stack.heads))))
    return (first, *(rest,) * (count - 1))


def _head(config: Config, asked: str, *, hidden: int, tok: int) -> tuple[Weight, ...]:
    if asked == "ForCTC":
        return linear("head", (config.size("vocab_size"), hidden), sites=tok)
    if asked in {"ForSequenceClassification", "ForAudioFrameClassification"}:
        weighted = config.flag("use_weighted_layer_sum", default=False)
        mixed = vector(config.layers("num_hidden_layers") + 1) if weighted else ()
        if asked == "ForAudioFrameClassification":
            return (*mixed, *linear("head", (labels(config), hidden), sites=tok))
        width = config.size("classifier_proj_size")
        return (
            *mixed,
            *linear("project", (width, hidden), sites=tok),
            *linear("head", (labels(config), width)),
        )
    if asked == "ForPreTraining":
        groups, entries = config.size("num_codevector_groups"), config.size("num_codevectors_per_group")
        code, shared = config.size("codevector_dim"), config.size("proj_codevector_dim")
        return (
            *vector(1, groups * entries, code // groups),
            *linear("other", (groups * entries, config.sizes("conv_dim")[-1])),
            *linear("project", (shared, hidden)),
            *linear("project", (shared, code)),
        )
    return ()


_QWEN2_AUDIO_KINDS = {
    "qwen2_audio": "qwen2_audio_encoder",
    "voxtral": "voxtral_encoder",
    "audioflamingo3": "audioflamingo3_encoder",
    "musicflamingo": "audioflamingo3_encoder",
    "glmasr": "glmasr_encoder",
}


_LLAMAS = frozenset({"voxtral", "glmasr"})  # kinds whose language part is Llama's where not said


_ROTARY = frozenset({"glmasr"})  # kinds whose ear has no table of places


def read_qwen2_audio(config: Config, name: str) -> Arch:
    """Language models with Whisper's ear: Qwen2-Audio, Voxtral, Audio Flamingo."""
    kind = kind_of(config, "qwen2_audio")
    arch = language(config, name, kind="llama" if kind in _LLAMAS else "qwen2")
    ear = part(config, "audio_config", kind=_QWEN2_AUDIO_KINDS[kind])
    ear = ear.over(max_source_positions=ear.size("max_source_positions", "max_position_embeddings"))
    projected = _projector(config, ear, kind=kind, number=arch.trunk.hidden)
    tower = audio_encoder(ear, name="audio", positions=kind not in _ROTARY, after=projected)
    return join(config, arch, towers=(tower,), task="audio-text")


def _projector(config: Config, ear: Config, *, kind: str, number: int) -> tuple[Weight, ...]:
    hidden = ear.size("d_model", "hidden_size")
    tok = ear.size("max_source_positions")
    if kind == "qwen2_audio":
        return linear("project", (number, hidden), sites=tok // 2)
    if kind == "voxtral":
        folded = ear.size("intermediate_size", "encoder_ffn_dim")
        sites = tok * hidden // folded
        return (
            *linear("project", (number, folded), bias=False, sites=sites),
            *linear("project", (number, number), bias=False, sites=sites),
        )
    if kind == "glmasr":
        folded = ear.size("intermediate_size")
        sites = tok * hidden // folded
        return (
            *linear("project", (2 * number, folded), sites=sites),
            *linear("project", (number, 2 * number), sites=sites),
        )
    biased = config.flag("projector_bias", default=True)
    return (
        *linear("project", (number, hidden), bias=biased, sites=tok // 2),
        *linear("project", (number, number), bias=biased, sites=tok // 2),
    )


_SPEAKING = ("talker_config", "code2wav_config", "token2wav_config")


_FRAMES = 3000  # of 30 seconds


def read_qwen3_omni_moe(config: Config, name: str) -> Arch:
    """Qwen Omni: a thinker that sees, hears and writes. What speaks (talker, vocoder) is told apart."""
    text = config.word("model_type", default="qwen3_omni_moe")
    new = "3" in text.split("_", maxsplit=1)[0]
    kind = "qwen3_omni_moe_thinker" if new else "qwen2_5_omni_thinker"
    stem = kind.removesuffix("_thinker")
    thinker = config.part("thinker_config") if "thinker_config" in config else config
    thinker = full(thinker.over(model_type=kind), kind)
    arch = language(thinker, name, kind=f"{stem}_text")
    eye = part(thinker, "vision_config", kind=f"{stem}_vision_encoder")
    ear = part(thinker, "audio_config", kind=f"{stem}_audio_encoder")
    towers = (merging.qwen3(eye), ear_tower(ear)) if new else (merging.qwen25(eye), _whisper(ear))
    whole = join(config.over(model_type=text), arch, towers=towers)
    silent = not any(config.raw.get(key) for key in _SPEAKING)
    doubt = say("the speech output (talker, vocoder) is not counted")
    return whole if silent else replace(whole, warnings=(*whole.warnings, doubt))


def _whisper(ear: Config) -> Tower:
    """Whisper's encoder without a position table, and two tokens around each sound."""
    outputs = ear.size("output_dim")
    handed = linear("project", (outputs, ear.size("d_model")), sites=ear.size("max_source_positions") // 2)
    return audio_encoder(ear, name="audio", positions=False, after=(*handed, *table(2, outputs)))


def ear_tower(ear: Config) -> Tower:
    """Three convolutions over the spectrogram, layers with all biases, two projections."""
    hidden, wide = ear.size("d_model"), ear.size("downsample_hidden_size")
    bands = ear.size("num_mel_bins")
    for _ in range(3):
        bands = (bands + 1) // 2
    tok = _FRAMES // 8
    stack = Stack(
        hidden=hidden, heads=ear.size("encoder_attention_heads"), width=ear.size("encoder_ffn_dim"), tok=tok
    )
    return Tower(
        name="audio",
        hidden=hidden,
        layers=(layer(stack),) * ear.layers("encoder_layers"),
        outer=(
            *conv("conv", (wide, 1, 3, 3), sites=tok * bands * 16),
            *conv("conv", (wide, wide, 3, 3), sites=tok * bands * 4),
            *conv("conv", (wide, wide, 3, 3), sites=tok * bands),
            *linear("patch", (hidden, wide * bands), bias=False, sites=tok),
            *norm(hidden, bias=True),
            *linear("project", (hidden, hidden), sites=tok),
            *linear("project", (ear.size("output_dim"), hidden), sites=tok),
        ),
        sample_tok=tok,
    )


def read_qwen3_asr(config: Config, name: str) -> Arch:
    """Qwen3-ASR: the ear of Qwen3-Omni, a Qwen3 decoder."""
    arch = language(config, name, kind="qwen3")
    ear = part(config, "audio_config", kind="qwen3_asr_encoder")
    return join(config, arch, towers=(ear_tower(ear),), task="audio-text")
