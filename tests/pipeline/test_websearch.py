"""A search that waits for a yes, and one that is remembered: on the graph, with a real library as memory."""

from dataclasses import replace

import pytest
from test_paths import QUESTION, SOSO, WEB, Case, FixedWeb

from crag.core import events as ev
from crag.core.errors import StorageError
from crag.core.trace import Trace
from crag.core.types import Unread, WebPage
from crag.pipeline.context import RunContext
from crag.pipeline.fallback import FallbackWeb
from crag.pipeline.graph import run_graph
from crag.runtime.usage import Budget, UsageTracker
from crag.testing.fakes import FakeClock


class Memory:
    """A search cache in memory; the library's own is tested with the library."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[str, tuple[WebPage, ...]]] = {}

    def load_search(self, key: str, *, hours: float) -> tuple[str, tuple[WebPage, ...]] | None:
        return self.known.get(key)

    def save_search(self, key: str, pages: tuple[WebPage, ...]) -> None:
        self.known[key] = ("2026-01-02T03:04:05+00:00", tuple(pages))


def away(**more: object) -> FixedWeb:
    return FixedWeb(texts=WEB, leaves=True, **more)  # type: ignore[arg-type]


def parts(*webs: FixedWeb, **more: object) -> RunContext:
    made: RunContext = Case("balanced", [SOSO]).parts
    meter = more.pop("meter", None) or made.meter
    return replace(made, meter=meter, web=FallbackWeb(webs, made.emitter, meter, **more))  # type: ignore[arg-type]


def run(*webs: FixedWeb, **more: object) -> Trace:
    return Trace.from_events(run_graph(QUESTION, parts(*webs, **more)))


def test_after_a_no_pages_of_this_machine_are_still_searched_without_a_question() -> None:
    web, folder = away(), FixedWeb(texts=WEB, name="folder")
    trace = run(web, folder, allowed=lambda query: False)
    assert web.queries == [] and len(folder.queries) == 1
    assert len(trace.approvals) == 1 and trace.searches[0].provider == "folder"


def test_the_run_says_that_it_waits_and_the_wait_costs_none_of_its_time() -> None:
    seen: list[bool] = []
    events: list[ev.Event] = []

    def allowed(query: str) -> bool:
        seen.append(Trace.from_events(events).awaiting is not None)
        clock.ahead += 500
        return True

    clock = FakeClock()
    meter = UsageTracker(Budget(seconds=100), clock=clock)
    for event in run_graph(QUESTION, parts(away(), allowed=allowed, meter=meter)):
        events.append(event)
    assert Trace.from_events(events).awaiting is None
    assert meter.left() > 0
    assert len(seen) == 1
    begun = next(event.at for event in events if isinstance(event, ev.StepStarted) and event.step == "search")
    ended = next(event for event in events if isinstance(event, ev.StepFinished) and event.step == "search")
    assert ended.at - begun - ended.seconds >= 500


def test_what_was_found_is_remembered_with_its_time_and_nothing_is_sent_again() -> None:
    web, memory = away(), Memory()
    first = run(web, memory=memory, hours=1.0)
    again = run(web, memory=memory, hours=1.0, allowed=lambda query: False)
    assert len(web.queries) == 1
    assert again.pages == first.pages and again.approvals == ()
    assert (first.searches[0].found_at, again.searches[0].found_at) == ("", "2026-01-02T03:04:05+00:00")


@pytest.mark.parametrize(
    "web",
    [away(problems=(Unread(name="example.org", why="it took too long"),)), FixedWeb(texts=WEB), FixedWeb(leaves=True)],
    ids=["a page was not read", "a folder's pages", "nothing found"],
)
def test_what_is_not_whole_or_not_of_the_web_is_not_remembered(web: FixedWeb) -> None:
    memory = Memory()
    run(web, memory=memory, hours=1.0)
    assert memory.known == {}


def test_results_that_can_t_be_stored_are_used_all_the_same() -> None:
    class Full(Memory):
        def save_search(self, key: str, pages: tuple[WebPage, ...]) -> None:
            raise StorageError("The disk is full.")

    trace = run(away(), memory=Full(), hours=1.0)
    assert len(trace.pages) == 1 and trace.failures[0].instead == "not remembered"


def test_chunks_graded_by_another_than_the_strips_answer_after_a_correct() -> None:
    """A CORRECT of a model that reads whole chunks is not silenced by low scores of single sentences."""
    case = Case("balanced", [SOSO], web=FixedWeb())
    low = Case("balanced", [SOSO], score=lambda text: 0.09).evaluator
    high = Case("balanced", [SOSO], score=lambda text: 0.9).evaluator
    made = replace(case.parts, evaluator=high, strip_evaluator=low)
    answer = Trace.from_events(run_graph(QUESTION, made)).answer
    assert answer is not None and not answer.abstained
    alone = Trace.from_events(run_graph(QUESTION, replace(made, evaluator=low, strip_evaluator=None))).answer
    assert alone is not None and alone.abstained
