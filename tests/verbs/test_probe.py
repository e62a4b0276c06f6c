"""`rigright probe` as people ask it: this machine, a file, a pipe, a bundle; and what they typed wrong."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest

from rigright.faces.cli.main import main
from rigright.machine.probe import probe
from rigright.machine.record import Machine
from rigright.machine.stored import restored
from rigright.report.formats.text import render
from rigright.report.pages import probe as pages
from rigright.report.screen import Screen, width
from rigright.verbs.probe import probe as probe_verb
from scenes import remembered, scene

SMI = (
    "<nvidia_smi_log><driver_version>550.54.15</driver_version><cuda_version>12.4</cuda_version>"
    '<attached_gpus>1</attached_gpus><gpu id="00000000:01:00.0">'
    "<product_name>NVIDIA GeForce RTX 4090</product_name><fb_memory_usage><total>24564 MiB</total>"
    "<used>1000 MiB</used><free>23100 MiB</free></fb_memory_usage><pci><pci_gpu_link_info><pcie_gen>"
    "<max_link_gen>4</max_link_gen><current_link_gen>1</current_link_gen></pcie_gen><link_widths>"
    "<max_link_width>16x</max_link_width><current_link_width>16x</current_link_width></link_widths>"
    "</pci_gpu_link_info></pci></gpu></nvidia_smi_log>"
)


@pytest.fixture
def ask(capsys):
    """Ask as at a prompt: exit code, stdout, stderr."""

    def asking(*words):
        code = main(list(words))
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        assert "bug in rigright" not in said.err, said.err
        return code, said.out, said.err

    return asking


@pytest.fixture
def smi(tmp_path):
    file = tmp_path / "smi.xml"
    file.write_text(SMI)
    return str(file)


def test_this_very_machine_is_read_whatever_it_is(ask):
    code, out, _ = ask("probe", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["origin"] == "live"
    assert told["memory"]["total_bytes"] > 0
    assert told["system"]["kernel"] or sys.platform == "win32"
    again = restored(Machine, told, where="told")
    assert again.cpu == restored(Machine, json.loads(json.dumps(told)), where="told").cpu


def test_the_function_is_there_in_python(smi):
    machine = probe_verb(smi)
    assert machine.devices[0].name == "NVIDIA GeForce RTX 4090"


def test_a_file_of_nvidia_smi_is_a_machine(ask, smi):
    code, out, _ = ask("probe", "--from", smi, "--width", "100")
    assert code == 0
    assert "GeForce RTX 4090" in out
    assert "22.6 GiB of 24.0 GiB" in out
    assert "1/4 x16" in out
    assert f"rigright fit --on {smi}" in out


def test_a_pipe_is_a_machine(ask, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SMI.encode("utf-16"))))
    code, out, _ = ask("probe", "--from", "-")  # as PowerShell hands it on
    assert code == 0
    assert "GeForce RTX 4090" in out


def test_what_was_saved_opens_as_it_was(ask, smi, tmp_path):
    kept = str(tmp_path / "box.json")
    assert ask("probe", "--from", smi, "--save", kept)[0] == 0
    _, first, _ = ask("probe", "--from", smi, "--json")
    _, again, _ = ask("probe", "--from", kept, "--json")
    assert {**json.loads(first), "origin": ""} == {**json.loads(again), "origin": ""}


def test_json_that_was_printed_opens_too(ask, smi, tmp_path):
    printed = tmp_path / "printed.json"
    printed.write_text(ask("probe", "--from", smi, "--json", "--lang", "zh")[1], encoding="utf-8")
    code, out, _ = ask("probe", "--from", str(printed))
    assert code == 0
    assert "GeForce RTX 4090" in out


def test_a_folder_of_files_is_one_machine(ask, tmp_path):
    (tmp_path / "smi.xml").write_text(SMI)
    (tmp_path / "dmesg.txt").write_text(
        "[   12.345678] NVRM: Xid (PCI:0000:01:00): 79, pid=1, fallen off the bus.\n"
    )
    (tmp_path / "notes.txt").write_text("it broke on Tuesday\n")
    code, out, _ = ask("probe", "--from", str(tmp_path))
    assert code == 0
    assert "GeForce RTX 4090" in out
    assert "1 xid (79)" in out


def test_a_bundle_is_made_and_opened(ask, tmp_path):
    file = str(tmp_path / "box.tar.gz")
    code, out, _ = ask("probe", "--bundle", file)
    assert code == 0
    assert f"{file}:" in "".join(out.split())
    code, out, _ = ask("probe", "--from", file, "--json")
    assert code == 0
    assert json.loads(out)["cpu"]["threads"] == probe_verb().cpu.threads


WRONG = (  # what is typed, the exit code, and what the refusal names
    (("--from", "{folder}/absent.xml"), 4, "absent.xml"),
    (("--from", "{folder}/empty"), 3, "{folder}/empty"),
    (("--from", "{folder}/bytes"), 3, "{folder}/bytes"),
    (("--from", "{folder}/cut.json"), 3, "dmidecode"),
    (("--from", "{folder}/wrong.json"), 3, "devices"),
    (("--from", "{folder}/plain"), 3, "{folder}/plain"),
    (("--from", "{folder}/smi.xml", "--save", "{folder}"), 2, "{folder}"),
    (("--from", "{folder}/smi.xml", "--save", "{folder}/no/box.json"), 3, "{folder}/no/box.json"),
    (("--from", "{folder}/smi.xml", "--bundle", "{folder}/b.tar.gz"), 2, "--from"),
    (("--bundle", "{folder}"), 2, "{folder}"),
    (("--form", "x"), 2, "--from"),
)


def test_what_is_wrong_is_refused_and_named(ask, smi, tmp_path):
    (tmp_path / "empty").write_text("")
    (tmp_path / "bytes").write_bytes(b"\x00\x01" * 50)
    (tmp_path / "cut.json").write_text('{"schema": 1, "devices": [')
    (tmp_path / "wrong.json").write_text('{"schema": 1, "devices": [{"index": "zero", "vendor": "nvidia"}]}')
    (tmp_path / "plain").mkdir()
    assert smi
    for words, code, told in WRONG:
        found, _, err = ask("probe", *(word.format(folder=tmp_path) for word in words))
        assert found == code, words
        assert told.format(folder=tmp_path) in err, words


def test_no_line_is_wider_than_the_screen(tmp_path):
    for name in ("lost_gpu", "mig", "gb10", "a100_pcie_pairs"):
        (tmp_path / name).mkdir()
        page = pages.page(probe(remembered(name, tmp_path / name)))
        for cells in (100, 60, 40):
            for language in ("en", "zh"):
                lines = render(page, Screen(width=cells, language=language)).splitlines()
                wide = [line for line in lines if width(line) > cells and not line.startswith("  $ ")]
                assert wide == [], (name, cells, language)


def test_the_box_is_seen_at_once(tmp_path):
    text = render(pages.page(probe(remembered("healthy_8xh100", tmp_path))), Screen(width=60))
    assert "8x NVIDIA H100 80GB HBM3" in text
    assert "NV18" in text
    assert "16 x 128 GiB DDR5 at 4800 MT/s" in text
    assert "8 x" not in text.partition("CPU")[0]  # no card is told in words that a row tells


def test_a_lost_card_is_the_first_thing_said(tmp_path):
    text = render(pages.page(probe(remembered("lost_gpu", tmp_path))), Screen(width=100))
    assert text.splitlines()[2].startswith("✗ 1 of 8 GPUs ")
    assert text.splitlines()[2].endswith(": gpu 3")


def test_a_machine_whose_driver_hangs_is_told_in_time(tmp_path):
    machine = probe(scene("hung_driver", tmp_path))
    text = render(pages.page(machine), Screen(width=100))
    assert "H100" in text or "driver" in text
    assert machine.cpu.threads


@pytest.mark.skipif(os.name == "nt", reason="a process as a shell starts it")
def test_it_runs_where_there_is_no_colour_and_no_letters(smi):
    env = {**os.environ, "NO_COLOR": "1", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "rigright", "probe", "--from", smi], capture_output=True, env=env, check=True
    )
    assert b"\x1b" not in done.stdout
    assert b"GeForce RTX 4090" in done.stdout
    done.stdout.decode("ascii")
