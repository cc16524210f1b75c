"""Parts that stand in for others: who does the work, in which order things are said, and what is passed on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from crag.core import events as ev
from crag.core.errors import CancelledError, IndexUnavailableError, ProviderError, UnreachableError
from crag.core.filters import filter_of
from crag.core.protocols import Generator, SearchQuery
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Answer, Chunk, RetrievedChunk
from crag.messages.wording import embedded_sentence, failure_sentence
from crag.pipeline.context import EventEmitter
from crag.pipeline.fallback import FallbackGenerator, FallbackRewriter, FallbackWeb, LibraryRetriever
from crag.retrieval.rewriting import KeywordRewriter
from crag.runtime.usage import UsageTracker
from crag.testing.fakes import FixedWeb, chunk_of


@dataclass
class Mute:
    """A rewriter that fails, and counts how often it was asked."""

    by: str = "a model"
    asked: int = 0

    def rewrite(
        self, question: str, *, max_keywords: int, failed: Sequence[Chunk] = (), tried: Sequence[str] = ()
    ) -> str:
        self.asked += 1
        raise UnreachableError("It is gone.")


@dataclass
class Writer:
    """Writes these pieces, then fails or ends, or gives the whole answer."""

    pieces: Sequence[str]
    ends: Exception | None = None
    whole: bool = True
    by: str = "a writer"

    def answer(self, *_: object) -> Iterator[str | Answer]:
        yield from self.pieces
        if self.ends is not None:
            raise self.ends
        if self.whole:
            yield Answer(text="".join(self.pieces), by=self.by)


@dataclass
class Given:
    """Gives this answer at once."""

    answers: Answer

    @property
    def by(self) -> str:
        return self.answers.by

    def answer(self, *_: object) -> Iterator[str | Answer]:
        yield self.answers


@dataclass
class Heard:
    emitter: EventEmitter = field(default_factory=EventEmitter)
    events: list[ev.Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.emitter.listener = self.events.append

    @property
    def said(self) -> list[str]:
        return [failure_sentence(event) for event in self.events if isinstance(event, ev.Failed)]


@dataclass
class FakeLibrary:
    """A library whose index holds one chunk, or is down; and what its records hold."""

    indexed: str = ""
    recorded: str = ""
    embeds: bool = True
    embedded: float = 1.0
    """The share of chunks that have a vector."""

    @property
    def unembedded(self) -> "FakeLibrary":
        return self

    def share(self) -> float:
        return self.embedded

    def find(self, query: SearchQuery, embedder: object) -> list[RetrievedChunk]:
        if not self.embeds and not query.by_words:
            raise UnreachableError("can't be reached.", who="its embedding server")
        if not self.indexed:
            raise IndexUnavailableError("The index does not answer.", "Start it.")
        return [RetrievedChunk(chunk=chunk_of(self.indexed), rank=1, similarity=0.5)]

    def find_in_records(self, query: SearchQuery, embedder: object) -> list[RetrievedChunk]:
        assert (query.where, query.min_confidence) == (filter_of("verified"), 0.5)
        return [RetrievedChunk(chunk=chunk_of(self.recorded), rank=1, similarity=0.5)]


def test_where_the_index_is_down_the_records_are_searched_and_the_run_says_so() -> None:
    heard, settings = Heard(), Settings(where=filter_of("verified"), min_confidence=0.5)
    down: Any = FakeLibrary(recorded="a text")
    found = LibraryRetriever(down, settings, heard.emitter).search("anything", 3)
    assert [each.chunk.text for each in found] == ["a text"]
    [failed] = heard.events
    assert isinstance(failed, ev.Failed) and not failed.fatal
    assert (failed.step, failed.instead, failed.remedy) == ("retrieve", "records", "Start it.")
    quiet, up = Heard(), FakeLibrary(indexed="through the index")
    works: Any = up
    assert LibraryRetriever(works, settings, quiet.emitter).search("anything", 3)
    assert not quiet.events


def test_a_run_says_once_how_many_passages_have_vectors_and_calls_it_no_failure() -> None:
    heard, half = Heard(), FakeLibrary(indexed="by its words", embedded=0.607)
    library: Any = half
    retriever = LibraryRetriever(library, Settings(), heard.emitter)
    assert retriever.search("anything", 3) and retriever.search("anything else", 3)
    trace = Trace.from_events(heard.events)
    assert len(heard.events) == 1 and trace.embedded == 0.607 and not trace.failures
    assert embedded_sentence(trace) == "Searched by words: 60 % of the passages have meaning vectors so far."


def test_where_the_embedding_server_is_down_words_are_searched_also_in_the_records() -> None:
    for indexed, instead in [("through the index", ["words alone"]), ("", ["words alone", "records"])]:
        heard, settings = Heard(), Settings(where=filter_of("verified"), min_confidence=0.5)
        mute: Any = FakeLibrary(indexed=indexed, recorded="a text", embeds=False)
        [found] = LibraryRetriever(mute, settings, heard.emitter).search("anything", 3)
        assert found.chunk.text == (indexed or "a text")
        assert [event.instead for event in heard.events if isinstance(event, ev.Failed)] == instead
    assert (
        heard.said[0]
        == "its embedding server can't be reached. The documents were searched for the question's words alone."
    )


def test_a_rewriter_that_fails_is_told_before_the_next_is_asked() -> None:
    heard, mute = Heard(), Mute()
    rewriter = FallbackRewriter([mute, KeywordRewriter()], heard.emitter)
    query = rewriter.rewrite("When was the long bridge opened?", max_keywords=3)
    assert query and rewriter.by == "keywords" and mute.asked == 1
    assert heard.said == ["It is gone. It is rewritten by keywords instead."]


def written(generator: Generator) -> list[str | Answer]:
    return list(generator.answer("Which bridge?", [], {}, Settings()))


@pytest.mark.parametrize("shown", [(), ("The bridge ", "was")])
@pytest.mark.parametrize("first", ["breaks off", "ends without an answer"])
def test_the_quote_stands_first_and_again_where_the_first_fails(shown: Sequence[str], first: str) -> None:
    heard = Heard()
    ends = UnreachableError("It broke off.") if first == "breaks off" else None
    generator = FallbackGenerator(Writer(shown, ends, whole=False, by="m"), Writer(["A ", "quote."]), heard.emitter)
    quote = Answer(text="A quote.", by="a writer")
    assert written(generator) == [quote, *shown, replace(quote, instead_of="m")]
    why = "It broke off." if ends else "The answer ended before it was complete."
    assert heard.said == [f"{why} The best sentences are quoted instead."]


def test_a_generator_that_does_not_fail_is_passed_on_behind_the_quote() -> None:
    heard, first = Heard(), Writer(["The ", "bridge."], by="m")
    [quote, *passed] = written(FallbackGenerator(first, Writer(["A quote."]), heard.emitter))
    assert isinstance(quote, Answer) and quote.text == "A quote." and passed == written(first)
    broken = Writer([], UnreachableError("No quote."))
    assert written(FallbackGenerator(first, broken, heard.emitter)) == written(first)
    assert heard.events == []


@pytest.mark.parametrize(
    ("confidence", "low", "quoted"), [(0.9, False, True), (0.1, False, False), (None, True, False)]
)
def test_where_a_model_finds_no_answer_a_sure_quote_stands_and_is_marked(
    confidence: float | None, low: bool, quoted: bool
) -> None:
    silent = Given(Answer(text="They do not say.", by="m", abstained=True))
    quote = Answer(text="A quote.", by="extractive", confidence=confidence, doubts=("weak",) if low else ())
    generator = FallbackGenerator(silent, Given(quote), Heard().emitter)
    *_, last = generator.answer("Which bridge?", [], {}, Settings(confident_answer=0.6))
    assert last == (replace(quote, instead_of="m", remarks=("no answer",)) if quoted else silent.answers)


def test_a_written_answer_has_the_confidence_of_the_quote() -> None:
    quote = Answer(text="A quote.", by="extractive", confidence=0.7)
    *_, last = written(FallbackGenerator(Writer(["It is."], by="m"), Given(quote), Heard().emitter))
    assert isinstance(last, Answer) and (last.text, last.confidence) == ("It is.", 0.7)


def test_stop_is_no_failure_that_another_part_makes_up_for() -> None:
    heard = Heard()
    stopped = FallbackGenerator(Writer(["The "], CancelledError("Stopped.")), Writer(["A quote."]), heard.emitter)
    with pytest.raises(CancelledError):
        written(stopped)
    assert heard.events == []


def test_each_web_that_fails_is_told_and_the_last_ends_the_search() -> None:
    heard = Heard()
    broken = [FixedWeb(fails=True, name="tavily"), FixedWeb(fails=True, name="duckduckgo")]
    assert FallbackWeb(broken, heard.emitter, UsageTracker()).search("bridge", 3) is None
    assert heard.said == [
        "The web search did not answer. duckduckgo is asked instead.",
        "The web search did not answer. The answer rests on your documents alone.",
    ]
    found = FallbackWeb([broken[0], FixedWeb(texts=["A page."], name="folder")], heard.emitter, UsageTracker())
    searched = found.search("bridge", 3)
    assert searched is not None and searched.provider == "folder" and len(searched.pages) == 1


def test_what_is_no_failure_of_a_provider_goes_through() -> None:
    class Broken(FixedWeb):
        def search(self, query: str, max_results: int) -> list[object]:  # type: ignore[override]
            raise ZeroDivisionError

    heard = Heard()
    with pytest.raises(ZeroDivisionError):
        FallbackWeb([Broken(), FixedWeb()], heard.emitter, UsageTracker()).search("bridge", 3)  # type: ignore[list-item]
    assert not issubclass(ZeroDivisionError, ProviderError)
