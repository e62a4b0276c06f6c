"""The verbs as functions of the package: the same words, the same answers, in the forms a notebook wants."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pickle
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

import rigright as rig
from kept_answers import keep
from rigright.base import shelf
from rigright.base.errors import AskError, MissingError
from rigright.faces.cli.main import main

VERBS = shelf.names("rigright.faces.cli.asks")
NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "examples").glob("*.ipynb"))
SAME = {  # as typed -> the same from Python, in its own types; in words: test_every_answer.py
    "plan qwen3-32b --mode chat --budget 8000usd --lang en": lambda: rig.plan(
        "qwen3-32b", mode="chat", budget="8000usd", lang="en"
    ),
    "plan llama-3.1-8b --on '2x 4090' --users 8 --plans 2 --lang zh": lambda: rig.plan(
        model="llama-3.1-8b", on="2x 4090", users=8, plans=2, lang="zh"
    ),
    "plan qwen3-8b --chips '4090, 3090' --used --tpot 0.05": lambda: rig.plan(
        "qwen3-8b", chips=["4090", "3090"], used=True, rent=False, tpot=0.05
    ),
    "explain llama-3.1-8b --on 4090 --context 2048": lambda: rig.explain(
        "llama-3.1-8b", on="4090", context=2048, kv=None
    ),
    "explain qwen3-30b-a3b --on 8xh100 --tp 8 --ep 8 --no-attention-dp": lambda: rig.explain(
        "qwen3-30b-a3b", on="8xh100", tp=8, ep=8, attention_dp=False
    ),
    "explain llama-2-7b --on 8xh100 --train": lambda: rig.explain("llama-2-7b", on="8xh100", train=True),
    "compare 4090 5090 --for llama-3.1-8b --users 8": lambda: rig.compare(
        ["4090", "5090"], for_="llama-3.1-8b", users=8
    ),
    "cost '2x rtx 4090' --place US-CA --years 3": lambda: rig.cost("2x rtx 4090", place="US-CA", years=3),
    "look-up chips --where memory>=100GB --where vendor=AMD --sort bw": lambda: rig.look_up(
        "chips", where=["memory>=100GB", "vendor=AMD"], sort="bw"
    ),
    "look-up xid 79": lambda: rig.look_up("xid", 79),
    "simulate llama-3.1-8b --on h100 --rate 5 --requests 8": lambda: rig.simulate(
        "llama-3.1-8b", on="h100", rate=5, requests=8
    ),
    "doctor --from {box}": lambda box: rig.doctor(from_=box),
    "probe --from {box}": lambda box: rig.probe(from_=box),
    "validate {runs}": lambda runs: rig.validate([runs]),
}
RUNS = (
    "id,source,engine,model,chip,n_chips,weights,kv,mode,load,prompt_tok,output_tok,metric,value\n"
    "a,mine,llama.cpp,meta-llama/Meta-Llama-3-8B,rtx-4090,1,gguf:Q4_K_M,f16,single,1,0,512,decode_tok_s_per_user,99\n"
)
BOX = {"schema": 1, "devices": [{"index": 0, "vendor": "nvidia", "name": "NVIDIA H100 80GB HBM3"}]}


@pytest.fixture
def kept(monkeypatch):
    """A question is answered once, whichever door it comes through."""
    keep(monkeypatch, {}, of=None)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "box.json").write_text(json.dumps(BOX), encoding="utf-8")
    (folder / "runs.csv").write_text(RUNS, encoding="utf-8")
    return {"box": folder / "box.json", "runs": folder / "runs.csv"}


def timeless(thing):
    """Without the seconds that an examination took."""
    if isinstance(thing, dict):
        return {key: timeless(value) for key, value in thing.items() if key != "seconds"}
    return [timeless(one) for one in thing] if isinstance(thing, list) else thing


def kinds_of(verb):
    """The records that editors are told to expect."""
    tree = ast.parse((Path(rig.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
    replies = {one.name: one.bases[0].slice for one in tree.body if isinstance(one, ast.ClassDef)}
    return ast.unparse(replies[f"{verb.title()}Reply"]).split(" | ")


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("line", SAME)
def test_the_data_are_what_json_prints(line, files, capsys):
    import shlex

    code = main([*shlex.split(line.format(**files)), "--json"])
    printed = json.loads(capsys.readouterr().out)
    names = re.findall(r"{(\w+)}", line)
    found = SAME[line](*(files[name] for name in names))
    assert timeless(found.to_dict()) == timeless(printed)
    assert code in {0, 10, 20}
    assert line.startswith("look-up") or type(found.record).__name__ in kinds_of(line.split()[0])
    assert str(found).splitlines()[0] in found.to_html() or repr(found)[:9] == "<rigright"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_of_the_command_line_is_a_function(verb):
    function = getattr(rig, verb)
    assert callable(function)
    assert function.__doc__
    assert function.__name__ == verb
    told = function.__doc__ if verb != "watch" else ""
    assert not re.search(r"^  -", told, re.MULTILINE)  # options are told as arguments


def test_a_room_of_the_same_name_does_not_hide_the_verb():
    importlib.import_module("rigright.doctor.examine")
    assert not isinstance(rig.doctor, ModuleType)
    assert isinstance(importlib.import_module("rigright.doctor"), ModuleType)


def test_the_package_tells_what_it_has():
    assert set(dir(rig)) == {"__version__", "RigError", "AskError", "DataError", "MissingError", *VERBS}


def test_errors_are_caught_by_names_of_the_package():
    with pytest.raises(rig.RigError):
        rig.plan("nosuch")
    assert rig.AskError is AskError
    assert issubclass(rig.MissingError, rig.RigError)


def test_what_is_not_there_is_an_attribute_error_that_says_what_is():
    with pytest.raises(AttributeError, match="explain"):
        rig.explian  # noqa: B018 - reading it is the test
    assert not hasattr(rig, "__wrapped__")


@pytest.fixture(scope="module")
def explained():
    return rig.explain("llama-3.1-8b", on="rtx 4090")


def test_editors_know_what_each_verb_takes():
    """The stub beside the package has every verb with the arguments that its parser reads."""
    tree = ast.parse((Path(rig.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
    known = {one.name: one.args for one in tree.body if isinstance(one, ast.FunctionDef)}
    assert {*known, "watch"} == {*VERBS}
    for verb, taken in known.items():
        named = [*taken.args, *([taken.vararg] if taken.vararg else []), *taken.kwonlyargs]
        assert [one.arg for one in named] == [*inspect.signature(getattr(rig, verb)).parameters]
        assert all(one.annotation is not None for one in named)


def test_an_answer_is_its_record(explained):
    assert "Llama-3.1-8B" in explained.model
    assert explained.fullest.used_bytes == explained.record.fullest.used_bytes
    assert {"to_dict", "fullest"} <= set(dir(explained))
    with pytest.raises(AttributeError):
        explained.nosuch  # noqa: B018 - reading it is the test


def test_an_answer_is_kept_and_sent(explained):
    """To another process, or into a file for later: all of its forms stay."""
    again = pickle.loads(pickle.dumps(explained))  # noqa: S301 - our own
    assert again.to_dict() == explained.to_dict()
    assert str(again) == str(explained)
    assert again.to_html() == explained.to_html()


def test_answers_asked_at_the_same_time_are_those_asked_one_by_one():
    asked = [("4090", "en"), ("h100", "zh"), ("4090", "zh"), ("h100", "en")] * 2
    ask = lambda one: str(rig.explain("qwen3-8b", on=one[0], lang=one[1]))  # noqa: E731
    alone = {one: ask(one) for one in dict.fromkeys(asked)}
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(ask, asked)] == [alone[one] for one in asked]


def test_a_notebook_shows_the_page_and_its_style_stays_inside(explained):
    shown = explained._repr_html_()
    assert "Llama-3.1-8B" in shown
    assert "<html" not in shown
    assert "body {" not in shown
    style = shown.split("<style>")[1].split("</style>")[0]
    assert style.strip().startswith(".rigright.rigright.rigright {")
    assert style.count("{") == style.count("}")
    (picture,) = explained.pictures
    assert 'class="bars"' in picture._repr_html_()
    assert "<h1>" not in picture._repr_html_()


def test_the_signature_names_the_options():
    parameters = inspect.signature(rig.compare).parameters
    assert parameters["things"].kind is inspect.Parameter.VAR_POSITIONAL
    assert {"for_", "users", "max_chips"} <= set(parameters)
    assert inspect.signature(rig.explain).parameters["model"].default is inspect.Parameter.empty
    assert inspect.signature(rig.plan).parameters["model"].default is None


WRONG = (  # and what the error and its hint name
    (lambda: rig.plan("qwen3-8b", bugdet=5), '"bugdet"', "budget"),
    (rig.explain, "model", "qwen3-32b"),
    (rig.plan, "model", "--budget 5000usd"),
    (lambda: rig.plan("qwen3-8b", mode="foo"), '"foo"', "serve, chat"),
    (lambda: rig.plan("qwen3-8b", users=-1), "--concurrency", ""),
    (lambda: rig.plan("--from=/etc/passwd"), '"--from=/etc/passwd"', ""),
    (lambda: rig.plan("qwen3-8b", form="html"), '"form"', ""),
    (lambda: rig.plan("qwen3-8b", budget=True), "--budget", ""),
    (lambda: rig.plan("qwen3-8b", buy="no such"), "--buy", ""),
    (lambda: rig.explain("nosuch-7q", on="4090"), "nosuch-7q", ""),
    (lambda: rig.fit("4090", to=1), '"to"', ""),
)


def test_wrong_words_are_refused_as_the_command_line_does():
    for ask, names, hint in WRONG:
        with pytest.raises(AskError) as error:
            ask()
        assert names in str(error.value)
        assert hint in " ".join(getattr(error.value, "__notes__", [""]))


class Frame(dict):
    """A DataFrame, as far as these tests look."""


@pytest.fixture
def only(monkeypatch):
    """Of the two libraries only these are installed."""

    def put(*names):
        for name in ("pandas", "polars"):
            library = ModuleType(name) if name in names else None
            if library is not None:
                library.DataFrame = Frame
                library.__spec__ = importlib.machinery.ModuleSpec(name, None)
            monkeypatch.setitem(sys.modules, name, library)
        find = importlib.util.find_spec
        monkeypatch.setattr(
            "importlib.util.find_spec",
            lambda name, *more: (
                (name in names or None) if name in {"pandas", "polars"} else find(name, *more)
            ),
        )

    return put


def test_a_table_has_numbers_where_all_cells_are(only):
    only("polars")
    frame = rig.plan("llama-3.1-8b", on="2x 4090", users=8).to_frame()
    assert isinstance(frame, Frame)
    assert set(frame["chip"]) == {"rtx-4090"}
    assert all(isinstance(one, int) for one in frame["n_chips"])
    assert all(low <= high for low, high in zip(frame["tpot_s_low"], frame["tpot_s_high"], strict=True))
    assert len({len(column) for column in frame.values()}) == 1


def test_cells_for_eyes_are_numbers_too_where_all_of_them_are(only):
    only("pandas")
    frame = rig.look_up("chips", "4090").to_frame()
    assert all(isinstance(one, int) and one >= 1008 for one in ending(frame, "GB/s")[:1])
    assert all(isinstance(one, str) for one in next(iter(frame.values())))


def ending(frame, unit):
    """The first column whose head ends with this unit."""
    return next(column for head, column in frame.items() if head.endswith(unit))


def test_a_cell_that_nobody_knows_is_none_among_numbers(only):
    only("pandas")
    frame = rig.look_up("chips").to_frame()
    watts = ending(frame, " W")
    assert None in watts
    assert all(one is None or one > 0 for one in watts)


def test_without_a_library_the_error_says_what_to_install(only, explained):
    only()
    with pytest.raises(MissingError) as error:
        explained.to_frame()
    assert "-m pip install pandas" in error.value.__notes__[0]
    only("pandas")
    with pytest.raises(MissingError) as error:
        explained.to_frame("polars")
    assert "-m pip install polars" in error.value.__notes__[0]
    with pytest.raises(AskError, match="excel"):
        explained.to_frame("excel")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs_from_top_to_bottom(path):
    """Each cell in turn, as a kernel does it; what a cell ends with must have something to show."""
    cells = [
        cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"
    ]
    space, shown = {}, []
    for cell in cells:
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(path), "exec"), space)  # noqa: S102 - our own notebook
        if last is not None:
            shown.append(eval(compile(ast.Expression(last.value), str(path), "eval"), space))  # noqa: S307
    assert len(cells) > 4
    assert sum(hasattr(one, "_repr_html_") for one in shown) > 2
    assert all(cell.get("outputs") == [] for cell in cells), "a notebook is kept without outputs"


def test_there_is_a_notebook():
    assert NOTEBOOKS
