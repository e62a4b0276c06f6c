"""`rigright doctor` as it is typed: exit codes, wrong questions, plans, files, the script of fixes."""

from __future__ import annotations

import json
import subprocess

import pytest
from boxes import eight, two

from rigright.base.errors import AskError, DataError, MissingError
from rigright.doctor.examine import EXIT_FAULT, EXIT_WARNING, checks, chosen, group_of
from rigright.faces.cli.main import main
from rigright.machine.stored import plain
from rigright.verbs.doctor import doctor as doctor_verb
from rigright.verbs.doctor import wanted_of

LEAST_CHECKS = 60


@pytest.fixture
def saved(tmp_path):
    """A machine, written down as `probe --save` does."""

    def writing(machine, name="box.json"):
        path = tmp_path / name
        path.write_text(json.dumps(plain(machine)), encoding="utf-8")
        return str(path)

    return writing


def run(capsys, *words):
    code = main(["doctor", *words])
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    return code, said.out, said.err


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({3: {"ecc__uncorrected_aggregate": 4}}, 0),
        ({3: {"thermal__gpu_c": 80}}, EXIT_WARNING),
        ({3: {"recovery": "gpu reset"}}, EXIT_FAULT),
    ],
)
def test_the_exit_code_tells_the_worst(capsys, saved, changes, code):
    file = saved(eight(changes))
    assert run(capsys, "--from", file)[0] == code
    assert json.loads(run(capsys, "--from", file, "--json")[1])["exit_code"] == code


def test_one_screen_tells_what_where_why_and_how(capsys, saved):
    code, out, _ = run(capsys, "--from", saved(eight({3: {"recovery": "gpu reset"}})), "--width", "100")
    assert code == EXIT_FAULT
    first, verdict = [line for line in out.splitlines() if line][:2]
    assert first.startswith("✗ gpu 3: ")
    assert verdict.startswith("box: 8x NVIDIA H100 80GB HBM3; 1 ")
    for part in ("$ sudo nvidia-smi --gpu-reset -i 3", "gpu_recovery"):
        assert part in out


def test_notes_are_short_until_all_is_asked_for(capsys, saved):
    file = saved(eight({3: {"ecc__uncorrected_aggregate": 4}}))
    short, long = run(capsys, "--from", file)[1], run(capsys, "--from", file, "--all")[1]
    assert "gpu 3" in short
    assert "ecc_uncorrected" in long
    assert "ecc_uncorrected" not in short
    assert len(long) > 3 * len(short)


def test_the_same_on_many_cards_is_told_once(capsys, saved):
    file = saved(eight({index: {"recovery": "node reboot"} for index in range(8)}))
    out = run(capsys, "--from", file)[1]
    assert out.count("gpu 0, gpu 1, gpu 2") == 1
    assert out.count("✗") == 1


@pytest.mark.parametrize(
    ("only", "names"),
    [
        ("ecc_sram", {"ecc_sram"}),
        ("ecc", {"ecc_sram", "ecc_mode", "ecc_corrected", "ecc_uncorrected"}),
        ("xid_events,sxid_events", {"xid_events", "sxid_events"}),
        ("thermal-m*", {"thermal_margin", "thermal_memory"}),
        ("heat", {"thermal_fans", "thermal_margin", "thermal_memory", "thermal_uneven"}),
    ],
)
def test_checks_are_chosen_by_name_beginning_pattern_and_group(capsys, saved, only, names):
    told = json.loads(run(capsys, "--from", saved(eight()), "--only", only, "--json")[1])
    assert names <= {one["check"] for one in told["checks"]}
    if only != "heat":
        assert names == {one["check"] for one in told["checks"]}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--only", "eccc_mode"), "ecc_mode"),
        (("--only", "nosuch"), '"nosuch"'),
        (("--from", "/nowhere/box.json"), "/nowhere/box.json"),
        (("--for", "/nowhere/plan.json"), "/nowhere/plan.json"),
        (("--for", "9x nosuchcard"), "nosuchcard"),
        (("--for", "/dev/null"), "/dev/null"),
        (("--for", "/dev/zero"), "/dev/zero"),
        (("--for", "/"), "cannot read /: it is a folder"),
    ],
)
def test_wrong_questions_get_a_sentence(capsys, words, said):
    code, _, err = run(capsys, *words)
    assert code in {2, 3, 4}
    assert said in err


def test_what_is_unseen_on_every_card_is_told_once(capsys, saved):
    file = saved(eight({index: {"recovery": None} for index in range(8)}))
    out = run(capsys, "--from", file, "--only", "gpu_recovery")[1]
    assert " ".join(out.split()).count("550") == 1
    told = json.loads(run(capsys, "--from", file, "--only", "gpu_recovery", "--json")[1])
    assert [one["about"] for one in told["not_observed"]] == [f"gpu {index}" for index in range(8)]


def test_a_plan_is_held_against_the_machine(capsys, saved, tmp_path):
    plan = {"chip": "rtx-4090", "n_chips": 2, "n_nodes": 1, "layout": {"tp": 2}, "work": {"engine": "vllm"}}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"plans": [plan, plan]}))
    wanted = wanted_of(str(file))
    assert (wanted.chips, wanted.tp, wanted.engine, wanted.training) == (("rtx-4090",) * 2, 2, "vllm", False)
    assert run(capsys, "--from", saved(two()), "--for", str(file), "--only", "gpu_wanted")[0] == 0
    assert run(capsys, "--from", saved(eight()), "--for", str(file), "--only", "gpu_wanted")[0] == EXIT_FAULT
    assert wanted_of("8x h100").chips == ("h100-sxm5-80gb",) * 8


def test_a_word_longer_than_a_file_name_is_no_file():
    with pytest.raises(AskError):
        wanted_of("9" * 300)


def test_a_real_plan_is_one(tmp_path, capsys):
    assert main(["plan", "qwen3-8b", "--on", "2x rtx 4090", "--users", "4", "--json"]) == 0
    file = tmp_path / "plan.json"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    wanted = wanted_of(str(file))
    assert set(wanted.chips) == {"rtx-4090"}
    assert wanted.engine is not None


NO_PLANS = (
    *("", "[]", "7", "{", "[" * 5000, "\x00\xff"),
    *('{"plans": []}', '{"plans": [7]}', '{"chip": "nosuch", "n_chips": 1}'),
    *('{"chip": "rtx-4090", "n_chips": "many"}', '{"chip": "rtx-4090", "n_chips": 1, "n_nodes": 0}'),
    '{"chip": "rtx-4090", "n_chips": 1e30}',
)


@pytest.mark.parametrize("text", NO_PLANS)
def test_what_is_no_plan_is_told(tmp_path, text):
    file = tmp_path / "plan.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises((AskError, DataError, MissingError)) as told:
        wanted_of(str(file))
    assert "plan" in str(told.value)


def test_the_script_changes_nothing_when_it_is_run(capsys, saved, tmp_path):
    file, script = saved(eight({3: {"recovery": "gpu reset", "persistence": False}})), tmp_path / "fixes.sh"
    assert run(capsys, "--from", file, "--fix-script", str(script))[0] == EXIT_FAULT
    told = script.read_text()
    assert "#   sudo nvidia-smi --gpu-reset -i 3" in told
    assert script.stat().st_mode & 0o111 == 0
    done = subprocess.run(
        ["/bin/bash", str(script)], capture_output=True, text=True, check=True, env={"PATH": ""}, cwd=tmp_path
    )
    assert done.stdout == done.stderr == ""


def test_a_script_that_is_there_is_left_alone(capsys, saved, tmp_path):
    script = tmp_path / "fixes.sh"
    script.write_text("mine")
    code, _, err = run(capsys, "--from", saved(eight()), "--fix-script", str(script))
    assert code == AskError.exit_code
    assert str(script) in err
    assert script.read_text() == "mine"


def test_a_script_of_a_healthy_machine_says_so(capsys, saved, tmp_path):
    script = tmp_path / "fixes.sh"
    assert run(capsys, "--from", saved(eight()), "--fix-script", str(script), "--lang", "zh")[0] == 0
    assert "没有需要修复的问题" in script.read_text(encoding="utf-8")


def test_examining_changes_nothing(saved, tmp_path, monkeypatch):
    monkeypatch.setenv("RIGRIGHT_HOME", str(tmp_path / "home"))
    doctor_verb(saved(eight()))
    doctor_verb(only=("gpu",))
    assert not (tmp_path / "home").exists()


def test_there_are_at_least_sixty_checks_each_with_title_group_and_manual():
    found = tuple(checks().values())
    assert len(found) >= LEAST_CHECKS
    assert [one.name for one in found if group_of(one.name) == "other"] == []
    short = [one.name for one in found if len(one.manual.split("\n\n")) < 2 or len(one.manual) < 200]
    assert short == []
    unsourced = [one.name for one in found if not any(word in one.manual for word in ("ource", "guide"))]
    assert unsourced == []
    titles = [one.title.text for one in found]
    assert sorted({title for title in titles if titles.count(title) > 1}) == []


def test_every_check_can_be_asked_for_by_its_name():
    assert chosen(tuple(checks())) == tuple(checks())


def test_look_up_shows_a_manual_in_full(capsys):
    assert main(["look-up", "checks", "rows_remapped"]) == 0
    out = capsys.readouterr().out
    assert "spare" in out
    assert "512 in all" in " ".join(out.split())
    assert main(["look-up", "checks"]) == 0


OOM = (
    "INFO [core.py:77] Initializing a V1 LLM engine with config: model='{model}', dtype=torch.bfloat16\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 270.00 MiB. GPU 0 has a total capacity of "
    "39.39 GiB of which 180.06 MiB is free.\n"
)


@pytest.mark.parametrize(
    ("model", "known"), [("Qwen/Qwen2.5-32B-Instruct", True), ("nobody/has-this-one", False)]
)
def test_a_message_of_full_memory_names_the_model_and_what_explain_says_of_it(tmp_path, model, known):
    file = tmp_path / "server.log"
    file.write_text(OOM.format(model=model), encoding="utf-8")
    ((_, finding),) = doctor_verb(str(file)).findings
    command = f"rigright explain {model} --on 40gb"
    assert command in [step.command for step in finding.fix]
    assert any(item.command == command and model in str(item.shows) for item in finding.evidence[1:]) == known
