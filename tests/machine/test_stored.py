"""A machine goes to plain data and back whole; foreign data is held to its fields."""

from __future__ import annotations

import json

import pytest

from rigright.base.errors import DataError
from rigright.base.words import say
from rigright.machine.device import Device, PcieLink
from rigright.machine.host import Memory
from rigright.machine.record import Machine, Unseen
from rigright.machine.stored import plain, restored

LATE = say("the file system did not respond in time")
MACHINE = Machine(
    devices=(Device(index=0, vendor="nvidia", pcie=PcieLink(gen=4, lanes=8), slowed_by=("hw_thermal",)),),
    memory=Memory(total_bytes=1e12, locked_limit_bytes=float("inf")),
    environment=(("CUDA_VISIBLE_DEVICES", "0"),),
    unseen=(
        Unseen(
            what="slots",
            why=say("cannot be read: {why}", why=LATE),
        ),
    ),
)


def test_a_machine_comes_back_as_it_went():
    assert restored(Machine, json.loads(json.dumps(plain(MACHINE))), where="box.json") == MACHINE


def test_sentences_are_told_in_the_language_of_who_asks():
    assert plain(MACHINE, "zh")["unseen"][0]["why"] == "读取失败：文件系统未及时响应"


def test_what_a_sentence_quotes_is_told_as_words():
    quoted = plain(say("cannot be read: {why}", why=ConnectionRefusedError(111, "Connection refused")))
    assert json.loads(json.dumps(quoted))["values"] == {"why": "[Errno 111] Connection refused"}


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ([], "box.json"),
        ({"devices": [{"vendor": "nvidia"}]}, "devices.0"),
        ({"devices": [{"index": True, "vendor": "nvidia"}]}, "index"),
        ({"memory": {"total_bytes": "much"}}, "total_bytes"),
        ({"environment": [["a"]]}, "environment"),
        ({"unseen": [{"what": "x", "why": {"say": "no such file: {file}"}}]}, "why"),
    ],
)
def test_what_is_no_machine_is_refused_with_its_place(data, place):
    with pytest.raises(DataError, match=place):
        restored(Machine, data, where="box.json")


def test_what_a_newer_rigright_added_is_left_out():
    assert restored(Machine, {"novel": 1}, where="box.json") == Machine()


@pytest.mark.parametrize("template", ["{why.__class__}", "{why:>999999999}", "{0}", "{"])
def test_a_foreign_template_is_text(template):
    data = {"unseen": [{"what": "x", "why": {"say": template, "values": {"why": "y"}}}]}
    assert str(restored(Machine, data, where="box.json").unseen[0].why) == template
