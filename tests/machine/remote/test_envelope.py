"""What a node tells comes whole through labels, banners and mixing; nothing else is taken."""

from __future__ import annotations

import base64
import json
import random
import zlib

from hypothesis import given
from hypothesis import strategies as st

from rigright.machine.remote import envelope
from rigright.machine.remote.envelope import LineJoiner, heard, lines

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
TOLD = st.dictionaries(st.text(max_size=8), PLAIN, max_size=5)


def as_bytes(told):
    return [line.encode() for line in lines(told)]


@given(TOLD, st.randoms(use_true_random=False))
def test_whatever_is_told_is_heard_in_any_order(told, chance):
    sent = as_bytes(told)
    chance.shuffle(sent)
    ear = LineJoiner()
    came = [one for line in sent if (one := ear.hear(line)) is not None]
    assert came == [told]


def test_two_nodes_may_speak_at_once_with_labels_before_and_noise_between():
    one, two = (as_bytes({"node": name, "much": secret(5000)}) for name in ("n1", "n2"))
    mixed = [b"Welcome to n1!\n"]
    for left, right in zip(one, two, strict=True):
        mixed += [b"0: " + left, b"   1: " + right, b"Warning: \xff\xfe a library speaks\n"]
    assert {told["node"] for told in heard(b"".join(mixed))} == {"n1", "n2"}


def secret(length, seed=1):
    chance = random.Random(seed)  # noqa: S311 - it stands for words that do not pack well
    return "".join(chance.choice("abcdefghijklmnop") for _ in range(length))


def test_no_line_is_longer_than_schedulers_pass_whole():
    assert max(map(len, as_bytes({"much": secret(50_000)}))) < 1000


def test_a_line_that_is_lost_leaves_nothing():
    sent = as_bytes({"much": secret(5000)})
    assert len(sent) > 2
    assert heard(b"".join(sent[:-1])) == []


def test_a_line_that_was_changed_leaves_nothing():
    first, *rest = as_bytes({"much": secret(5000)})
    head, _, piece = first.rpartition(b" ")
    other = bytes([piece[0] ^ 1]) if bytes([piece[0] ^ 1]).isalnum() else b"A"
    assert heard(head + b" " + other + piece[1:] + b"".join(rest)) == []


def test_the_same_words_twice_are_heard_once():
    sent = b"".join(as_bytes({"node": "n1"}))
    assert heard(sent + sent) == [{"node": "n1"}]


def packed(raw, **changes):
    """An envelope by hand, as somebody hostile would write it."""
    text = base64.b64encode(raw).decode()
    pieces = [text[start : start + 640] for start in range(0, len(text), 640)]
    count = changes.get("count", len(pieces))
    check = changes.get("check", zlib.crc32(raw))
    return "".join(
        f"{envelope.MARK} {'0' * 16} {number} {count} {check:08x} {piece}\n"
        for number, piece in enumerate(pieces)
    ).encode()


def test_a_bomb_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(envelope, "MOST_BYTES", 1000)
    small = zlib.compress(json.dumps({"a": "x" * 900}).encode())
    large = zlib.compress(json.dumps({"a": "x" * 1100}).encode())
    assert len(heard(packed(small))) == 1
    assert heard(packed(large)) == []


def test_more_lines_than_a_node_may_send_are_not_kept(monkeypatch):
    monkeypatch.setattr(envelope, "MOST_PIECES", 3)
    assert heard(b"".join(as_bytes({"much": secret(5000)}))) == []


def test_more_speakers_than_nodes_are_not_kept(monkeypatch):
    monkeypatch.setattr(envelope, "MOST_SPEAKERS", 2)
    sent = [as_bytes({"node": str(number), "much": secret(2000, number)}) for number in range(4)]
    ear = LineJoiner()
    first = [ear.hear(one[0]) for one in sent]
    rest = [told for one in sent for line in one[1:] if (told := ear.hear(line)) is not None]
    assert first == [None] * 4
    assert [told["node"] for told in rest] == ["0", "1"]


def test_words_nested_without_end_are_refused():
    deep = zlib.compress(b'{"a":' + b"[" * 90_000 + b"]" * 90_000 + b"}")
    assert heard(packed(deep)) == []
    fifty = zlib.compress(b'{"a":' + b"[" * 50 + b"]" * 50 + b"}")
    assert heard(packed(fifty)) == []


def test_what_is_no_record_is_refused():
    assert heard(packed(zlib.compress(b"[1, 2]"))) == []
    assert heard(packed(zlib.compress(b'{"a": '))) == []
    assert heard(packed(b"no zlib at all")) == []
    assert heard(packed(zlib.compress(b"{}"), check=1)) == []


@given(st.binary(max_size=400))
def test_any_bytes_may_come(noise):
    ear = LineJoiner()
    for start in (b"", b"rigright-told ", b"rigright-told 0123456789abcdef 0 1 00000000 "):
        assert ear.hear(start + noise) is None
