"""Metrics: what a run adds, labels that stay few and plain, gauges that fail alone, refusals that are told at times."""

import math
import os
import random
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request

from crag.analysis.monitoring.health import Health
from crag.analysis.monitoring.metrics import MOST, Metrics, standing
from crag.core.config import AppConfig
from crag.core.errors import StorageError
from crag.core.runfacts import DaySpending, RunFacts
from crag.engine import Engine
from crag.integrations.scraping import Scraping, metrics_token
from crag.storage.postgres import Server
from tests.support.made import spent
from tests.support.small_library import engine_with_texts

HOSTILE = 'we"ird\n{provider="x"}\\ \u202e' + "x" * 500


def calls(provider: str, made: int, failed: int = 0) -> tuple[DaySpending, ...]:
    """Calls of one provider, half a second each."""
    return (spent(provider, calls=made, failed=failed, seconds=made / 2),)


FACTS = RunFacts(
    run_id="1",
    workspace="secret-workspace",
    started_at="2026-11-02T10:00:00+00:00",
    strategy="balanced",
    via="app",
    action="CORRECT",
    outcome="answered",
    evaluator="local",
    scope="secret-scope",
    best=0.87,
    searches=2,
    rewrites=1,
    seconds=0.3,
    waited=0.0,
    steps={"retrieve": 0.02, "evaluate": 0.2},
    used=calls("tavily", 3, 1),
    failures={"search: busy": 1},
    dollars=0.25,
    unpriced=1,
    faithfulness=1.0,
)


def metrics(**sources: object) -> Metrics:
    return Metrics(dict, {name: ("Says so.", read) for name, read in sources.items()})  # type: ignore[misc]


def read(made: Metrics) -> dict[tuple[str, ...], float]:
    """Every value by its name and its labels' values."""
    text = made.text()[0].decode()
    families = text_string_to_metric_families(text)
    return {(each.name, *each.labels.values()): each.value for family in families for each in family.samples}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with engine_with_texts(AppConfig.of(data=tmp_path)) as made:
        yield made


def test_a_run_adds_what_it_came_to_and_no_word_of_it(engine: Engine) -> None:
    made = Metrics(dict, standing(lambda: engine, Health(engine.config.storage.data), lambda: True))
    engine.watchers.append(made.watch)
    trace = engine.trace("How long does hiring take?")
    engine.teams.quotas.stored.total(fresh=True)
    found = read(made)
    action = (trace.action.value if trace.action else "none").lower()
    assert found["crag_runs_total", action, trace.outcome, "balanced", "python"] == 1
    assert found["crag_run_duration_seconds_sum", "balanced"] == pytest.approx(trace.seconds)
    assert {name[1] for name in found if name[0] == "crag_run_step_duration_seconds_count"} >= {"retrieve", "evaluate"}
    assert found["crag_run_best_score_count",] == 1
    assert (found["crag_libraries",], found["crag_ready",]) == (1, 1)
    assert found["crag_library_bytes",] > 10_000 and found["crag_runs_running",] == 0
    assert "hiring" not in made.text()[0].decode().lower() and "report.pdf" not in made.text()[0].decode()


def test_calls_failures_and_cost_are_counted_by_provider() -> None:
    made = metrics()
    made.count(FACTS)
    made.count(replace(FACTS, used=calls("tavily", 2, 2), best=None, faithfulness=None, searches=0))
    found = read(made)
    assert found["crag_outside_calls_total", "tavily"] == 5
    assert found["crag_outside_call_failures_total", "tavily"] == 3
    assert found["crag_outside_failing_runs", "tavily"] == 1
    assert found["crag_spent_dollars_total",] == 0.5 and found["crag_unpriced_calls_total",] == 2
    assert found["crag_runs_with_web_total",] == 1 and found["crag_web_searches_total",] == 2
    made.count(FACTS)
    assert read(made)["crag_outside_failing_runs", "tavily"] == 0, "a call that is answered ends the row"


def test_labels_stay_plain_and_few_whatever_is_called_what() -> None:
    made, numbers = metrics(), random.Random(5)
    for number in range(300):
        name = f"{HOSTILE[:30]}{number}" if number % 2 else "".join(chr(numbers.randrange(1, 0x2FF)) for _ in range(80))
        made.count(replace(FACTS, used=calls(name, 1), strategy=name, via=name, failures={name: 1}))
    text = made.text()[0].decode()
    assert len({name for name in read(made) if name[0] == "crag_outside_calls_total"}) <= MOST + 1
    assert len(re.findall(r"^crag_runs_total", text, flags=re.MULTILINE)) <= (MOST + 1) ** 2
    for value in re.findall(r'="([^"]*)"', text):
        assert re.fullmatch(r"[A-Za-z0-9_.: +-]{1,60}", value), value
    assert "secret" not in text


def test_a_gauge_that_can_t_be_read_is_missing_and_the_others_are_there() -> None:
    def broken() -> float:
        raise StorageError("The database can't be reached.")

    found = read(metrics(database=broken, sessions=lambda: 3.0, uploads=lambda: None))
    assert found["crag_sessions",] == 3 and ("crag_database",) not in found and ("crag_uploads",) not in found


def test_promtool_finds_nothing_to_object_to() -> None:
    promtool = shutil.which("promtool") or pytest.skip("promtool is not installed: apt-get install prometheus")
    made = metrics(sessions=lambda: 3.0)
    made.count(FACTS)
    checked = subprocess.run([promtool, "check", "metrics"], input=made.text()[0], capture_output=True)
    assert (checked.returncode, checked.stderr) == (0, b"")
    body, form = made.text("application/openmetrics-text; version=1.0.0")
    assert form.startswith("application/openmetrics-text") and body.endswith(b"# EOF\n")


def scrape(authorization: str, peer: str = "127.0.0.1") -> Request:
    headers = [(b"authorization", authorization.encode())]
    return Request({"type": "http", "method": "GET", "headers": headers, "client": (peer, 1)})


def test_refusals_are_told_and_the_token_is_in_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    token = "0123456789-a-token"
    scraping = Scraping("token", token, False, heard.append)
    made = metrics()
    assert scraping.reply(scrape("Bearer wrong"), made).status_code == 401
    assert heard == ["no token"] and token not in repr(vars(scraping))
    assert read(made)["crag_scrapes_refused_total",] == 1
    assert scraping.reply(scrape(f"bearer {token}", peer="10.0.0.9"), made).status_code == 200
    for short in ("", "short"):
        unset = Scraping("token", short, True, heard.append)
        assert not unset.on and unset.reply(scrape(f"Bearer {short}"), None).status_code == 404
    (tmp_path / "token").write_text(f"{token}\n")
    for name, known in (("token", token), ("none", "")):
        monkeypatch.setenv("CRAG_METRICS_TOKEN_FILE", str(tmp_path / name))
        assert metrics_token() == known


def test_what_lacks_is_named_and_no_place_is(tmp_path: Path) -> None:
    full = Health(tmp_path, free=lambda _: 0, index="http://127.0.0.1:9")
    assert full.lacking(models=False, closing=True) == ("closing", "models", "disk", "index")
    assert not full.failing() and full.free_bytes() == 0
    assert Health(tmp_path).lacking(models=True) == ()
    gone = Health(tmp_path, server=Server("postgresql+psycopg://me:hidden@127.0.0.1:9/crag"))
    assert gone.lacking(models=True) == ("records",)
    assert math.isfinite(Health(tmp_path).free_bytes() or math.nan)


# Health tells the truth: no files to spare, no folder to write, no room on the disk; and it costs little to ask


@pytest.fixture
def few_files():
    """Room for a hundred more open files than there are."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[0] + 100, before[1]))
    yield held
    for each in held:
        os.close(each)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def well(health: Health) -> bool:
    return health.lacking(models=True) == ()


def test_a_folder_that_can_be_written_is_well_also_before_it_is_there(tmp_path) -> None:
    assert well(Health(tmp_path))
    assert well(Health(tmp_path / "not" / "yet"))
    assert not any(tmp_path.iterdir()), "nothing is written to find out"


def test_a_file_in_the_folder_s_place_is_no_folder(tmp_path) -> None:
    (tmp_path / "data").write_text("")
    for place in (tmp_path / "data", tmp_path / "data" / "deeper"):
        assert Health(place).lacking(models=True) == ("records",)


def test_too_many_open_files_are_told_and_none_is_kept_open(tmp_path, few_files) -> None:
    health = Health(tmp_path, kept=0)
    assert well(health)
    while few_files[-1] < resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 20:
        few_files.append(os.dup(few_files[0]))
    assert health.lacking(models=True) == ("files",) and health.failing()
    while len(few_files) > 1:
        os.close(few_files.pop())
    assert all(well(health) for _ in range(20))


def test_asked_often_it_looks_once(tmp_path) -> None:
    looks: list[object] = []
    health = Health(tmp_path, kept=3600, free=lambda folder: looks.append(folder) or 2**40)
    assert all(well(health) for _ in range(50))
    assert len(looks) == 1
