"""What runs come to in figures: stored with them, gone with them, the same wherever they lie."""

from dataclasses import replace
from pathlib import Path

import pytest

from crag.admin.moving import copy_library
from crag.analysis.monitoring.figures import facts_of
from crag.core.events import Failed
from crag.core.strategies import STRATEGIES
from crag.core.trace import Rewrite, Search, Trace
from crag.core.types import Answer, Call
from crag.providers.prices import PRICES
from crag.storage.library import Library
from crag.storage.places import Place
from tests.support.library_makers import HashEmbedder
from tests.support.tune_runs import run


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


@pytest.mark.files
def test_a_copy_takes_them_along(library: Library, tmp_path: Path, embedder: HashEmbedder) -> None:
    library.runs.save(full(1), [])
    said = copy_library(Place.at(library.folder), Place.at(tmp_path / "copy"))
    assert said.whole and next(each.target for each in said.tables if each.table == "facts") == 1
    with Library.open(tmp_path / "copy", embedder) as copy:
        ((number, made),), ((before, kept),) = copy.facts.since(), library.facts.since()
        assert (number, replace(made, workspace=kept.workspace)) == (before, kept)
