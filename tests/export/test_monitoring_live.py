"""A watch on a played driver, scraped by a real Prometheus; its alert goes through a real Alertmanager."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from debian import needs
from fake_driver import Driver
from ports import free_ports
from rigright.export.targets import alerts as rules
from rigright.facts.monitoring import dashboard
from rigright.verbs.export import export, write

pytestmark = pytest.mark.live

PATIENCE_S = 60.0
QUIET = {  # exprs that a healthy machine has no samples of
    "rigright_gpu_sm_active_ratio",
    "rigright_mig_sm_active_ratio",
    "rigright_gpu_tensor_active_ratio",
    "rigright_host_power_watts",
    "rigright_gpu_xids_total",
    "rigright_gpu_slowed_seconds_total",
    "rigright_gpu_memory_temperature_celsius",
    "rigright_gpu_program_memory_bytes",
    "rigright_gpu_energy_joules_total",
    "rigright_host_memory_pressure_ratio",
    "rigright_host_io_pressure_ratio",
    "rigright_host_cpu_pressure_ratio",
    "rigright_host_disk_busy_ratio",
    "rigright_host_disk_read_bytes_total",
    "rigright_host_disk_write_bytes_total",
}


class Started:
    """Programs that were started here, and are stopped by their own process."""

    def __init__(self):
        self.processes = []

    def start(self, *argv, **more):
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more
        )
        self.processes.append(process)
        return process

    def stop(self):
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def until(ask, what):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with contextlib.suppress(urllib.error.URLError, OSError, KeyError, IndexError):
            found = ask()
            if found:
                return found
        time.sleep(0.3)
    pytest.fail(f"{what} did not come within {PATIENCE_S:.0f} s")


def fetch(url):
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - loopback
        return answer.read()


class Heard(BaseHTTPRequestHandler):
    """Keeps the alerts it is told of."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.alerts += json.loads(body)["alerts"]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    with watched(tmp_path_factory.mktemp("monitoring")) as found:
        yield found


@contextlib.contextmanager
def watched(folder):
    """A healthy machine and all that watches it, until it is no more needed."""
    needs("prometheus", "prometheus-alertmanager")
    driver = Driver.play("healthy_8xh100", folder)
    watch, metrics_db, manager, hook = free_ports(4)
    listener = HTTPServer(("127.0.0.1", hook), Heard)
    listener.alerts = []
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    made = export(
        "prometheus", watched=(f"127.0.0.1:{watch}",), alertmanagers=(f"127.0.0.1:{manager}",), every_s=1
    )
    made[rules.RULES] = re.sub(r'"for": "\d+[ms]"|for: "\d+[ms]"', 'for: "1s"', made[rules.RULES])
    write(made, str(folder / "config"))
    (folder / "alertmanager.yml").write_text(
        "route: {receiver: here, group_wait: 0s, group_interval: 1s}\n"
        f"receivers: [{{name: here, webhook_configs: [{{url: 'http://127.0.0.1:{hook}/'}}]}}]\n"
    )
    started = Started()
    try:
        env = {**os.environ, **driver.env, "RIGRIGHT_HOME": str(folder / "home")}
        started.start(
            sys.executable,
            "-m",
            "rigright",
            "watch",
            "--serve",
            str(watch),
            "--every",
            "500ms",
            "--no-history",
            env=env,
        )
        started.start(
            "prometheus-alertmanager", f"--config.file={folder}/alertmanager.yml",
            f"--storage.path={folder}/am", f"--web.listen-address=127.0.0.1:{manager}",
            "--cluster.listen-address=",
        )  # fmt: skip
        started.start(
            "prometheus", "--config.file=prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
            f"--web.listen-address=127.0.0.1:{metrics_db}", cwd=folder / "config",
        )  # fmt: skip
        metrics = f"http://127.0.0.1:{watch}/metrics"
        until(lambda: fetch(metrics), "the metrics")
        yield driver, f"http://127.0.0.1:{metrics_db}", listener, metrics
    finally:
        started.stop()
        listener.shutdown()
        listener.server_close()


def query(base, expr):
    answer = json.loads(fetch(f"{base}/api/v1/query?{urllib.parse.urlencode({'query': expr})}"))
    assert answer["status"] == "success"
    return answer["data"]["result"]


def test_every_query_of_the_dashboard_runs_and_shows_the_machine(stack):
    _, base, _, _ = stack
    until(lambda: query(base, "count_over_time(rigright_gpus_seen[1m]) > 3"), "a first sample")
    for row in dashboard():
        for panel in row.panels:
            for expr, _ in panel.exprs:
                found = query(base, expr.replace("$instance", ".*"))
                assert found or any(name in expr for name in QUIET), f"{panel.title} shows nothing: {expr}"


def test_what_prometheus_stores_is_what_the_driver_plays(stack):
    _, base, _, _ = stack
    until(lambda: query(base, "rigright_gpus_seen == 8"), "all cards")
    assert len(query(base, "rigright_gpu_temperature_celsius")) == 8
    assert all(
        one["metric"]["name"].endswith("H100 80GB HBM3") for one in query(base, "rigright_gpu_up == 1")
    )


def test_promtool_finds_nothing_to_say_against_the_metrics(stack):
    *_, metrics = stack
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=fetch(metrics), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_healthy_machine_raises_no_alert(stack):
    _, base, _, _ = stack
    until(lambda: query(base, "count_over_time(rigright_gpus_seen[1m]) > 3"), "a first sample")
    firing = {
        one["metric"]["alertname"] for one in query(base, 'ALERTS{alertstate="firing",severity!="info"}')
    }
    assert firing == set()


def test_a_card_that_is_lost_reaches_whoever_listens(tmp_path):
    with watched(tmp_path) as (driver, base, listener, _):
        until(lambda: query(base, "rigright_gpus_seen == 8"), "all cards")
        driver.change(3, all="!15")
        told = until(
            lambda: [one for one in list(listener.alerts) if one["labels"]["alertname"] == "RigGpuDown"],
            "the alert",
        )
    assert told[0]["labels"]["gpu"] == "3"
    assert told[0]["annotations"]["summary"].startswith("GPU 3 ")
    assert "reset the GPU" in told[0]["annotations"]["fix"]
