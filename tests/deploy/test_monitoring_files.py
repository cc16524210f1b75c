"""Alert rules and dashboard: every metric that they name is served, promtool passes them, and a real Prometheus too."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from crag.analysis.monitoring.metrics import Metrics
from tests.analysis.monitoring.test_scraping import FACTS
from tests.support.app_server import ROOT, Served, serving
from tests.support.eventually import eventually
from tests.support.other_programs import at_work, free_port
from tests.support.visitor import visit

FOLDER = ROOT / "deploy" / "prometheus"
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana" / "dashboard.json").read_text(encoding="utf-8"))
TOKEN = "a scraper's token of the tests"
GAUGES = (
    *("ready", "runs_running", "runs_waiting", "files_reading", "files_waiting", "libraries"),
    *("library_bytes", "disk_free_bytes", "sessions", "sessions_limit", "upload_bytes"),
)


def program(name: str) -> str:
    return shutil.which(name) or pytest.skip(f"{name} is not installed: apt-get install prometheus")


def queries() -> list[str]:
    """Every query of the dashboard as Grafana would send it."""
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    marks = [each["expr"] for each in DASHBOARD["annotations"]["list"]]
    filled = {"$job": "crag", "$instance": ".*", "$__rate_interval": "1m"}
    return [re.sub(r"\$\w+", lambda found: filled[found[0]], each) for each in (*panels, *marks)]


def served() -> set[str]:
    """The names of all metrics that a process of the app can have."""
    metrics = Metrics(dict, {name: ("Is there.", lambda: 1.0) for name in GAUGES})
    metrics.count(FACTS)
    return set(re.findall(r"^(?:# TYPE )?(\w+)", metrics.text()[0].decode(), flags=re.MULTILINE))


def test_rules_and_dashboard_name_no_metric_that_is_not_served() -> None:
    rules = (FOLDER / "alerts.yml").read_text(encoding="utf-8")
    named = {word for text in (rules, *queries()) for word in re.findall(r"\b(?:crag|process)_\w+", text)}
    assert len(named) > 25 and named - served() == set()
    assert served() >= {f"crag_{name}" for name in GAUGES}


@pytest.mark.heavy
def test_promtool_passes_rules_their_tests_and_the_configuration(tmp_path: Path) -> None:
    promtool = program("promtool")
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    (tmp_path / "metrics_token").write_text(TOKEN)
    for command in (["check", "config", "prometheus.yml"], ["test", "rules", "alerts_test.yml"]):
        ran = subprocess.run([promtool, *command], cwd=tmp_path, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    tested = (FOLDER / "alerts_test.yml").read_text(encoding="utf-8")
    rules = re.findall(r"alert: (\w+)", (FOLDER / "alerts.yml").read_text(encoding="utf-8"))
    assert [name for name in rules if f"alertname: {name}\n" not in tested] == [], "each rule is seen to fire"


@contextmanager
def prometheus(folder: Path, *apps: Served) -> Iterator[str]:
    """A real Prometheus with our configuration, asking these apps; its address."""
    shutil.copytree(FOLDER, folder)
    (folder / "metrics_token").write_text(TOKEN)
    config = (folder / "prometheus.yml").read_text(encoding="utf-8").replace("interval: 15s", "interval: 1s")
    targets = ", ".join(f'"127.0.0.1:{app.port}"' for app in apps)
    config = re.sub(r"targets: \[.*\]", f"targets: [{targets}]", config)
    (folder / "prometheus.yml").write_text(config, encoding="utf-8")
    address = f"127.0.0.1:{free_port()}"
    command = [program("prometheus"), "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
    with at_work([*command, f"--web.listen-address={address}"], folder / "log", cwd=folder):
        yield f"http://{address}"


@pytest.mark.heavy
def test_a_real_prometheus_scrapes_the_app_evaluates_the_rules_and_answers_the_dashboard(tmp_path: Path) -> None:
    chosen = {"CRAG_METRICS": "token", "CRAG_METRICS_TOKEN": TOKEN}
    (tmp_path / "app").mkdir()
    with serving(tmp_path / "app", **chosen) as app, prometheus(tmp_path / "prometheus", app) as url:
        visit(app.url)

        def asked(query: str) -> list[dict[str, Any]]:
            reply = httpx.get(f"{url}/api/v1/query", params={"query": query}, timeout=20)
            assert reply.status_code == 200 and reply.json()["status"] == "success", (query, reply.text)
            return list(reply.json()["data"]["result"])

        def value(query: str) -> float | None:
            found = asked(query) if ready(url) else []
            return float(found[0]["value"][1]) if found else None

        eventually(lambda: value('up{job="crag"}') == 1.0, seconds=60)
        httpx.get(f"{app.url}/readyz", timeout=30)
        eventually(lambda: value("crag_ready") == 1.0, seconds=120)
        for query in queries():
            asked(query)
        groups = httpx.get(f"{url}/api/v1/rules", timeout=20).json()["data"]["groups"]
        eventually(
            lambda: all(
                rule["health"] == "ok"
                for group in httpx.get(f"{url}/api/v1/rules", timeout=20).json()["data"]["groups"]
                for rule in group["rules"]
            ),
            seconds=60,
        )
        assert len(groups[0]["rules"]) == (FOLDER / "alerts.yml").read_text(encoding="utf-8").count("alert: ")
        assert asked("crag_build_info")[0]["metric"]["job"] == "crag"
        app.process.terminate()
        eventually(lambda: value('up{job="crag"}') == 0.0, seconds=60)


def ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/-/ready", timeout=5).status_code == 200
    except httpx.TransportError:
        return False
