"""The failure table: whatever fails in whichever step, a run ends in time with an answer, and says what stood in."""

import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from crag.core import events as ev
from crag.core.config import AppConfig, Keys
from crag.core.errors import UnreachableError
from crag.core.events import events_from_jsonl, events_to_jsonl
from crag.core.protocols import RunRequest
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import Call
from crag.engine import Engine
from crag.providers.chat import ChatModel
from crag.providers.endpoint import Endpoint
from crag.runtime.usage import Budget, UsageTracker
from crag.testing.fakes import FakeClock, ScriptedEvaluator
from crag.web.webpage import read_page
from tests.support.failing_servers import (
    LLM_KEY,
    PIECES,
    SERVER_WORDS,
    SHOWN_BEFORE_THE_KILL,
    TAVILY_KEY,
    Failure,
    Part,
    World,
    nobody,
    swallowed,
    world,
)
from tests.support.sizes import ALL, thinned
from tests.support.small_library import WordEmbedder, engine_with_texts

QUESTION = "How long did hiring take in 2019?"
FAILURES: list[Failure] = ["429", "500", "hang", "garbage", "refused", "killed", "bomb"]
STEPS: list[Part] = ["grade", "rewrite", "search", "fetch", "answer"]
SAID = {
    "grade": ("evaluate", "local evaluator", "local"),
    "rewrite": ("rewrite", "rewriter", "keywords"),
    "search": ("search", "documents", ""),
    "answer": ("answer", "quotes", "extractive"),
    "support": ("verify", "local evaluator", "local"),
    "select": ("refine", "scores", ""),
}
"""The step that hears of a part's failure, and what is done instead. A page that can't be read is no failed step."""
RETRIED = ("429", "500", "refused", "killed")
SECONDS = 600
"""The budget of a run, enough on the busiest machine; nobody waits for a server that hangs until it is over."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A finished run: its events, their trace, the engine and its clock."""

    engine: Engine
    clock: FakeClock
    events: list[ev.Event]

    @property
    def trace(self) -> Trace:
        return Trace.from_events(self.events)


Ask = Callable[..., Run]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the small library, for each test to copy. What reads pages is loaded, or the first run would
    pay for it out of the seconds that a page has.
    """
    read_page(b"<p>Hiring took the agency ninety days in 2018, on average, its report says.</p>" * 5, ".html", "")
    folder = tmp_path_factory.mktemp("filled")
    engine_with_texts(AppConfig.of(data=folder)).close()
    return folder


@pytest.fixture
def ask(tmp_path: Path, filled: Path) -> Iterator[Ask]:
    """Asks the question of a small library; model, Tavily and web pages are those of a world."""
    shutil.copytree(filled, tmp_path / "data")
    engines: list[Engine] = []

    def asked(
        outside: World,
        *,
        strategy: str = "balanced",
        changes: dict[str, Any] | None = None,
        score: float = 0.3,
        cancel: threading.Event | None = None,
        **config: Any,
    ) -> Run:
        chosen = AppConfig.of(**{**configured(outside, tmp_path), **config})
        keys = Keys(llm=SecretStr(LLM_KEY), tavily=SecretStr(TAVILY_KEY))
        local = ScriptedEvaluator(score=lambda text: score, id="local")
        clock = FakeClock(hangs=threading.Event() if cancel else outside.hanging)
        engine = Engine(chosen, keys, embedder=WordEmbedder(), evaluator=local, clock=clock)
        engines.append(engine)
        settings = STRATEGIES[strategy].settings.changed(**(changes or {}))
        events = list(engine.ask(RunRequest(QUESTION, strategy, settings=settings, cancel=cancel)))
        return Run(engine=engine, clock=clock, events=events)

    yield asked
    for engine in engines:
        engine.close()


def configured(outside: World, folder: Path) -> dict[str, Any]:
    """Everything by services: the model grades, rewrites, writes and checks; Tavily searches; pages are read."""
    return {
        "data": folder / "data",
        "llm": "openai-compatible",
        "llm_base_url": f"{outside.address}/v1",
        "llm_model": "tester",
        "evaluator": "llm",
        "web": "tavily",
        "tavily_base_url": outside.address,
        "private_addresses": True,
        "run_seconds": SECONDS,
    }


def stood_in(trace: Trace) -> set[str]:
    """The parts that another did than the service chosen for it, as the record itself says."""
    assert trace.answer is not None
    grades = [grade for each in trace.rounds for grade in (*each.grades.values(), each.joint) if grade is not None]
    assert all(grade.evaluator == "local" for grade in grades if grade.instead_of)
    marks = {
        "grade": any(grade.instead_of for grade in grades),
        "rewrite": any(rewrite.by == "keywords" for rewrite in trace.rewrites),
        "search": not any(search.provider == "tavily" for search in trace.searches),
        "fetch": any(not page.fetched for page in trace.pages),
        "answer": bool(trace.answer.instead_of),
        "support": any(judgement.why for check in trace.checks for judgement in check.judgements),
    }
    return {part for part, marked in marks.items() if marked}


def sound(run: Run) -> Trace:
    """The trace of a run that ended by itself, in time, with an answer from kept text, and told no secret."""
    trace = run.trace
    kinds = [event.kind for event in run.events]
    assert kinds[-1] == "run_finished" and kinds.count("run_finished") == 1 and kinds.count("answered")
    assert trace.failure is None and not trace.cancelled
    assert trace.answer is not None and not trace.answer.abstained and trace.text == trace.answer.text
    cited = {citation.strip_id for citation in trace.answer.citations}
    assert cited and cited <= {strip.id for strip in trace.kept()}
    assert run.clock.ahead < SECONDS + 1
    assert all(call.attempt <= 3 for call in trace.calls)
    recorded(run)
    return trace


def recorded(run: Run) -> None:
    """The whole run survives JSON and the library, and holds neither a key nor a word that a failing server said."""
    lines, trace = events_to_jsonl(run.events), run.trace.to_json()
    assert events_from_jsonl(lines) == run.events == run.engine.library().runs.events(run.trace.run_id)
    assert Trace.from_json(trace) == run.trace
    assert not any(secret in lines + trace for secret in (LLM_KEY, TAVILY_KEY, SERVER_WORDS))


def told(trace: Trace, *parts: str) -> None:
    """The failures of the run are those of the parts, in order, each with what is done instead."""
    assert [failure.step for failure in trace.failures] == [SAID[part][0] for part in parts]
    for failure, part in zip(trace.failures, parts, strict=True):
        assert (failure.instead, failure.by) == SAID[part][1:] and failure.remedy.endswith(".") and not failure.fatal


# The table


PAIRS = [
    (part, failure)
    for place, part in enumerate(STEPS)
    for number, failure in enumerate(FAILURES)
    if ALL or (place + number) % len(FAILURES) in (0, 2, 4)
]
"""All of the table, or three failures of each part, so that each failure is one of two parts or three."""


@pytest.mark.parametrize(("part", "failure"), thinned(PAIRS, 2))
def test_the_run_ends_with_an_answer_and_says_what_stood_in(ask: Ask, part: Part, failure: Failure) -> None:
    with world({part: failure}) as outside:
        run = ask(outside)
    trace = sound(run)
    assert stood_in(trace) == {part}
    told(trace, *([part] if part in SAID else []))
    calls_and_requests(trace, outside, part, failure)


def calls_and_requests(trace: Trace, outside: World, part: Part, failure: Failure) -> None:
    """Every failed call is on the meter; nothing is asked more than three times, and only what may help again."""
    failed = [call for call in trace.calls if call.error]
    asked = outside.asked.count(part)
    begun = part == "answer" and failure == "killed"  # what was shown is not asked for again
    attempts = 3 if failure in RETRIED and not begun else 1
    if part == "fetch":
        assert asked == 2 and not failed
        assert len(trace.searches[0].problems) == 2
        assert all(problem.name and problem.why for problem in trace.searches[0].problems)
        assert all("the snippet" in page.text for page in trace.pages)
        return
    assert {call.step for call in failed} == {SAID[part][0]}
    if part == "grade":  # four chunks side by side; the fourth is not waited for once three have failed
        assert 3 <= asked <= 4 * attempts and 3 <= len(failed) <= 4 * attempts
    else:
        assert asked == len(failed) == (1 if part == "search" else attempts)


@pytest.mark.parametrize("part", thinned(STEPS, 2))
def test_a_reply_of_the_right_form_that_is_of_no_use(ask: Ask, part: Part) -> None:
    with world({part: "words"}) as outside:
        trace = sound(ask(outside))
    assert stood_in(trace) == {part}
    told(trace, *([part] if part in SAID else []))


def test_a_stream_that_was_killed_is_shown_and_then_replaced_whole(ask: Ask) -> None:
    with world({"answer": "killed"}) as outside:
        run = ask(outside)
    shown = "".join(event.text for event in run.events if isinstance(event, ev.Token))
    assert shown and "".join(PIECES[:SHOWN_BEFORE_THE_KILL]).startswith(shown)
    assert run.trace.answer is not None and run.trace.answer.by == "extractive"
    assert run.trace.text == run.trace.answer.text and shown not in run.trace.text


@pytest.mark.slow
@pytest.mark.parametrize(("failure", "remark", "longest"), [("loop", "looped", 40), ("endless", "overlong", 9000)])
def test_an_answer_without_end_is_cut_and_the_record_says_so(
    ask: Ask, failure: Failure, remark: str, longest: int
) -> None:
    with world({"answer": failure}) as outside:
        run = ask(outside)
    answer = run.trace.answer
    assert answer is not None and answer.remarks[0] == remark and len(answer.text) < longest
    assert not run.trace.failures and not any(call.error for call in run.trace.calls)
    recorded(run)


# Nobody there


def test_pages_where_nobody_listens(ask: Ask) -> None:
    with world() as outside, nobody() as address:
        outside.pages = address
        trace = sound(ask(outside))
    assert stood_in(trace) == {"fetch"} and not trace.failures


def test_everything_down_at_once(ask: Ask) -> None:
    with world() as outside, nobody() as address:
        trace = sound(ask(outside, llm_base_url=address, tavily_base_url=address))
    assert stood_in(trace) == {"grade", "rewrite", "search", "answer"}
    told(trace, "grade", "rewrite", "search", "answer")


# Stop


def pressed(at: threading.Event, stop: threading.Event) -> None:
    """Presses Stop as soon as a server hangs."""
    at.wait(60)
    stop.set()


@pytest.mark.parametrize("part", thinned(STEPS, 2))
def test_stop_ends_a_run_that_hangs_and_the_server_sees_it(ask: Ask, part: Part) -> None:
    stop = threading.Event()
    with world({part: "hang"}) as outside:
        threading.Thread(target=pressed, args=(outside.hanging, stop), daemon=True).start()
        run = ask(outside, cancel=stop, run_seconds=600)
        assert outside.left.wait(60)
    assert [event.kind for event in run.events[-2:]] == ["cancelled", "run_finished"]
    quote = run.trace.answer  # it stands until a model writes
    assert run.trace.cancelled and not run.trace.failures and (quote.quoted if quote else part != "answer")
    assert set(outside.asked[outside.asked.index(part) :]) == {part}
    recorded(run)


# The budget


@pytest.mark.parametrize(
    ("calls", "parts"),
    [
        (1, {"grade", "rewrite", "search", "answer"}),
        (4, {"rewrite", "search", "answer"}),
        (5, {"search", "answer"}),
        (6, {"answer"}),
        (7, {"support"}),
        (9, set()),
    ],
)
def test_calls_that_are_used_up_in_the_middle(ask: Ask, calls: int, parts: set[str]) -> None:
    with world() as outside:
        trace = sound(ask(outside, run_calls=calls))
    assert stood_in(trace) == parts
    assert sum(1 for part in outside.asked if part != "fetch") <= calls
    told(trace, *[part for part in SAID if part in parts])
    assert all(f"{calls} outside calls" in failure.cause for failure in trace.failures)


def test_a_step_takes_half_of_what_is_left_and_the_last_ones_all() -> None:
    meter = UsageTracker(Budget(seconds=1000))
    assert meter.left() > 900
    meter.step = "evaluate"
    assert 400 < meter.left() <= 500
    meter.step = "rewrite"
    assert 400 < meter.left() <= 500
    meter.step = "answer"
    assert meter.left() > 900
    meter.step = "verify"
    assert meter.left() > 900


def test_what_timed_out_once_is_not_tried_again() -> None:
    calls: list[Call] = []
    with swallowed() as address:
        endpoint = Endpoint(provider="openai-compatible", model="m", base_url=f"{address}/v1")
        with pytest.raises(UnreachableError, match="in time"):
            ChatModel(endpoint, connect=0.3).metered(UsageTracker(listener=calls.append)).text(
                [("human", "Hello")], max_tokens=5
            )
    assert [call.attempt for call in calls] == [1]


# What stands in


def test_a_model_that_fails_three_grades_is_not_asked_again(ask: Ask) -> None:
    with world({"grade": "garbage"}) as outside:
        trace = sound(ask(outside, parallel_calls=1))
    assert outside.asked.count("grade") in (3, 4), "a fourth may be under way when the third is read"
    first, *_, last = trace.rounds[0].grades.values()
    assert "can't be read" in first.why and (first.failed_before, last.failed_before) == (0, 3)


def test_nor_in_the_next_round(ask: Ask) -> None:
    with world({"grade": "garbage"}) as outside:
        trace = sound(ask(outside, score=0.15))
    assert len(trace.rounds) == 2 and [rewrite.purpose for rewrite in trace.rewrites] == ["library", "web"]
    assert "grade" not in outside.asked[outside.asked.index("rewrite") :]
    assert all(grade.instead_of for each in trace.rounds for grade in each.grades.values())
    told(trace, "grade")


def test_a_joint_grade_that_fails(ask: Ask) -> None:
    with world({"grade": "garbage"}) as outside:
        trace = sound(ask(outside, strategy="joint"))
    assert stood_in(trace) == {"grade"} and trace.rounds[0].joint is not None
    told(trace, "grade")


@pytest.mark.parametrize("failure", ["429", "garbage", "killed"])
def test_the_next_web_provider_is_asked_and_it_is_said(ask: Ask, web_folder: Path, failure: Failure) -> None:
    with world({"search": failure}) as outside:
        trace = sound(ask(outside, web_fallback="folder", web_folder=web_folder))
    assert [search.provider for search in trace.searches] == ["folder"] and trace.pages
    [failed] = trace.failures
    assert (failed.step, failed.instead, failed.by) == ("search", "web", "folder")


@pytest.mark.parametrize("failure", ["garbage", "words"])
def test_scores_decide_where_the_model_can_not_choose_strips(ask: Ask, failure: Failure) -> None:
    with world({"select": failure}) as outside:
        run = ask(outside, changes={"strip_judge": "llm"})
    trace = sound(run)
    assert stood_in(trace) == set()
    assert all(strip.kept and strip.selected is None for strips in trace.strips.values() for strip in strips)
    told(trace, "select", "select")  # once for the documents, once for the web pages


@pytest.mark.parametrize("failure", ["hang", "garbage"])
def test_a_check_of_citations_that_fails_is_made_by_the_local_evaluator(ask: Ask, failure: Failure) -> None:
    with world({"support": failure}) as outside:
        trace = sound(ask(outside))
    assert stood_in(trace) == {"support"}
    assert [check.supported for check in trace.checks] == [False] * 2
    judges = [{judgement.judge: judgement for judgement in check.judgements} for check in trace.checks]
    assert [(each["evaluator"].by, each["evaluator"].supported, each["model"].supported) for each in judges] == [
        ("local", False, None)
    ] * 2
    told(trace, "support")
