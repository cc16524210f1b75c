"""Stored runs and a stored library: they say what they said then, and can be decided again."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, update

from crag.analysis.evaluate import evaluations, rows
from crag.analysis.metrics.metrics import measure_run
from crag.analysis.monitoring.reading import facts_of
from crag.analysis.questions.sets import Question
from crag.analysis.whatif.entries import Entry
from crag.analysis.whatif.replay_plan import StoredDecisions
from crag.analysis.whatif.whatif import redecide
from crag.core.events import Failed
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Rewrite, Search, Trace
from crag.core.types import Answer, Call
from crag.messages.providers import figures_of
from crag.messages.wording import outcome_sentence
from crag.models.runtime import E5
from crag.providers.prices import PRICES
from crag.storage.in_flight import InFlightJob
from crag.storage.library import Library
from crag.storage.postgres import Server
from crag.storage.tables import meta
from tests.support.library_makers import HashEmbedder, change, embed_missing
from tests.support.shell import line_of, started
from tests.support.stored import RUNS, stored_library, stored_run
from tests.support.tune_runs import run


def test_a_stored_library_opens_with_all_it_holds(tmp_path: Path) -> None:
    with Library(stored_library(tmp_path / "old"), E5()) as library:
        library.verify()
        library.check_model()
        [document] = library.documents.all()
        assert (document.name, document.pages, library.size) == ("report.pdf", 2, (1, 2))
        assert [(run.question[:8], run.strategy, run.action) for run in library.runs.latest(9, every=True)] == [
            ("How many", "balanced", "CORRECT"),
            ("How long", "balanced", "AMBIGUOUS"),
            ("How many", "balanced", "CORRECT"),
            ("How long", "balanced", "AMBIGUOUS"),
            ("How many", "balanced", "CORRECT"),
        ]
        for run in library.runs.latest(9, every=True):
            told = Trace.from_events(library.runs.events(run.run_id))
            untimed = tuple(replace(failure, at=0.0) for failure in told.failures)
            assert library.runs.trace(run.run_id) == replace(told, failures=untimed), "when it failed is in the events"
        [label] = library.labels.all()
        assert label.label == "relevant"
        assert sum(each.calls for each in library.runs.spending(days=36_500)) == 11
        [evaluation] = evaluations(library)
        [row] = rows(library, evaluation.id)
        assert (evaluation.done, evaluation.settings, row.problem) == (1, Settings(), "")
        library.unembedded.forget_vectors()
        embed_missing(library)
        found = library.search("How many days did hiring take?", 2)
        assert "eighty days" in found[0].chunk.text


@pytest.mark.parametrize("name", RUNS)
def test_a_stored_run_is_decided_anew_measured_and_counted(name: str) -> None:
    trace = Trace.from_events(stored_run(name))
    assert outcome_sentence(trace) or name == "fatal"
    assert figures_of(trace, PRICES)
    measure_run(trace, Question(id="1", question=trace.question))
    for each in STRATEGIES.values():
        redecide(trace, each.settings)
    if name != "fatal":
        assert not redecide(trace, Settings.checked(trace.settings)).changes_action
    outcome = StoredDecisions([Entry.of(trace)]).redecide(Settings(lower=0.99, upper=0.995, loop_on=(), max_rewrites=0))
    assert len(outcome.rows) == 1


# What runs come to in figures: stored with them, gone with them, the same wherever they lie


def full(number: int) -> Trace:
    """A run with everything that is counted."""
    made = run(number, [0.2, 0.61, None], calls=1)
    failed = Call(step="search", provider="tavily", model="", seconds=2.0, error="no reply")
    return replace(
        made,
        via="http",
        calls=(*made.calls, failed, failed),
        failures=(
            Failed(step="search", cause="no reply", remedy="", at=1.0, reason="unreachable"),
            Failed(step="verify", cause="odd", remedy="", at=1.2),
        ),
        rewrites=(Rewrite(query="q", purpose="web", by="local"),),
        searches=(Search(query="q", provider="tavily", pages=()),),
        answer=Answer(text="So.", by="extractive"),
        faithfulness=0.5,
        waited=0.25,
    )


def test_the_figures_of_a_run_are_what_its_record_says(library: Library) -> None:
    library.runs.save(full(1), [])
    ((number, made),) = library.facts.since()
    asked = replace(full(1), workspace=library.folder.name)
    assert facts_of(asked, PRICES) == replace(made, dollars=0.15), "as stored, but for what prices add"
    assert (made.run_id, made.action, made.outcome, made.via) == ("run-1", "CORRECT", "answered", "http")
    own = STRATEGIES["balanced"].settings
    assert (made.best, made.upper, made.lower) == (0.61, own.upper, own.lower)
    assert made.web and (made.searches, made.rewrites, made.faithfulness, made.waited) == (1, 1, 0.5, 0.25)
    assert made.calls == {"openai": 1, "tavily": 2} and made.failed == {"tavily": 2}
    assert made.call_seconds == {"openai": pytest.approx(0.1), "tavily": 4.0}
    assert made.failures == {"search: unreachable": 1, "verify: other": 1}
    assert made.refused == {"tavily: unreachable": 1, "this machine: other": 1}
    assert library.facts.standing().last == number


# Work that a killed program left unfinished is reported; what still runs, here or in another process, is not


CHILD = """
import sys
from pathlib import Path
from crag.storage.in_flight import InFlightJob
from crag.storage.library import Library
from crag.storage.postgres import server_at
from tests.support.library_makers import HashEmbedder
library = Library(Path(sys.argv[1]), HashEmbedder(), server=server_at(sys.argv[2]))
library.in_flight.start(InFlightJob(id="up", kind="upload", label="2 files", names=("a.txt", "b.txt")))
print("noted", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def library(tmp_path: Path, embedder: HashEmbedder, server: Server | None) -> Iterator[Library]:
    with Library(tmp_path / "library", embedder, server=server) as opened:
        yield opened


@pytest.mark.parametrize("records", ["sqlite", "postgresql"])
def test_what_another_process_works_on_is_cut_off_by_its_kill_alone(library: Library, url: str) -> None:
    with started("-c", CHILD, library.folder, url) as child:
        assert line_of(child) == "noted\n"
        assert library.in_flight.known("up")
        assert library.in_flight.cut_off() == []
        child.kill()
        child.wait()
        [work] = library.in_flight.cut_off()
        assert (work.label, work.names) == ("2 files", ("a.txt", "b.txt"))
        library.in_flight.finish("up")
        assert library.in_flight.cut_off() == []


@pytest.mark.parametrize("records", ["sqlite"])
def test_the_end_of_work_that_nobody_noted_makes_no_library(library: Library) -> None:
    library.in_flight.finish("nobody's")
    assert not library.exists


@pytest.mark.parametrize(("hours", "gone"), [(-2, True), (-0.5, False), (0.5, False), (2, True)])
@pytest.mark.parametrize("records", ["sqlite"])
def test_work_of_another_machine_is_cut_off_after_an_hour_by_any_clock(
    library: Library, hours: float, gone: bool
) -> None:
    at = (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
    library.in_flight.start(InFlightJob(id="up", kind="upload", label="2 files", at=at))
    noted = func.replace(meta.c.value, socket.gethostname(), "elsewhere")
    change(library, update(meta).where(meta.c.key == "in flight up").values(value=noted))
    assert bool(library.in_flight.cut_off()) == gone
