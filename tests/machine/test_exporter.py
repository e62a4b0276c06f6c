"""What Prometheus reads: complete, well formed, no old readings as new ones; by a server nobody can hurt."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moments import BEGAN_S, card, moment, ticks

from rigright.base.errors import AskError, MissingError
from rigright.base.words import CHINESE, sentences
from rigright.machine.device import Fabric, Program, Slice
from rigright.machine.exporter.metric import chosen, figure, metrics
from rigright.machine.exporter.page import Pages
from rigright.machine.exporter.programs import MOST, Owners, job_of
from rigright.machine.exporter.server import ListenAddress, MetricsServer, read_place, read_token
from rigright.machine.exporter.tally import MetricsTally, WatchSettings, reasons
from rigright.machine.nvml.codes import RECOVERIES
from rigright.machine.pci import pci_key
from rigright.machine.system import Event
from rigright.machine.tick import Activity, DeviceTick, HostTick, LinkTick
from rigright.machine.world import World

prometheus = pytest.importorskip("prometheus_client.parser", reason="prometheus-client is not installed")
openmetrics = pytest.importorskip("prometheus_client.openmetrics.parser")
choose_encoder = pytest.importorskip("prometheus_client.exposition").choose_encoder
write_classic = pytest.importorskip("prometheus_client.exposition").generate_latest
write_open = pytest.importorskip("prometheus_client.openmetrics.exposition").generate_latest
as_go_writes = pytest.importorskip("prometheus_client.utils").floatToGoString


def tally(tmp_path, **settings_):
    return MetricsTally(World(root=tmp_path), WatchSettings(**settings_), clock=lambda: 0.0)


def read(found, *, dcgm=False, accept=""):
    """Samples of a page: name -> {labels: value}, as prometheus-client's own parser reads them."""
    body, kind = Pages(found, dcgm=dcgm).page(accept)
    parse = openmetrics if "openmetrics" in kind else prometheus
    samples = {}
    for family in parse.text_string_to_metric_families(body.decode()):
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            assert labels not in samples.get(sample.name, {}), "one sample is told twice"
            samples.setdefault(sample.name, {})[labels] = sample.value
    return samples


def of(samples, name, **labels):
    """The one value of a metric whose labels hold these."""
    (value,) = (value for key, value in samples[name].items() if labels.items() <= dict(key).items())
    return value


# --- the table


def test_every_reading_of_a_card_and_of_the_host_is_a_metric():
    fields_of = {}
    for one in metrics():
        fields_of.setdefault(one.of, set()).add(one.field)
    told = fields_of["card"] | fields_of["device"] | {"links", "fabric", "slices", "activity"}
    told |= {"index", "uuid", "name", "vendor", "pci", "programs", "slowed_by"}  # labels, or told otherwise
    assert {one.name for one in fields(DeviceTick)} - told == set()
    assert {one.name for one in fields(LinkTick)} == fields_of["link"] | {"index"}
    assert {one.name for one in fields(Activity)} == fields_of["activity"] | {"gpu_instance"}
    assert {one.name for one in fields(HostTick)} == fields_of["host"] | fields_of["host_sum"]
    assert all(name.endswith("_per_s") for name in fields_of["host_sum"]), "rates are summed"


def test_the_table_keeps_to_the_customs_of_prometheus():
    for one in metrics():
        assert one.name.startswith("rigright_")
        assert one.name.endswith("_total") == (one.kind == "counter")
        assert one.kind in {"gauge", "counter"}
        assert (one.dcgm is None) == (one.dcgm_factor is None)
        assert one.help in sentences(CHINESE)
        if one.unit and " " not in one.unit:
            assert one.unit in one.name.removesuffix("_total").split("_")[-1:]
    names = [one.name for one in metrics()]
    assert len(names) == len(set(names))


def test_no_metric_has_a_pid_among_its_labels():
    known = (
        "gpu uuid name vendor state reason code port counter source link gpu_instance compute_instance "
        "profile program user job kind trait version"
    )
    assert {label for one in metrics() for label in one.labels} == {*known.split()}


# --- the page


PORT = {
    "rate": "400 Gb/sec (4X NDR)",
    "state": "4: ACTIVE",
    "phys_state": "5: LinkUp",
    "link_layer": "InfiniBand",
    "counters/symbol_error": "7",
    "counters/link_downed": "255",
}


def ported(tmp_path, **told):
    """A port of InfiniBand below a root."""
    at = tmp_path / "sys/class/infiniband/mlx5_0/ports/1"
    for name, text in (PORT | told).items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_text(text + "\n")


def metered(tmp_path):
    """The kernel's power meter below a root."""
    at = tmp_path / "sys/class/hwmon/hwmon0"
    at.mkdir(parents=True)
    (at / "name").write_text("power_meter\n")
    (at / "power1_average").write_text("812000000\n")


def test_ports_tell_their_state_rate_and_errors_and_are_read_now_and_then(tmp_path):
    ported(tmp_path)
    found = tally(tmp_path)
    found.add(moment(0, devices=()))
    port = {"port": "mlx5_0/1", "kind": "infiniband"}
    samples = read(found)
    assert of(samples, "rigright_port_up", **port) == 1
    assert of(samples, "rigright_port_rate_bytes_per_second", **port) == 50e9
    assert of(samples, "rigright_port_errors_total", counter="symbol_error", **port) == 7
    ported(tmp_path, state="1: DOWN", phys_state="2: Polling")
    found.add(moment(1, devices=()))
    assert of(read(found), "rigright_port_up", **port) == 1
    found.add(moment(100, devices=()))
    assert of(read(found), "rigright_port_up", **port) == 0


def test_every_metric_is_on_the_page_of_a_whole_machine(tmp_path):
    ported(tmp_path)
    metered(tmp_path)
    found = tally(tmp_path, differs=lambda: ("driver",))
    whole = {one.name: 0.5 for one in fields(HostTick)}
    links = tuple(
        LinkTick(index=index, is_up=index > 0, rx_bytes=2e9, tx_bytes=1e9, errors=(("replay", index),))
        for index in range(2)
    )
    done = dict.fromkeys((one.name for one in fields(Activity) if one.name != "gpu_instance"), 0.25)
    cut = Slice(
        gpu_instance=5, compute_instance=0, profile="2g.20gb", mem_used_bytes=1e9, mem_total_bytes=2e9
    )
    more = {
        "links": links,
        "fabric": Fabric(state="in progress", health="unhealthy"),
        "slices": (cut,),
        "activity": (Activity(**done), Activity(gpu_instance=5, **done | {"sm_share": 0.75})),
        "mem_c": 70.0,
        "fan_share": 0.4,
        "pcie_rx_bytes_per_s": 1e9,
        "pcie_tx_bytes_per_s": 1e9,
    }
    for n in range(3):
        found.add(moment(n, devices=(card(0, n, **more), card(1, n, **more)), host=HostTick(**whole)))
    found.add_events([Event(kind="xid", text="x", code=31, pci="0000:10:00")])
    found._asks_power.join()  # it is asked beside the moments
    samples = read(found)
    assert {one.name for one in metrics()} == set(samples)
    assert of(samples, "rigright_host_power_watts", source="sensor") == 812
    assert of(samples, "rigright_gpu_power_watts", gpu="1") == card(1, 2).power_w
    assert of(samples, "rigright_gpu_xids_total", gpu="0", code="31") == 1
    assert [of(samples, "rigright_gpu_nvlink_up", gpu="1", link=link) for link in "01"] == [0, 1]
    assert of(samples, "rigright_gpu_nvlink_received_bytes_total", gpu="0", link="1") == 2e9
    assert of(samples, "rigright_gpu_nvlink_errors_total", gpu="0", link="1", kind="replay") == 1
    assert of(samples, "rigright_gpu_fabric_state", gpu="1", state="in progress") == 1
    assert of(samples, "rigright_gpu_fabric_state", gpu="1", state="completed") == 0
    assert of(samples, "rigright_gpu_fabric_healthy", gpu="1") == 0
    assert of(samples, "rigright_gpu_sm_active_ratio", gpu="0") == 0.25
    assert of(samples, "rigright_mig_sm_active_ratio", gpu="0", gpu_instance="5") == 0.75
    assert of(samples, "rigright_mig_memory_used_bytes", gpu="0", profile="2g.20gb") == 1e9
    assert of(samples, "rigright_gpu_last_xid", gpu="0") == 31
    assert of(samples, "rigright_baseline_differs", trait="driver") == 1
    assert of(samples, "rigright_gpu_last_xid", gpu="1") == 0


@given(st.lists(ticks, min_size=1, max_size=4))
def test_whatever_a_machine_tells_the_page_can_be_read(found):
    seen = MetricsTally(World(), WatchSettings(), clock=lambda: 0.0)
    for tick in found:
        seen.add(tick)
    for accept in ("", "application/openmetrics-text; version=1.0.0"):
        samples = read(seen, dcgm=True, accept=accept)
        assert len(samples["rigright_gpu_up"]) == len(found[-1].devices) if found[-1].devices else True


def test_a_card_that_is_lost_shows_that_and_no_readings(tmp_path):
    found = tally(tmp_path)
    found.add(moment(0))
    found.add(moment(1, devices=(card(0, 1), card(1, 1, state="lost"))))
    samples = read(found, dcgm=True)
    assert of(samples, "rigright_gpu_up", gpu="1") == 0
    assert of(samples, "rigright_gpu_state", gpu="1", state="lost") == 1
    assert len(samples["rigright_gpu_power_watts"]) == 1
    assert len(samples["DCGM_FI_DEV_POWER_USAGE"]) == 1
    assert (of(samples, "rigright_gpus_seen"), of(samples, "rigright_gpus_expected")) == (1, 2)


def test_a_card_on_the_bus_that_no_driver_shows_is_expected(tmp_path):
    found = tally(tmp_path)
    found.add(moment(0, cards=7, on_bus=8))
    samples = read(found)
    assert of(samples, "rigright_gpus_expected") == 8
    assert of(samples, "rigright_gpus_seen") == 7


def test_old_readings_are_told_by_their_age_alone(tmp_path):
    found = tally(tmp_path)
    found.add(moment(0, devices=(card(0, state="stale", age_s=42.0),)))
    samples = read(found)
    assert of(samples, "rigright_gpu_reading_age_seconds") == 42
    assert "rigright_gpu_busy_ratio" not in samples


def test_a_collector_that_hangs_is_down(tmp_path):
    now = [0.0]
    found = MetricsTally(World(root=tmp_path), WatchSettings(every_s=1.0), clock=lambda: now[0])
    assert of(read(found), "rigright_collector_up") == 0
    found.add(moment(0))
    now[0] = 2.0
    assert of(read(found), "rigright_collector_up") == 1
    now[0] = 5.0
    assert of(read(found), "rigright_collector_up") == 0
    assert of(read(found), "rigright_collected_timestamp_seconds") == BEGAN_S


def test_brakes_add_up_in_seconds_by_reason(tmp_path):
    found = tally(tmp_path)
    for n in range(11):
        found.add(moment(n, 1, devices=(card(0, slowed_by=("hw_thermal", "idle") if n > 4 else ()),)))
    samples = read(found)
    assert of(samples, "rigright_gpu_slowed_seconds_total", reason="hw_thermal") == 6
    assert of(samples, "rigright_gpu_slowed_seconds_total", reason="sw_power_cap") == 0
    told = {dict(key)["reason"] for key in samples["rigright_gpu_slowed_seconds_total"]}
    assert told == set(reasons())
    assert "idle" not in told


def test_a_long_sleep_is_no_brake(tmp_path):
    found = tally(tmp_path)
    found.add(moment(0, devices=(card(0, slowed_by=("hw_thermal",)),)))
    found.add(moment(9999, devices=(card(0, slowed_by=("hw_thermal",)),)))
    assert of(read(found), "rigright_gpu_slowed_seconds_total", reason="hw_thermal") == 60


def test_energy_is_summed_where_a_card_does_not_count_it(tmp_path):
    found = tally(tmp_path)
    for n in range(11):
        found.add(moment(n, devices=(card(0, energy_j=None, power_w=300.0), card(1, n))))
    samples = read(found, dcgm=True)
    assert of(samples, "rigright_gpu_energy_joules_total", gpu="0") == 3000
    assert of(samples, "rigright_gpu_energy_joules_total", gpu="1") == card(1, 10).energy_j
    assert of(samples, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", gpu="1") == card(1, 10).energy_j * 1000


def test_names_of_nvidias_exporter_have_its_units_and_labels(tmp_path):
    found = tally(tmp_path)
    found.add(moment(0, 1))
    samples = read(found, dcgm=True)
    ((labels, used),) = samples["DCGM_FI_DEV_FB_USED"].items()
    assert used == card(0).mem_used_bytes / 2**20
    assert dict(labels) == {
        "gpu": "0",
        "UUID": "GPU-00000000",
        "device": "nvidia0",
        "modelName": card(0).name,
    }
    assert of(samples, "DCGM_FI_DEV_GPU_UTIL") == 50
    assert of(samples, "DCGM_FI_DEV_SM_CLOCK") == pytest.approx(1980)
    assert not any(name.startswith("DCGM") for name in read(found))


@pytest.mark.parametrize("action", RECOVERIES)
def test_what_the_driver_asks_for_is_a_number(tmp_path, action):
    found = tally(tmp_path)
    found.add(moment(0, devices=(card(0, recovery=action),)))
    assert of(read(found), "rigright_gpu_recovery_action") == RECOVERIES.index(action)


def test_a_flood_of_xids_makes_no_flood_of_series(tmp_path):
    found = tally(tmp_path)
    found.add(moment(0, 1))
    found.add_events(Event(kind="xid", text="", code=code, pci="0000:10:00.0") for code in range(5000))
    assert len(read(found)["rigright_gpu_xids_total"]) < 100
    assert of(read(found), "rigright_events_total", kind="xid") == 5000


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("0000:19:00.0", "00000000:19:00", True),
        ("0000:19:00", "19:00.0", True),
        ("0000:19:00.0", "0001:19:00.0", False),
        ("0000:19:00.0", None, False),
    ],
)
def test_one_place_has_several_spellings(one, other, same):
    assert (pci_key(one) == pci_key(other)) is same


# --- its text, against prometheus-client, which writes the same from what it reads


class Again:
    """What prometheus-client reads of a page, as it wants it to write it."""

    def __init__(self, body, *, is_open):
        parse = openmetrics if is_open else prometheus
        self.families = list(parse.text_string_to_metric_families(body.decode()))

    def collect(self):
        return self.families


OPEN = "application/openmetrics-text; version=1.0.0"
CARDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\x85\x1c\x1d\x1e\x0b\x0c\u2028\u2029"), max_size=9
)


@pytest.mark.parametrize("dcgm", [False, True])
@given(found=st.lists(ticks, min_size=1, max_size=2), name=CARDS, uuid=CARDS)
def test_the_page_is_byte_for_byte_what_prometheus_client_writes(found, name, uuid, dcgm):
    seen = MetricsTally(World(), WatchSettings(), clock=lambda: 0.0)
    for tick in found:
        odd = (card(0, name=name, uuid=uuid, energy_j=12345678.9),) if tick is found[-1] else ()
        seen.add(replace(tick, devices=(*odd, *tick.devices)))
    pages = Pages(seen, dcgm=dcgm)
    for is_open, write in ((True, write_open), (False, write_classic)):
        body, _ = pages.page(OPEN if is_open else "")
        assert write(Again(body, is_open=is_open)) == body


@given(st.floats())
def test_figures_are_written_as_prometheus_client_does(value):
    assert figure(value) == as_go_writes(value)


@given(value=st.integers(-(2**70), 2**70) | st.booleans())
def test_whole_numbers_and_flags_are_figures_too(value):
    assert figure(value) == as_go_writes(value)


ASKED = [
    "",
    "*/*",
    "text/plain",
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    "text/plain;version=1.0.0;escaping=underscores",
    "application/openmetrics-text",
    "application/openmetrics-text; version=0.0.1",
    (
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
        "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    ),
    (
        "application/openmetrics-text;version=1.0.0;escaping=underscores;q=0.6,"
        "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,*/*;q=0.2"
    ),
    "application/json, text/html;q=0.9",
    ";;,=,version=1.0.0",
]


@pytest.mark.parametrize("accept", ASKED)
def test_a_reader_gets_the_form_that_prometheus_client_would_choose(accept):
    assert chosen(accept).content_type == choose_encoder(accept)[1]


@given(st.text())
def test_no_wish_of_a_reader_is_too_odd(accept):
    assert chosen(accept).content_type.startswith(("text/plain", "application/openmetrics-text"))


def test_cards_that_change_leave_nothing_behind(tmp_path):
    found = tally(tmp_path)
    pages = Pages(found)
    for n in range(50):
        found.add(moment(n, devices=(card(0, n, uuid=f"GPU-{n}"),)))
        body, _ = pages.page()
        assert f'uuid="GPU-{n}"'.encode() in body
        assert f'uuid="GPU-{n - 1}"'.encode() not in body


# --- whose the programs are


CGROUPS = {
    "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0": "slurm:4711",
    "4:memory:/slurm/uid_1000/job_99/step_batch": "slurm:99",
    "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3f2a1c00_1111_4222_8333_123456789abc.slice/"
    "cri-containerd-" + "ab" * 32 + ".scope": "pod:3f2a1c00-1111-4222-8333-123456789abc",
    "12:cpu:/docker/" + "cd" * 32: "container:cdcdcdcdcdcd",
    "0::/system.slice/docker-" + "ef" * 32 + ".scope": "container:efefefefefef",
    "0::/machine.slice/libpod-" + "12" * 32 + ".scope/container": "container:121212121212",
    "0::/system.slice/vllm.service": "unit:vllm.service",
    "0::/user.slice/user-1000.slice/session-3.scope": "",
    "0::/": "",
    "": "",
}


@pytest.mark.parametrize("told", CGROUPS)
def test_the_job_of_a_process_is_read_from_its_control_group(tmp_path, told):
    place = tmp_path / "proc" / "7"
    place.mkdir(parents=True)
    (place / "cgroup").write_text(told)
    assert job_of(World(root=tmp_path), 7) == CGROUPS[told]


def test_many_programs_are_few_series_and_no_byte_is_lost(tmp_path):
    programs = tuple(
        Program(pid=n, name=f"/opt/bin/tool{n} --x", user="ada", mem_bytes=float(n)) for n in range(500)
    )
    shares = Owners(World(root=tmp_path)).shares([card(0, programs=programs), card(1, programs=programs[:3])])
    assert len({owner for _, owner in shares}) == MOST + 1
    assert sum(held for held, _ in shares.values()) == sum(range(500)) + 3
    assert sum(count for _, count in shares.values()) == 503
    assert any(owner.program == "tool499" for _, owner in shares)


def test_owners_forget_what_has_ended(tmp_path):
    owners = Owners(World(root=tmp_path))
    for n in range(100):
        owners.shares([card(0, programs=(Program(pid=n, name="x"),))])
    assert len(owners._known) == 1


# --- the server


@pytest.fixture
def server(tmp_path):
    found = tally(tmp_path)
    found.add(moment(0, 8))
    opened = MetricsServer(ListenAddress(port=0), Pages(found).page, is_up=lambda: found.is_up)
    yield opened
    opened.close()


def get(server, path="/metrics", **headers):
    request = urllib.request.Request(f"http://{server.place}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def raw(server, sent, *, wait_s=3.0):
    """Bytes to the server and whatever it says."""
    with socket.create_connection((server.place.host, server.place.port), timeout=wait_s) as connection:
        try:
            connection.sendall(sent)
            said = b""
            while piece := connection.recv(65536):
                said += piece
        except OSError:
            return b""
        return said


def test_a_scrape(server):
    code, body = get(server)
    assert code == 200
    assert body.count("rigright_gpu_busy_ratio{") == 8
    assert get(server, "/healthz")[0] == 200
    assert get(server, "/")[0] == 200
    assert get(server, "/../../etc/passwd")[0] == 404
    assert get(server, "/metrics?x=1")[0] == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /metrics\r\n\r\n",
        b"\x00\xff\xfe" * 50 + b"\r\n\r\n",
        b"GET " + b"/" * 30_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 9000 + b"\r\n",
        b"\r\n\r\n",
    ],
)
def test_odd_requests_are_refused_and_the_next_is_served(server, sent):
    said = raw(server, sent)
    assert said == b"" or said.split()[1] in {b"400", b"405"}
    assert get(server)[0] == 200


def test_a_page_of_the_web_that_lies_about_names_reads_nothing(server):
    assert get(server, Host="evil.example")[0] == 403
    assert get(server, Host="localhost:9477")[0] == 200
    assert get(server, Host="[::1]:9477")[0] == 200


def test_slow_callers_hold_up_nobody(server):
    slow = [socket.create_connection((server.place.host, server.place.port)) for _ in range(20)]
    try:
        for one in slow:
            one.sendall(b"GET /met")
        assert get(server)[0] == 200
    finally:
        for one in slow:
            one.close()


def test_too_many_callers_are_told_so_and_leave_nothing(server):
    held = [socket.create_connection((server.place.host, server.place.port)) for _ in range(60)]
    soon(lambda: raw(server, b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 503"))
    for one in held:
        one.close()
    soon(lambda: get(server)[0] == 200)


def soon(is_so):
    """Wait until it is so, with much patience."""
    until = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_many_at_once_are_all_served(server):
    with ThreadPoolExecutor(16) as pool:
        codes = list(pool.map(lambda _: get(server)[0], range(64)))
    assert set(codes) == {200}


def test_a_page_that_cannot_be_made_ends_no_server():
    def page(_accept):
        raise ZeroDivisionError

    server = MetricsServer(ListenAddress(port=0), page)
    try:
        assert get(server)[0] == 500
        assert get(server, "/healthz")[0] == 200
    finally:
        server.close()


def test_beyond_loopback_a_token_is_asked_for(tmp_path):
    found = tally(tmp_path)
    with pytest.raises(AskError, match="--token"):
        MetricsServer(ListenAddress(host="0.0.0.0", port=0), Pages(found).page)  # noqa: S104
    anywhere = ListenAddress(host="0.0.0.0", port=0)  # noqa: S104
    server = MetricsServer(anywhere, Pages(found).page, token="a" * 20, is_up=lambda: False)
    server.place = replace(server.place, host="127.0.0.1")
    try:
        assert get(server)[0] == 401
        assert get(server, Authorization="Bearer " + "b" * 20)[0] == 401
        assert get(server, Authorization="Basic " + "a" * 20)[0] == 401
        assert get(server, Authorization="Bearer " + "a" * 20, Host="n1.example")[0] == 200
        assert get(server, "/healthz")[0] == 503  # no reading yet
    finally:
        server.close()


def test_a_port_in_use_is_told_of(server):
    with pytest.raises(MissingError, match=str(server.place)):
        MetricsServer(server.place, lambda _: (b"", ""))


def test_a_closed_server_gives_its_port_back(tmp_path):
    found = tally(tmp_path)
    first = MetricsServer(ListenAddress(port=0), Pages(found).page)
    first.close()
    MetricsServer(first.place, Pages(found).page).close()


@pytest.mark.parametrize(
    ("text", "host", "port", "loopback"),
    [
        ("9477", "127.0.0.1", 9477, True),
        ("localhost:80", "localhost", 80, True),
        (":9477", "0.0.0.0", 9477, False),  # noqa: S104
        ("[::1]:1", "::1", 1, True),
        ("[::]:1", "::", 1, False),
        ("10.0.0.5:9477", "10.0.0.5", 9477, False),
        ("127.8.8.8:1", "127.8.8.8", 1, True),
    ],
)
def test_an_address_is_read(text, host, port, loopback):
    place = read_place(text)
    assert (place.host, place.port, place.is_loopback) == (host, port, loopback)


@pytest.mark.parametrize("text", ["", "x", "host:", "99999", "-1", "::1:80", "1.2.3.4", "80:x"])
def test_a_wrong_address_is_told_of(text):
    with pytest.raises(AskError, match="--serve"):
        read_place(text)


@pytest.mark.parametrize("text", ["", "short", "with a space in it and long", "ä" * 30, "two\nlines" * 5])
def test_a_weak_token_is_refused(text):
    with pytest.raises(AskError, match="16"):  # so many letters at least
        read_token(text)
    assert read_token("k" * 16)


@pytest.mark.live
def test_promtool_finds_no_fault_with_the_page(tmp_path):
    from debian import needs

    needs("prometheus")
    found = tally(tmp_path)
    for n in range(3):
        found.add(moment(n, 8))
    page = Pages(found).page()[0]
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=page, capture_output=True, check=False, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, b"")
