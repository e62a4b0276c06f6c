"""What must hold of every model we know, whoever made it and whatever its family."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace

import pytest
from totals_explained import explain_total

from rigright.arch import cache, count
from rigright.arch.read import read_config
from rigright.arch.record import PARTS, Cut, Mix, is_bias, is_matrix, part
from rigright.arch.sources import zoo
from rigright.base.errors import RigError
from rigright.base.words import tell

HEADED = {Mix.FULL, Mix.WINDOW, Mix.CHUNK, Mix.BOTH, Mix.CROSS}
STATEFUL = {Mix.LINEAR, Mix.SSM, Mix.CONV}
NAMES = ("model_type", "architectures", "_class_name")
LOOKED_UP = {"embed", "position"}  # rows of a table: no token is multiplied by them


@pytest.fixture(scope="module")
def archs():
    found = list(zoo.archs())
    assert len(found) >= 300
    return found


def every_weight(arch):
    return [weight for weight, _ in count.weights((*arch.towers, *arch.spare))]


def every_mixer(arch):
    layers = {layer for tower in arch.towers for layer in tower.layers}
    return [mixer for layer in layers for mixer in (layer.mixer, layer.cross) if mixer is not None]


def test_parts_add_up_and_none_is_more_than_the_whole(archs):
    for arch in archs:
        by_hand = sum(
            count.elems(weight) * weight.copies
            for tower in arch.towers
            for place in (tower.outer, *(layer.weights for layer in tower.layers))
            for weight in place
        )
        assert by_hand == count.params(arch), arch.name
        assert 0 < count.active_params(arch) <= by_hand, arch.name
        assert 0 <= count.embedding_params(arch) <= by_hand, arch.name


def test_only_experts_sleep(archs):
    for arch in archs:
        sleeping = {part(weight) for weight in every_weight(arch) if weight.used not in {None, weight.copies}}
        assert sleeping <= {"expert"}, arch.name
        has_sleepers = count.active_params(arch) < count.params(arch)
        tables = any(weight.role.startswith("embed.") for weight in every_weight(arch))  # a row a token
        assert has_sleepers == (bool(sleeping) or tables), arch.name


def test_roles_are_of_the_closed_list_and_shapes_are_sizes(archs):
    for arch in archs:
        for weight in every_weight(arch):
            assert part(weight) in PARTS, (arch.name, weight.role)
            assert weight.shape, (arch.name, weight)
            assert all(isinstance(side, int) and side > 0 for side in weight.shape), (arch.name, weight)
            assert weight.copies >= 1, (arch.name, weight)
            assert weight.sites >= 1, (arch.name, weight)
            assert weight.used is None or 0 < weight.used <= weight.copies, (arch.name, weight)
            assert not is_bias(weight) or len(weight.shape) == 1, (arch.name, weight)


def test_a_cut_cuts_what_it_speaks_of(archs):
    cut_by = {Cut.EXPERT: {"expert"}, Cut.VOCAB: {"embed", "head"}, Cut.KV: {"attn", "cross"}}
    for arch in archs:
        for weight in every_weight(arch):
            assert part(weight) in cut_by.get(weight.cut, PARTS), (arch.name, weight)
        for tower in arch.towers:
            for layer in set(tower.layers):
                cut = {part(weight) for weight in layer.weights if weight.cut == Cut.KV}
                if "attn" in cut:
                    assert layer.mixer is not None, arch.name
                    assert layer.mixer.kv_heads > 0, arch.name
                if "cross" in cut:
                    mixer = layer.cross or layer.mixer
                    assert mixer is not None, arch.name
                    assert mixer.kv_heads > 0, arch.name


def test_heads_share_out_and_every_kind_of_mixing_bears_its_sizes(archs):
    for arch in archs:
        for mixer in every_mixer(arch):
            if mixer.kind in HEADED:
                assert mixer.heads % mixer.kv_heads == 0, (arch.name, mixer)
                assert min(mixer.key_dim, mixer.value_dim) > 0, (arch.name, mixer)
            if mixer.kind in {Mix.WINDOW, Mix.CHUNK}:
                assert mixer.window_tok, (arch.name, mixer)
            if mixer.kind == Mix.LATENT:
                assert mixer.latent_dim > 0, (arch.name, mixer)
            if mixer.kind in STATEFUL and arch.task != "image":  # which reads all at once
                assert mixer.state32_elems + mixer.state16_elems > 0, (arch.name, mixer)


def test_layers_with_experts_say_so_twice(archs):
    for arch in archs:
        for layer in {layer for tower in arch.towers for layer in tower.layers}:
            routed = any(part(weight) == "expert" for weight in layer.weights)
            assert routed == bool(layer.ffn is not None and layer.ffn.experts), arch.name
            if layer.ffn is not None and layer.ffn.experts:
                assert 0 < layer.ffn.per_tok <= layer.ffn.experts, arch.name


def test_what_writes_remembers_and_what_only_reads_does_not(archs):
    for arch in archs:
        growing, constant = cache.kv_bytes_per_token(arch), cache.kv_constant_bytes(arch)
        assert growing >= 0, arch.name
        assert constant >= 0, arch.name
        if arch.task == "text":
            assert growing + constant > 0, arch.name
        if arch.task in {"vision", "image"}:
            assert growing == constant == 0, arch.name


def test_a_token_of_a_language_model_costs_two_flops_for_each_parameter_it_meets(archs):
    """Against the rule of thumb, which knows nothing of roles: 2 N, tables that are only looked up apart."""
    for arch in archs:
        if arch.task != "text" or arch.trunk.name != "text":
            continue
        looked_up = sum(
            count.elems(weight) * weight.copies * times
            for weight, times in count.weights((arch.trunk,))
            if part(weight) in LOOKED_UP and not (arch.tied and weight.role == "embed")
        )
        met = sum(
            count.elems(weight) * (weight.copies if weight.used is None else weight.used) * times
            for weight, times in count.weights((arch.trunk,))
        )
        flops = count.flops_per_tok(arch.trunk, head_tied=arch.tied)
        assert flops == pytest.approx(2 * (met - looked_up), rel=0.02), arch.name


def test_a_convolution_costs_more_than_two_flops_a_parameter(archs):
    for arch in archs:
        if arch.task == "vision" and any(is_matrix(w) and part(w) == "conv" for w in every_weight(arch)):
            assert count.flops_per_tok(arch.trunk) > 2.6 * count.params(arch), arch.name


def test_prediction_layers_are_spare_and_counted_apart(archs):
    spared = [arch for arch in archs if arch.spare]
    assert len(spared) > 10
    for arch in spared:
        assert not set(map(id, arch.spare)) & set(map(id, arch.towers)), arch.name
        assert {tower.name for tower in arch.spare} == {"mtp"}, arch.name
        assert sum(count.elems(w) * w.copies * n for w, n in count.weights(arch.spare)) > 0, arch.name


def test_contexts_vocabularies_and_names_are_sane(archs):
    for arch in archs:
        assert arch.max_context_tok is None or 64 <= arch.max_context_tok <= 20_000_000, arch.name
        assert arch.task != "text" or 1_000 <= arch.vocab <= 400_000, arch.name
        assert re.fullmatch(r"[\w.-]+(/[\w.+-]+)?(#\w+)?", arch.name), arch.name
        assert arch.source, arch.name
        for warning in arch.warnings:
            assert tell(warning, "zh") != tell(warning, "en"), arch.name


def test_the_vocabulary_is_the_table(archs):
    for arch in archs:
        tables = [weight.shape for weight in arch.trunk.outer if weight.role == "embed"]
        if arch.task == "text" and len(tables) == 1:
            assert arch.vocab in tables[0], arch.name
        assert not arch.tied or not any(weight.role == "head" for weight in arch.trunk.outer), arch.name


def test_a_totals_arithmetic_adds_up(archs):
    """Whatever is said of a published total, the numbers in the sentence make that total."""
    told = 0
    for arch in archs[::2]:
        params = count.params(arch)
        for total in {params + count.embedding_params(arch), params + len(arch.trunk.layers)}:
            sentence = explain_total(arch, total)
            if sentence is None:
                continue
            words = re.sub(r"\([^()]*(\([^()]*\))?[^()]*\)", "", tell(sentence, "en"))
            left, _, right = words.partition(" = ")
            terms = re.findall(r"(-?) ?([\d,]{2,}|\d)(?![\w.])", left)
            summed = sum(int(sign + size.replace(",", "")) for sign, size in terms)
            assert summed == total == int(right.split()[0].replace(",", "")), (arch.name, str(sentence))
            told += 1
    assert told > 50


def shuffled(value, rng):
    if not isinstance(value, dict):
        return value
    items = [(key, shuffled(inner, rng)) for key, inner in value.items()]
    rng.shuffle(items)
    return dict(items)


def test_reading_is_the_same_twice_and_in_any_order_of_keys(archs):
    rng = random.Random(7)  # noqa: S311 - an order of keys, no secret
    for arch in archs:
        again = read_config(shuffled(zoo.config(arch.name), rng), arch.name)
        assert arch.task in {again.task, "embed"}, "a decoder may be published to embed"
        told = {"max_context_tok": arch.max_context_tok, "task": arch.task}
        assert replace(again, **told) == arch  # the context is as advertised


def test_reading_leaves_the_config_as_it_was(archs):
    for arch in archs[::10]:
        raw = zoo.config(arch.name)
        before = repr(raw)
        read_config(raw, arch.name)
        assert repr(raw) == before, arch.name


def test_without_its_name_a_config_is_read_alike_or_with_a_warning(archs):
    alike = refused = 0
    collected = {
        json.loads(line)["_model"] for line in zoo.COLLECTED.read_text(encoding="utf-8").splitlines()
    }
    archs = [arch for arch in archs if arch.name in collected]
    for arch in archs:
        raw = {key: value for key, value in zoo.config(arch.name).items() if key not in NAMES}
        try:
            found = read_config(raw, arch.name)
        except RigError:
            refused += 1  # a config that says nothing but its name
            continue
        alike += abs(count.params(found) / count.params(arch) - 1) < 0.01
        assert found.warnings, arch.name
    assert alike >= 0.75 * len(archs)
    assert refused <= 0.05 * len(archs)
