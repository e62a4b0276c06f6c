"""The paper for whoever signs: what it holds, from a file and from a question, in both languages."""

from __future__ import annotations

import json
import re
import shlex
from html.parser import HTMLParser

import pytest

import rigright as rig
from rigright.base.errors import AskError, DataError, MissingError
from rigright.base.money import show_money
from rigright.faces.cli.main import main, verb_parser
from rigright.machine import browser

ASKED = {"mode": "chat", "budget": "8000usd", "chips": "rtx 3090", "lang": "en"}


@pytest.fixture(scope="module", autouse=True)
def one_day():
    """Prices do not grow old while the tests do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RIGRIGHT_TODAY", "2026-11-22")
        yield


@pytest.fixture(scope="module")
def planned():
    return rig.plan("qwen3-32b", **ASKED).to_dict()


@pytest.fixture(scope="module")
def asked():
    return rig.report("qwen3-32b", **ASKED).to_dict()


@pytest.fixture
def saved(planned, tmp_path):
    def put(**changed):
        file = tmp_path / "plan.json"
        file.write_text(json.dumps(planned | changed), encoding="utf-8")
        return str(file)

    return put


@pytest.fixture(scope="module")
def paper(planned, tmp_path_factory):
    file = tmp_path_factory.mktemp("paper") / "plan.json"
    file.write_text(json.dumps(planned), encoding="utf-8")
    return rig.report(str(file), lang="en")


def test_line_1_says_what_to_do_and_what_it_costs(paper, planned):
    line = str(paper).splitlines()[0]
    data = paper.to_dict()
    total = data["cost"]["ways"][0]["total_usd"]["value"]
    assert line.startswith("✓")
    price = show_money(planned["plans"][0]["figures"]["usd"]["value"], "USD")
    for value in ("2x RTX 3090", "Qwen3-32B", price, f"${float(f'{total:.3g}'):,.0f}"):
        assert value in line
    assert data["options"][0]["how"] == "buy"
    assert paper.fits
    assert planned["plans"][0]["figures"]["usd"]["value"] == pytest.approx(2880, rel=0.1)


@pytest.mark.parametrize(
    ("model", "wish"),
    [
        ("qwen3-32b", {"mode": "chat", "budget": "60000cny"}),
        ("llama-3.3-70b", {"on": "8x h100", "buy": True, "users": 200}),
        ("deepseek-v3", {"on": "3 nodes of 8x mi300x", "buy": True, "users": 64}),
        ("qwen3-8b", {"on": "epyc 9755"}),
        ("qwen3-32b", {"on": "m2 ultra", "buy": True}),
        ("llama-3.1-8b", {"on": "tesla p40", "buy": True}),
        ("llama-3.1-8b", {"on": "4x rtx 4090", "buy": True, "mode": "finetune", "samples": "10k"}),
    ],
)
def test_one_price_from_line_1_to_the_bill(model, wish):
    """The recommended machine costs one sum: on line 1, in the table, over the years, and part by part."""
    made = rig.report(model, lang="en", **wish)
    data = made.to_dict()
    (buy,) = (way for way in data["cost"]["ways"] if way["kind"] == "buy")
    orders = {one["label"]: one for one in data["order"]["variants"]}
    order = orders.get("recommended") or next(iter(orders.values()))
    paid = data["options"][0]["figures"]["usd"]["value"]
    assert paid == pytest.approx(buy["up_front_usd"]["value"])
    assert paid == pytest.approx(order["usd"]["value"] * order["machines"])
    assert show_money(paid, made.wish.currency) in data["verdict"]


def test_buying_what_stands_idle_is_advised_against():
    """Eight cards that work an hour a day: the same hours are rented for a tenth."""
    asked = {"buy": True, "on": "8x h100", "lang": "en"}
    made, busy = (rig.report("llama-3.1-8b", duty=duty, **asked) for duty in ("5%", "100%"))
    assert made.instead is not None
    assert str(made).startswith("! ")
    for name in ("8x H100 SXM5 80GB", "Llama-3.1-8B", made.instead.label):
        assert name.lower() in made.to_dict()["verdict"].lower()
    ways = made.to_dict()["cost"]["ways"]
    bought, rented = (next(one for one in ways if one["kind"] == kind) for kind in ("buy", "rent"))
    assert rented["total_usd"]["value"] < bought["total_usd"]["value"] / 2
    assert busy.instead is None


def test_a_machine_in_hand_is_used_however_seldom():
    made = rig.report("llama-3.1-8b", own="8x h100", duty="5%", lang="en")
    assert "8x H100" in made.to_dict()["verdict"]
    assert made.to_dict()["cost"]["ways"][0]["kind"] == "own"
    assert made.instead is None


def test_it_costs_what_cost_says_and_orders_what_build_says(paper, saved):
    file = saved()
    data = paper.to_dict()
    costed, built = rig.cost(from_=file, lang="en").to_dict(), rig.build(from_=file, lang="en").to_dict()
    assert data["cost"]["ways"] == costed["ways"]
    del built["schema_version"]  # of the whole answer
    assert data["order"] == built | {"budget_usd": 8000.0}  # the plan's budget holds for the order too


def test_a_question_and_its_saved_plan_make_the_same_paper(paper, asked):
    data = paper.to_dict()
    differs = {key for key in data if data[key] != asked[key]}
    assert differs <= {"plan", "acceptance"}
    assert asked["acceptance"][0].startswith(
        "rigright plan qwen3-32b --chips 'rtx 3090' --mode chat --budget 8000usd --json > "
    )


def test_the_acceptance_test_is_the_band_or_the_limit(paper, planned, saved):
    figures = planned["plans"][0]["figures"]
    assert f">= {figures['output_tok_per_s']['low']:.2g}" in str(paper)
    wish = planned["wish"] | {"ttft_s": 1.5}
    limited = rig.report(saved(wish=wish), lang="en")
    assert "<= 1.5 s" in str(limited)
    assert "<= 1.5 s" not in str(paper)
    worst = f"{figures['ttft_s']['high']:.3g} s"
    assert any("TTFT" in risk and worst in risk and "1.5 s" in risk for risk in limited.to_dict()["risks"])


def test_each_command_of_the_acceptance_test_can_be_typed(paper, asked):
    commands = [*paper.to_dict()["acceptance"], *asked["acceptance"]]
    assert len(commands) > 6
    for command in commands:
        program, verb, *words = shlex.split(command.partition(" > ")[0])
        assert program == "rigright"
        assert verb_parser(verb, "en").read(words)


def test_risks_name_bands_and_what_nobody_said(paper, planned):
    data = paper.to_dict()
    total = data["cost"]["ways"][0]["total_usd"]
    slow = planned["plans"][0]["figures"]["output_tok_per_s"]["low"]
    for values in (
        (f"{slow:.2g} tok/s",),
        tuple(show_money(total[end], "USD") for end in ("low", "high")),
        ("1,024", "2,048"),  # lengths that were assumed
        ("TTFT", "5 s"),  # the limit that was assumed
    ):
        assert any(all(value in risk for value in values) for risk in data["risks"]), values
    new = rig.report("qwen3-32b", on="2x rtx 5090", mode="chat", lang="en").to_dict()
    used, unused = (
        [risk for risk in risks if not re.search(r"\d", risk)] for risks in (data["risks"], new["risks"])
    )
    assert (len(used), len(unused)) == (1, 0), "used cards carry no warranty"


def test_the_bill_holds_the_cpu_and_memory_that_the_machine_names():
    asked = {"on": "rtx 4090 + 64gb ddr5-6000 + 7950x", "mode": "chat", "lang": "en"}
    data = rig.report("gpt-oss-120b", **asked).to_dict()
    items = {one["kind"]: one for one in data["order"]["variants"][0]["items"]}
    assert items["cpu"]["name"] == "AMD Ryzen 9 7950X"
    assert items["ram"]["name"].startswith("32 GB DDR5")
    assert items["ram"]["count"] == 2


def test_one_machine_has_one_price_among_the_options(paper):
    prices = {
        one["figures"]["usd"]["value"]
        for one in paper.to_dict()["options"]
        if one["machine"] == "2x RTX 3090"
    }
    assert len(prices) == 1


def test_risks_of_a_rented_machine_are_those_of_its_rent():
    made = rig.report("qwen3-32b", users=50, rent=True, cloud="aws", lang="en")
    data = made.to_dict()
    way = next(one for one in data["cost"]["ways"] if one["kind"] == "rent")
    low, high = (show_money(way["total_usd"][end], "USD") for end in ("low", "high"))
    assert any(low in risk and high in risk for risk in data["risks"])
    assert any("aws" in risk.lower() for risk in data["risks"]), "a longer contract costs less"
    assert "--" not in "".join(data["risks"])


def test_what_nothing_meets_is_named():
    wish = {"users": 64, "ttft": "500ms", "tpot": "25ms", "budget": "5000usd", "lang": "en"}
    wish |= {"on": "4x rtx 4090"}
    risks = rig.report("llama-3.1-70b", **wish).to_dict()["risks"]
    late = next(risk for risk in risks if risk.startswith("TPOT"))
    reached, limit = map(float, re.findall(r"([\d.]+) ms", late))
    assert reached > limit == 25
    assert any("$5,000" in risk for risk in risks)


def test_nothing_that_fits_is_not_to_be_signed():
    found = rig.report("llama-3.1-8b", on="rtx 4090", buy=True, users=4, budget="500usd", lang="en")
    assert str(found).startswith("✗")
    assert not found.to_dict()["fits"]


def test_a_machine_that_is_rented_has_nothing_to_order():
    found = rig.report("llama-3.1-70b", on="4x h100", rent=True, users=32, lang="en").to_dict()
    assert found["options"][0]["how"] == "rent"
    assert found["order"] is None


def test_a_machine_that_is_there_is_not_paid_again():
    found = rig.report("llama-3.1-8b", own="rtx 4090", lang="en")
    data = found.to_dict()
    assert "1x RTX 4090" in data["verdict"]
    assert {way["kind"] for way in data["cost"]["ways"]} & {"own", "buy"} == {"own"}
    (own,) = (way for way in data["cost"]["ways"] if way["kind"] == "own")
    assert own["up_front_usd"]["value"] == 0
    assert data["order"] is None


def test_one_training_run_is_not_priced_by_years():
    found = rig.report("llama-3.1-8b", mode="finetune", method="lora", samples="50k", rent=True, lang="en")
    (way,) = (one for one in found.to_dict()["cost"]["ways"] if one["kind"] == "rent")
    assert len(re.findall(r"\$[\d.,]+", str(found).splitlines()[0])) == 2, "an hour, and one run"
    assert way["usd_per_run"]["value"] > 0


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in {"src", "href"}]
        self.found += [tag] if tag in {"script", "link", "img", "iframe"} else []


def test_the_document_asks_nobody_and_prints(saved, tmp_path, capsys):
    file = tmp_path / "paper.html"
    assert main(["report", saved(), "--out", str(file), "--lang", "en"]) == 0
    said = capsys.readouterr().out
    assert "2x RTX 3090" in said
    assert str(file) in said.replace("\n", "").replace("  ", "")
    html = file.read_text(encoding="utf-8")
    links = Links()
    links.feed(html)
    assert links.found == []
    assert "url(" not in html
    assert "@media print" in html
    assert "<svg" in html
    assert "<body class=paper>" in html
    assert "--" not in re.sub(
        r"<(style|pre)>.*?</\1>|<!--", "", html, flags=re.DOTALL
    )  # options of a command


def test_the_figures_of_millions_stand_inside_the_picture():
    """Beside the axis there is room for its longest number."""
    shown = rig.cost("64x h100", lang="en").to_html()
    left, longest = (
        int(re.search(r'viewBox="-(\d+) ', shown)[1]),
        max(re.findall(r'class="end">([\d,]+)<', shown), key=len),
    )
    assert len(longest) >= len("1,000,000")
    assert left >= 6 + 7 * len(longest)


def test_in_chinese_the_headings_and_our_sentences_are_chinese(saved, capsys):
    assert main(["report", saved(), "--lang", "zh", "--width", "200"]) == 0
    out = capsys.readouterr().out
    for said in ("购买 2x RTX 3090", "备选方案", "风险", "采购清单", "验收测试"):
        assert said in out


def test_foreign_text_stays_text(saved, planned):
    plan = planned["plans"][0] | {"machine": "<script>alert(1)</script>", "notes": ["<b>\x1b[2J"] * 99}
    shown = rig.report(saved(plans=[plan], model="<i>m</i>"), lang="en").to_html()
    assert "<script>" not in shown
    assert "<b>" not in shown.split("</style>")[1].replace("<b>A</b>", "").replace("<b>B</b>", "").replace(
        "<b>C</b>", ""
    )
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    "changed",
    [
        {"plans": 5},
        {"plans": []},
        {"plans": [3]},
        {"wish": None},
        {"plans": [{"chip": 7}]},
        {"plans": [[]], "nearest": 1},
    ],
)
def test_a_file_that_is_no_plan_is_refused(saved, changed):
    try:
        found = rig.report(saved(**changed), lang="en")
    except DataError as error:
        assert "plan.json" in str(error)  # noqa: PT017 - or it is made of what is there
    else:
        assert str(found)


@pytest.mark.parametrize(
    "torn", [{"figures": {"usd": {"value": "x"}}}, {"supply": 3}, {"figures": None, "work": []}]
)
def test_what_a_plan_does_not_say_is_left_open(saved, planned, torn):
    found = rig.report(saved(plans=[planned["plans"][0] | torn]), lang="en")
    assert "2x RTX 3090" in str(found).splitlines()[0]


def test_wrong_asks(saved, tmp_path, monkeypatch):
    file = saved()
    with pytest.raises(AskError, match="--concurrency"):
        rig.report(file, users=3)
    with pytest.raises(MissingError):
        rig.report(str(tmp_path / "nosuch.json"))
    with pytest.raises(AskError, match=r"\.docx"):
        rig.report(file, out=str(tmp_path / "paper.docx"))
    monkeypatch.setattr(browser, "find_browser", lambda: None)
    with pytest.raises(MissingError, match="Chromium") as error:
        rig.report(file, out=str(tmp_path / "paper.pdf"))
    assert error.value.__notes__


@pytest.mark.live
@pytest.mark.skipif(browser.find_browser() is None, reason="no Chromium here")
def test_a_browser_prints_it(saved, tmp_path):
    file = tmp_path / "paper.pdf"
    rig.report(saved(), out=str(file), lang="zh")
    made = file.read_bytes()
    assert made.startswith(b"%PDF")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", made)) <= 6
