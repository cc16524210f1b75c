"""Engine.ask: first and last event, every failure an event, every run stored and replayed equal."""

import threading
from pathlib import Path

import pytest
from pydantic import SecretStr

from crag.core import events as ev
from crag.core.config import AppConfig, Keys
from crag.core.errors import CancelledError, EmptyLibraryError, InputError, QuestionError, SettingsError
from crag.core.events import events_from_jsonl, events_to_jsonl
from crag.core.protocols import RunRequest, SearchQuery
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import Answer, Exchange
from crag.engine import Engine
from crag.messages.providers import describe_providers
from crag.models.runtime import E5
from crag.providers.registry import choices
from tests.support.small_library import WordEmbedder, engine_with_texts, fill
from tests.support.small_pdf import small_pdf

pytestmark = pytest.mark.usefixtures("read_here")

QUESTION = "How long did hiring take in 2019?"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_run_is_stored_and_replays_to_the_same_trace(engine: Engine, strategy: str) -> None:
    fill(engine)
    events = list(engine.ask(RunRequest(QUESTION, strategy)))
    assert isinstance(events[0], ev.RunStarted) and isinstance(events[-1], ev.RunFinished)
    trace = Trace.from_events(events)
    assert trace.answer is not None and trace.failure is None
    assert [event.at for event in events] == sorted(event.at for event in events)
    library = engine.library()
    assert library.runs.events(trace.run_id) == events
    (summary,) = library.runs.latest()
    assert (summary.run_id, summary.question, summary.strategy, summary.action) == (
        trace.run_id,
        QUESTION,
        strategy,
        trace.action or "",
    )


@pytest.mark.parametrize(
    ("question", "says"), [("", "empty"), ("  \n ", "empty"), ("why? " * 2000, "9,999")], ids=["none", "blank", "long"]
)
def test_a_question_that_cannot_be_asked_is_a_failure_with_a_remedy(engine: Engine, question: str, says: str) -> None:
    fill(engine)
    events = list(engine.ask(question))
    failure = Trace.from_events(events).failure
    assert failure is not None and says in failure.cause and "2,000" in failure.remedy
    assert len(events[0].question) <= 2000 if isinstance(events[0], ev.RunStarted) else False


def test_a_lone_surrogate_in_a_question_is_no_crash(engine: Engine) -> None:
    fill(engine)
    events = list(engine.ask("hiring \ud800 days?"))
    assert Trace.from_events(events).answer is not None
    assert events_from_jsonl(events_to_jsonl(events)) == events


HALF = "\ud83d"


def test_half_a_character_of_a_conversation_is_replaced_where_it_enters(engine: Engine) -> None:
    fill(engine)
    history = [Exchange(question=f"How long did hiring take {HALF}?", answer=f"{HALF}\ude00 eighty days {HALF}")]
    for standalone in (None, f"How long did hiring {HALF} take?"):
        events = list(engine.ask(RunRequest(f"And why {HALF}?", history=history, standalone=standalone)))
        assert isinstance(events[-1], ev.RunFinished) and not Trace.from_events(events).failures
        assert engine.library().runs.events(events[0].run_id) == events


class HalfWriter:
    """Somebody's own writer, which writes what can't be stored."""

    by = "half"

    def answer(self, question, knowledge, sources, settings):
        yield HALF
        yield Answer(text=HALF, by=self.by)


def test_a_run_that_cannot_be_stored_ends_and_says_so(tmp_path: Path) -> None:
    with engine_with_texts(AppConfig.of(data=tmp_path), lambda text: 0.9, generator=HalfWriter()) as engine:
        events = list(engine.ask(RunRequest(QUESTION, via="app")))
        assert [type(each) for each in events[-2:]] == [ev.Failed, ev.RunFinished]
        assert events[-2].instead == "not stored" and not engine.library().in_flight.known(events[0].run_id)


def test_stop_is_an_event_and_the_run_is_stored(tmp_path: Path) -> None:
    """Stop is pressed while passages are graded: an answer that is ready before it may stand."""
    stop = threading.Event()

    def press(text: str) -> float:
        stop.set()
        return 0.9

    with engine_with_texts(AppConfig.of(data=tmp_path), press) as engine:
        seen = list(engine.ask(RunRequest(QUESTION, cancel=stop)))
        trace = Trace.from_events(seen)
        assert trace.cancelled and trace.finished and trace.answer is None
        assert engine.library().runs.events(trace.run_id) == seen


def test_a_data_folder_that_is_a_file_is_a_clear_failure(tmp_path: Path) -> None:
    place = tmp_path / "data"
    place.write_text("not a folder")
    with_file = Engine(AppConfig.of(data=place), embedder=WordEmbedder())
    failure = Trace.from_events(with_file.ask(QUESTION)).failure
    assert failure is not None and "another folder" in failure.remedy
    assert place.read_text() == "not a folder"


def test_the_configuration_chooses_the_embedding_model(tmp_path: Path) -> None:
    ids = {}
    for name in choices("embedding"):
        given = {"embedding_model": "bge-m3", "embedding_base_url": "http://127.0.0.1:9/v1"}
        keys = Keys(openai=SecretStr("a key"))
        with Engine(AppConfig.of(data=tmp_path, embedding=name, **given), keys) as engine:
            ids[name] = engine.embedder.id
    assert ids == {
        "local": E5.id,
        "openai": "openai:bge-m3",
        "openai-compatible": "openai-compatible:bge-m3@127.0.0.1:9",
    }
    with Engine(AppConfig.of(data=tmp_path)) as engine:
        assert engine.embedder.id == E5.id


def test_another_config_gives_a_run_another_web(engine: Engine) -> None:
    fill(engine)
    off = engine.config.changed(web="off")
    settings = Settings(upper=1.0, lower=0.0)
    assert Trace.from_events(engine.ask(RunRequest(QUESTION, settings=settings))).searches
    assert not Trace.from_events(engine.ask(RunRequest(QUESTION, settings=settings, config=off))).searches
    assert [status.on for status in describe_providers(engine, off) if status.name == "Web search"] == [False]


def test_files_of_little_confidence_are_left_out_where_the_strategy_says_so(engine: Engine) -> None:
    pdf = small_pdf("Hiring took ninety days in 2019, they say.")
    with pytest.raises(InputError, match="between 0 and 1"):
        list(engine.add_files([("a.pdf", lambda: pdf)], confidence=1.5))
    events = engine.add_files([("sample.pdf", lambda: pdf)], confidence=0.5)
    (added,) = [event for event in events if event.kind == "document_added"]
    assert added.document.confidence == 0.5
    fill(engine)
    assert "sample.pdf" in {found.chunk.source for found in engine.library().search(QUESTION, 10)}
    sources = {found.chunk.source for found in engine.library().find(SearchQuery(QUESTION, 10, min_confidence=0.7))}
    assert sources == {"report.pdf"}


def test_an_answer_is_that_of_its_stored_run(engine: Engine) -> None:
    fill(engine)
    answer = engine.answer(RunRequest(QUESTION, "plain-rag", run_id="mine"))
    assert answer.citations and answer == engine.library().runs.trace("mine").answer
    (summary,) = engine.library().runs.latest()
    assert (summary.run_id, summary.strategy) == ("mine", "plain-rag")


def test_an_answer_that_does_not_come_is_the_error_that_ended_the_run(engine: Engine) -> None:
    with pytest.raises(EmptyLibraryError, match="no documents") as empty:
        engine.answer(QUESTION)
    assert "Add files" in empty.value.remedy
    fill(engine)
    with pytest.raises(QuestionError, match="empty"):
        engine.answer(" ")
    with pytest.raises(SettingsError, match=r"none-such.*plain-rag"):
        engine.ask(RunRequest(QUESTION, "none-such"))
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(CancelledError):
        engine.answer(RunRequest(QUESTION, cancel=stopped))


def test_what_stands_in_for_another_part_is_no_error(tmp_path: Path) -> None:
    config = AppConfig.of(data=tmp_path / "data", web="folder", web_folder=tmp_path / "gone")
    with engine_with_texts(config, lambda text: 0.0) as made:
        assert made.answer(QUESTION).abstained
