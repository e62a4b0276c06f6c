"""The Arch: a neural architecture as towers of layers, each layer with its mixer, ffn and weights."""

from __future__ import annotations

from enum import StrEnum

from rigright.arch.numerics import Numerics
from rigright.base.record import dataclass
from rigright.base.words import Sentence


class Cut(StrEnum):
    """How tensor or expert parallelism cuts a weight."""

    __hash__ = str.__hash__  # an Enum's own is slow, and every weight has one

    OUT = "out"  # by output rows (column-parallel): q, gate, up
    IN = "in"  # by input columns (row-parallel): o, down
    KV = "kv"  # by kv heads; where heads are fewer than ranks each rank keeps a copy of one
    VOCAB = "vocab"  # by vocabulary: embedding, head
    EXPERT = "expert"  # whole experts by expert parallelism, else like a dense ffn
    WHOLE = "whole"  # every rank holds all: norms, routers, MLA down-projections


class Mix(StrEnum):
    """What lets the tokens of a layer see each other."""

    __hash__ = str.__hash__

    FULL = "full"  # causal attention over everything before
    WINDOW = "window"  # causal attention over the last `window_tok`
    CHUNK = "chunk"  # causal attention inside chunks of `window_tok`
    BOTH = "both"  # bidirectional, no cache (encoders, vision towers)
    CROSS = "cross"  # attention to another tower's output
    LATENT = "latent"  # MLA: one latent a token, shared by all heads
    LINEAR = "linear"  # linear attention, delta nets, RWKV: constant state
    SSM = "ssm"  # Mamba and Mamba-2: constant state
    CONV = "conv"  # short convolution only: constant state


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """One parameter tensor, or several alike.

    `role` is a dotted path from the closed list in `roles.py`, such as "attn.q", "ffn.down",
    "expert.up", "norm", "embed", "head"; a bias is the role of its matrix plus ".bias".
    """

    role: str
    shape: tuple[int, ...]  # as torch stores it: (out, in) for a matrix
    cut: Cut = Cut.WHOLE
    copies: int = 1  # tensors alike in this layer (experts)
    used: int | None = None  # copies one token goes through; None: all
    sites: int = 1  # places a sample applies it to (positions of a convolution)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixer:
    """Token mixing of one layer, with what it must remember."""

    kind: Mix
    heads: int = 0
    kv_heads: int = 0
    key_dim: int = 0  # per head
    value_dim: int = 0  # per head
    window_tok: int | None = None  # WINDOW and CHUNK only
    latent_dim: int = 0  # LATENT: elements cached a token (compressed kv + rope key)
    index_dim: int = 0  # elements a token of a sparse-attention indexer's key cache
    topk_tok: int | None = None  # keys a sparse-attention query reads; None: all
    every_tok: int = 1  # one cache entry for so many tokens (compressed caches)
    shares_cache: bool = False  # reads the cache of an earlier layer and keeps none
    state32_elems: int = 0  # constant state a sequence, kept in fp32
    state16_elems: int = 0  # constant state a sequence, kept in 16 bit


@dataclass(frozen=True, slots=True, kw_only=True)
class Ffn:
    """Feed-forward part of one layer."""

    width: int  # inner width: of the dense ffn, or of one expert
    gated: bool
    experts: int = 0  # routed experts; 0: dense
    per_tok: int = 0  # routed experts a token goes through
    shared_width: int = 0  # summed inner width of the shared experts
    hashed: bool = False  # a stored table, not a router, tells each word's experts


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer; equal layers are one object repeated in `Tower.layers`."""

    weights: tuple[Weight, ...]
    mixer: Mixer | None = None
    ffn: Ffn | None = None
    cross: Mixer | None = None  # cross-attention beside the mixer (encoder-decoder)
    map_elems: tuple[int, ...] = ()  # feature-map elements each op writes a sample (image layers)
    kept_elems: int = 0  # of those, what autograd keeps for the backward pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tower:
    """Layers of one width: "text", "decoder", "encoder", "vision", "audio", "unet", "vae", "mtp"."""

    name: str
    hidden: int
    layers: tuple[Layer, ...]
    outer: tuple[Weight, ...] = ()  # what stands before and after: embeddings, head, last norm, projector
    sample_tok: int | None = None  # tokens one sample makes (ViT 197, Whisper 1500); None: the prompt's


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictured:
    """Images in each request, and what one is to the model."""

    count: float = 1
    tok: int  # of the prompt
    samples: int = 1  # that the tower works on
    positions: int  # of each
    is_known: bool = True  # the rule of its family


@dataclass(frozen=True, slots=True, kw_only=True)
class Arch:
    """A neural architecture. Counts speak of `towers`; `spare` is stored by some and run by few (MTP)."""

    name: str
    family: str
    task: str  # "text", "embed", "image-text", "audio-text", "vision", "image", "speech"
    towers: tuple[Tower, ...]
    spare: tuple[Tower, ...] = ()
    vocab: int = 0
    tied: bool = False  # the head is the embedding: one tensor, listed once as "embed"
    max_context_tok: int | None = None
    dtype: str = "bf16"  # what the weights are published in
    stored: str | None = None  # id of the weight format the files come in, where quantised
    published: str | None = None  # the same of the publisher's own files, whatever copy a name asks for
    engine: str | None = None  # id of the engine that the name says: "ollama" for a tag of its library
    source: str = ""  # where the description came from
    warnings: tuple[Sentence, ...] = ()
    numerics: Numerics = Numerics()  # what no count needs and a trainer is told
    pictured: Pictured | None = None  # images of a request; None: it has none

    @property
    def image_tok(self) -> int:
        """Tokens of a prompt that images become."""
        return 0 if self.pictured is None else round(self.pictured.count * self.pictured.tok)

    @property
    def trunk(self) -> Tower:
        """The tower that makes the output: the decoder of a language model, else the last."""
        return next((tower for tower in self.towers if tower.name in {"text", "decoder"}), self.towers[-1])


PARTS = {
    "embed": "token embedding (also the head where tied)",
    "position": "learned positions, token types, class tokens",
    "head": "the matrix that makes logits",
    "norm": "norm scales and shifts, of any kind",
    "attn": "q k v qkv o, MLA: q_a q_b kv_a kv_b; gate, sink, index (sparse indexer)",
    "cross": "the same for cross-attention",
    "mixer": "linear attention and SSM: in, out, conv, decay and the like",
    "ffn": "gate up gate_up down",
    "router": "scores of the experts, and their biases",
    "expert": "gate up gate_up down of the routed experts",
    "shared": "gate up gate_up down of the shared experts, and their gate",
    "conv": "convolutions of image models and stems",
    "patch": "patch embedding of a vision tower",
    "project": "from one tower's width to another's",
    "other": "anything else",
}


def part(weight: Weight) -> str:
    """The first component of the role."""
    return weight.role.partition(".")[0]


def is_bias(weight: Weight) -> bool:
    """Whether this is the bias of a matrix."""
    return weight.role.endswith(".bias")


def is_matrix(weight: Weight) -> bool:
    """Whether tokens are multiplied by it: a matrix or a convolution, no table, norm or bias."""
    return len(weight.shape) > 1 and part(weight) not in {"embed", "position", "norm"} and not is_bias(weight)
