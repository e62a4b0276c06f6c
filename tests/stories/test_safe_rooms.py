"""What hostile folders, servers, files and full disks once did: each of them a class, with its test."""

from __future__ import annotations

import errno
import gzip
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.error
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from desk import quiet
from rigright.arch.read import read_config
from rigright.arch.sources import module, zoo
from rigright.base import bounded as limits
from rigright.base import files
from rigright.base import http as bounded
from rigright.base.bounded import bounded_json_at
from rigright.base.errors import DataError, RigError
from rigright.machine.bench import environment
from rigright.machine.bench.child import HOME, START
from rigright.machine.bench.parts import endpoint
from rigright.machine.opened import archive, read_machine
from rigright.machine.remote.landing import AGENT
from rigright.machine.remote.parcel import STARTER
from spoken import shown, values

RIG = (sys.executable, "-m", "rigright")
CARDS = "".join(f"GPU {n}: NVIDIA A100-SXM4-80GB (UUID: GPU-{n}1d5c7e2-aaaa)\n" for n in range(2))
LINKED = CARDS.replace(")\n", ")\n\t Link 0: 25 GB/s\n\t Link 1: 25 GB/s\n")


@pytest.mark.parametrize(
    "line",
    [
        [START, HOME],
        [environment._ASK],
        [STARTER],
        [AGENT, "{}"],
    ],
    ids=["bench child", "which python", "landing", "agent"],
)
def test_1_no_file_of_the_current_folder_is_run(tmp_path, line):
    for name in ("json", "numpy", "io", "runpy", "importlib", "dataclasses", "subprocess"):
        (tmp_path / f"{name}.py").write_text("open('planted', 'w')\nraise SystemExit(3)\n")
    subprocess.run(
        [sys.executable, "-c", *line], cwd=tmp_path, input=b"5\npass\n", capture_output=True, check=False
    )
    assert not (tmp_path / "planted").exists()


@contextmanager
def serving(answer):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answer(self)

        def log_message(self, *_):
            """Keep quiet."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # who asked has left
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@pytest.mark.parametrize("declared", [True, False])
def test_2_a_body_without_end_or_without_haste_is_refused(declared):
    def flood(asked):
        asked.send_response(200)
        if declared:
            asked.send_header("Content-Length", str(3 * 2**30))
        asked.end_headers()
        with suppress(OSError):  # the other side leaves
            while True:
                asked.wfile.write(bytes(2**20))

    with serving(flood) as url, pytest.raises(DataError) as error:
        bounded.fetched(url, most_bytes=2**20, limit_s=20, wait_s=5)
    assert values(error.value.sentence) == {"file": url, "limit": "1"}


def test_2_a_drip_ends_at_its_limit():
    def drip(asked):
        asked.send_response(200)
        asked.end_headers()
        with suppress(OSError):  # the other side leaves
            while not done.wait(0.05):
                asked.wfile.write(b"x")
                asked.wfile.flush()

    done = threading.Event()
    with serving(drip) as url:
        try:
            with pytest.raises(DataError):  # else it would never end
                bounded.fetched(url, most_bytes=2**20, limit_s=0.3, wait_s=60)
        finally:
            done.set()


@pytest.mark.parametrize(("elsewhere", "keys"), [(True, [None]), (False, ["Bearer secret"])])
def test_3_the_key_is_for_its_own_host(monkeypatch, elsewhere, keys):
    monkeypatch.setenv(endpoint.KEY, "secret")
    heard = []

    def hear(asked):
        heard.append(asked.headers.get("Authorization"))
        asked.send_response(200)
        asked.end_headers()
        asked.wfile.write(b'{"data": []}')

    def send_on(asked):
        if asked.path == "/v1/models":
            asked.send_response(302)
            asked.send_header("Location", f"{there}/other" if elsewhere else "/other")
            asked.end_headers()
        else:
            hear(asked)

    with serving(hear) as there, serving(send_on) as here:
        assert endpoint.models(f"{here}/v1") == {}
    assert heard == keys


def test_3_a_redirect_leads_to_no_file():
    def to_a_file(asked):
        asked.send_response(302)
        asked.send_header("Location", "file:///etc/passwd")
        asked.end_headers()

    with serving(to_a_file) as url, pytest.raises(urllib.error.HTTPError):
        bounded.fetched(url, most_bytes=99, limit_s=5, wait_s=5)


@pytest.mark.parametrize("chip", ["H100", "cpu", "h 100 sxm"])
def test_4_a_loosely_written_chip_is_no_crash(tmp_path, chip):
    head = "id,source,engine,model,chip,n_chips,weights,kv,mode,load,prompt_tok,output_tok,metric,value\n"
    figure = "decode_tok_s_per_user,120"
    row = f"a,mine,vllm,meta-llama/Meta-Llama-3-8B,{chip},1,bf16,bf16,single,1,0,512,{figure}\n"
    (tmp_path / "runs.csv").write_text(head + row)
    said = quiet(["calibrate", "--from", tmp_path / "runs.csv", "--out", tmp_path / "own.toml"])
    assert said.code in {0, 2, 3}


@pytest.mark.parametrize(
    "line",
    ["explain llama-3.1-8b --on 4090", "history", "doctor"],
)
@pytest.mark.parametrize("home", [None, "/" + "a" * 300])
def test_5_no_home_and_one_that_cannot_be_looked_at(monkeypatch, line, home):
    def unknown(*_):
        raise RuntimeError("Could not determine home directory.")

    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "RIGRIGHT_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    if home is None:
        monkeypatch.setattr(Path, "home", classmethod(unknown))
    else:
        monkeypatch.setenv("HOME", home)
    assert quiet(line.split()).code in {0, 4, 10, 20}


SMI = (
    "index, name, memory.total [MiB], memory.free [MiB], power.draw [W], utilization.gpu [%]\n"
    "0, NVIDIA H100 80GB HBM3, {total}, {free}, {watts}, {busy}\n"
)


@pytest.mark.parametrize(
    ("cells", "field"),
    [
        ({"total": "-81920 MiB"}, "mem_total_bytes"),
        ({"total": "0 MiB"}, "mem_total_bytes"),
        ({"free": "999999 MiB"}, "mem_free_bytes"),
    ],
)
def test_7_an_impossible_reading_is_unknown_and_said(cells, field):
    told = {"total": "81559 MiB", "free": "81000 MiB", "watts": "70 W", "busy": "3 %"} | cells
    machine = read_machine(SMI.format(**told).encode(), name="x")
    assert getattr(machine.devices[0], field) is None
    assert f"devices.0.{field}" in {one.what for one in machine.unseen}
    sound = read_machine(
        SMI.format(**(told | {"total": "81559 MiB", "free": "81000 MiB"})).encode(), name="x"
    )
    assert getattr(sound.devices[0], field) is not None
    assert not sound.unseen


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("simulate llama-3.1-8b --on h100 --users 4 --prompt-spread 1e300", " 1,000\n"),
        ("plan llama-3.1-8b --plans 1000000000", " 1,000\n"),
        ("plan llama-3.1-8b --draft-tokens 1000000000", " 1,024\n"),
        ("explain layers=1000000000,hidden=4096,heads=32,ffn=11008,vocab=32000 --on 4090", "1 to 2000"),
    ],
)
def test_7_and_10_absurd_counts_are_refused_with_what_is_possible(line, says):
    said = quiet(line.split())
    assert said.code == 2
    assert says in said.err


SHEET = (
    "index, name, memory.total [MiB], memory.free [MiB]\n"
    "0, NVIDIA H100 80GB HBM3, 81559 MiB, 81000 MiB\n1, NVIDIA H100 80GB HBM3, 81559 MiB, 9 MiB\n"
)
GAUDI = (
    "index, name, bus_id, temperature.aip [C], memory.total [MiB]\n"
    "0, HL-225, 0000:33:00.0, 40, 98304\n1, HL-225, 0000:9a:00.0, 41, 98304\n"
)


@pytest.mark.parametrize("text", [SHEET, GAUDI, SHEET.partition("\n")[2]], ids=["csv", "hl-smi", "bare"])
def test_8_a_sheet_said_again_has_the_same_cards(text):
    assert len(read_machine(text.encode(), name="x").devices) == 2
    assert len(read_machine((text * 50).encode(), name="x").devices) == 2


def spent_s(text):
    """Seconds of this process, the least of three times: no other program is counted."""
    times = []
    for _ in range(3):
        began_s = time.process_time()
        machine = read_machine(text.encode(), name="x")
        times.append(time.process_time() - began_s)
    assert len(machine.devices) == 2
    assert all(len(device.links or ()) in {0, 2} for device in machine.devices)
    return min(times)


@pytest.mark.parametrize("text", [CARDS, LINKED])
def test_8_cards_said_again_are_the_same_cards_and_take_as_long_each(text):
    """Eight times the text is eight times the work, and not sixty-four times."""
    assert spent_s(text * 400) < 25 * spent_s(text * 50)


def test_9_what_unpacks_to_a_flood_and_a_device_are_bounded(monkeypatch, tmp_path):
    assert archive._FLOOR_BYTES <= 2**28
    monkeypatch.setattr(archive, "_FLOOR_BYTES", 2**20)
    flood = gzip.compress(bytes(30 * 2**20), 1)
    with pytest.raises(RigError):
        read_machine(flood, name="x")
    assert quiet(["plan", "llama-3.1-8b", "--prices", "/dev/zero"]).code == 3
    assert quiet(["explain", "llama-3.1-8b", "--on", "4090", "--anchors", tmp_path]).code == 3


@pytest.mark.parametrize(
    "text", ["anchor = 5", "anchor = [5]", "[[anchor]]\nchip = 5\nsubject = 1", "a = " + "[" * 50_000]
)
def test_10_a_file_of_our_shape_with_wrong_types_is_a_sentence(tmp_path, text):
    (tmp_path / "own.toml").write_text(text)
    said = quiet(["explain", "llama-3.1-8b", "--on", "4090", "--anchors", tmp_path / "own.toml"])
    assert said.code == 3, said.err


def test_10_a_pipe_is_no_history(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert quiet(["history", "--file", tmp_path / "pipe"]).code == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
@pytest.mark.parametrize("line", ["--version", "look-up engines", "plan --help"])
def test_11_a_full_device_ends_in_5(line):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*RIG, *line.split()], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 5


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
def test_11_measure_keeps_the_command_s_code_where_stderr_is_full():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*RIG, "measure", "--", "sh", "-c", "exit 7"], stderr=full, check=False)
    assert done.returncode == 7


@pytest.mark.parametrize("line", ["probe --save {}", "probe --bundle {}", "doctor --fix-script {}"])
def test_11_a_full_disk_leaves_no_empty_file(monkeypatch, tmp_path, line):
    def full(path, _raw):
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.Path, "write_bytes", full)
    said = quiet(line.format(tmp_path / "kept").split())
    assert said.code == 5, said.err
    assert list(tmp_path.iterdir()) == []


def test_12_ctrl_c_while_loading_is_quiet(tmp_path):
    (tmp_path / "rigright_stop.py").write_text("")
    code = (
        "import sys, builtins\nreal = builtins.__import__\n"
        "def stop(name, *rest):\n"
        "    if name == 'rigright.faces.cli.main': raise KeyboardInterrupt\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = stop\nfrom rigright.__main__ import main\nsys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"")


@pytest.mark.parametrize(
    ("cell", "safe"),
    [
        ("=cmd|' /C calc'!A0", False),
        ("+1+1", False),
        ("-12.5", True),
        ("-", True),
        ("-a", False),
        ("a=b", True),
    ],
)
def test_12_a_spreadsheet_runs_no_cell(cell, safe):
    assert files.safe_cell(cell) == (cell if safe else f"'{cell}")


def test_12_requests_hold_no_formula(tmp_path):
    trace, out = tmp_path / "trace.csv", tmp_path / "out.csv"
    trace.write_text("request,arrival_s,prompt_tok,output_tok\n=cmd|x,0,10,5\n")
    said = quiet(["simulate", "llama-3.1-8b", "--on", "h100", "--trace", trace, "--out", out])
    assert said.code == 0, said.err
    names = [line.partition(",")[0] for line in out.read_text().splitlines()[1:]]
    assert len(names) == 1
    assert not names[0].startswith("=")


def test_12_predictions_hold_no_formula(tmp_path):
    runs, out = tmp_path / "runs.csv", tmp_path / "out.csv"
    runs.write_text(HEAD + ROW.format(id="=cmd|x", chips=1, load=1, value=120))
    assert quiet(["validate", runs, "--predictions", out]).code == 0
    assert out.read_text().splitlines()[1].startswith("'=cmd|x,")


def test_12_what_a_traced_module_started_ends_with_it(monkeypatch, tmp_path):
    (tmp_path / "net.py").write_text(
        "import subprocess, sys, time\n"
        "def make():\n"
        f"    one = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"    open({str(tmp_path / 'pid')!r}, 'w').write(str(one.pid))\n"
        "    time.sleep(60)\n"
    )
    code = f"import runpy; runpy.run_path({str(tmp_path / 'net.py')!r})['make']()"
    child = tmp_path / "child.py"
    child.write_text(code)
    monkeypatch.setattr(module, "CHILD", child)
    with pytest.raises(DataError) as error:
        module._run(tmp_path / "net.py", "make", inputs=[], python=sys.executable, limit_s=1.5)
    assert "1.5" in " ".join(shown(error.value.sentence)), shown(error.value.sentence)
    pid = int((tmp_path / "pid").read_text())
    for _ in range(50):
        if not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text():
            return
        time.sleep(0.05)
    os.kill(pid, 9)
    pytest.fail("the grandchild lives on")


HEAD = "id,source,engine,model,chip,n_chips,weights,kv,mode,load,prompt_tok,output_tok,metric,value\n"
ROW = (
    "{id},mine,vllm,meta-llama/Meta-Llama-3-8B,h100-sxm5-80gb,{chips},bf16,bf16,single,{load},0,512,"
    "decode_tok_s_per_user,{value}\n"
)


@pytest.mark.parametrize("bad", ["1e308", "9" * 5000, "nan", "", "-3"])
@pytest.mark.parametrize("column", ["chips", "load", "value"])
def test_6_a_bad_row_leaves_the_others_answered(tmp_path, bad, column):
    sound = {"chips": 1, "load": 1, "value": 120}
    runs = tmp_path / "runs.csv"
    runs.write_text(HEAD + ROW.format(id="a", **sound) + ROW.format(id="b", **(sound | {column: bad})))
    said = quiet(["validate", runs, "--json"])
    assert said.code == 0, said.err
    first = json.loads(said.out)["rows"][0]
    assert first["id"] == "a"
    assert first["predictions"][0]["predicted"] > 0


@pytest.mark.parametrize("users", ["1e308", "9" * 5000, "nan", "-1", "many"])
def test_6_a_bad_question_leaves_the_others_answered(tmp_path, users):
    (tmp_path / "grid.csv").write_text(f"model,on,users\nllama-3.1-8b,h100,8\nllama-3.1-8b,h100,{users}\n")
    said = quiet(["sweep", tmp_path / "grid.csv", "--workers", "1"])
    assert said.code == 0, said.err
    assert re.match(r"(!|\[!\]) 1 \w+ 2 ", said.out)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("deepseek-ai/DeepSeek-V3", {"moe_layer_freq": []}),
        ("deepseek-ai/DeepSeek-V3", {"moe_layers": "9" * 5000}),
    ],
)
def test_10_lists_of_a_config_may_be_anything(name, wrong):
    """Found by mutants."""
    with suppress(RigError):
        assert read_config(zoo.config(name) | wrong, "mutant").towers


def test_12_a_turn_whose_number_is_another_programs_is_taken(tmp_path):
    """The holder died, and its number was given to something that is no rig."""
    text = (Path(__file__).parents[2] / "rig").read_text()
    function = text[text.index("is_alive()") : text.index("refuse_folder()")]
    other = subprocess.Popen(["sleep", "30"])
    own = tmp_path / "rig"
    own.write_text("sleep 30\n")
    held = subprocess.Popen(["sh", str(own)])
    try:
        for process, alive in ((other, 1), (held, 0)):
            done = subprocess.run(
                ["sh", "-c", f"self=/x/rig\n{function}\nis_alive {process.pid}"], check=False
            )
            assert done.returncode == alive
    finally:
        for process in (other, held):
            process.kill()
            process.wait()


def test_9_what_is_read_only_in_part_is_no_clean_bill(monkeypatch, tmp_path):
    monkeypatch.setattr(archive, "_FLOOR_BYTES", 2**18)
    lines = "".join(
        f"Nov 23 10:00:0{n % 10} node1 kernel: [ 100.00000{n % 7}] usb 1-1: reset{' high-speed' * 150}\n"
        for n in range(250)
    )
    fault = "Nov 23 11:00:00 node1 kernel: [ 4000.000001] NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU lost\n"
    log = tmp_path / "kern.log.gz"
    log.write_bytes(gzip.compress((lines + fault).encode(), 1))
    said = quiet(["doctor", "--from", log])
    assert not {"✓", "[ok]"} & {*said.out.split()}
    assert log.name in "".join(said.out.split())
    for verb in ("diagnose", "upgrade"):
        said = quiet([verb, "--from", log])
        assert log.name in "".join(said.out.split()), said.out
        assert not {"✓", "[ok]"} & {*said.out.split()}
        assert json.loads(quiet([verb, "--from", log, "--json"]).out)["cut"] == [str(log)]


def test_9_lists_and_cells_without_end_take_little_memory(monkeypatch):
    assert limits.MOST_CONTAINERS <= 500_000, "each takes some hundred bytes"
    monkeypatch.setattr(limits, "MOST_CONTAINERS", 5_000)
    with pytest.raises(RigError):
        read_machine(b"[" + b"[]," * 10**4 + b"[]]", name="x")
    with pytest.raises(ValueError, match="5,000"):
        bounded_json_at("x " + "[" + "[]," * 10**4 + "[]]", 2)
    assert bounded_json_at("x " + "[" + "[]," * 10**3 + "[]]", 2)


@pytest.mark.parametrize("length", ["x", "-1", "9" * 5000, "1e3"])
def test_2_a_strange_length_is_no_crash(length):
    def answer(asked):
        asked.send_response(200)
        asked.send_header("Content-Length", length)
        asked.end_headers()
        asked.wfile.write(b"fine")

    with serving(answer) as url:
        assert bounded.fetched(url, most_bytes=9, limit_s=20, wait_s=5) == b"fine"


@pytest.mark.parametrize("word", ["rate 1e-300", "rate 1e300", "users nan"])
def test_7_a_figure_beyond_reason_is_refused(word):
    assert quiet(["simulate", "llama-3.1-8b", "--on", "h100", *f"--{word}".split()]).code == 2


FILES = (
    "plan llama-3.1-8b --on 4090 --prices {}",
    "compare 4090 5090 --for llama-3.1-8b --prices {}",
    "validate {}",
    "validate runs.csv --plan {}",
    "sweep {}",
    "simulate llama-3.1-8b --on 4090 --trace {}",
    "baseline --check {}",
    "bench --from {}",
    "calibrate --from {}",
    "build --check {}",
    "export vllm --from {}",
    "doctor --from {}",
    "doctor --for {}",
    "upgrade --from {}",
    "explain llama-3.1-8b --on 4090 --anchors {}",
)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("line", FILES)
def test_10_a_pipe_that_nobody_writes_to_holds_nothing_up(tmp_path, monkeypatch, line):
    monkeypatch.setattr(files, "NO_WRITER_S", 0.1)
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text("id,chip\n")
    done = quiet(line.format("pipe").split())
    assert done.code in {2, 3, 4}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("pieces", [[], [b"a,b\n"], [b"a,", b"b\n" * 40_000]])
def test_10_a_pipe_is_read_to_its_end_however_slowly_it_comes(tmp_path, pieces):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write():
        with pipe.open("wb", buffering=0) as opened:
            for piece in pieces:
                time.sleep(0.1)
                opened.write(piece)

    writer = threading.Thread(target=write)
    writer.start()
    assert files.read_bounded(pipe, 2**20) == b"".join(pieces)
    writer.join()
