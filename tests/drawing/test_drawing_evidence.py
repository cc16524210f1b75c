"""How evidence says why a strip is kept, how many words there are, and which search brought which chunk."""

from collections.abc import Sequence
from dataclasses import replace

from crag.core.settings import Settings
from crag.core.trace import Round, Trace
from crag.core.types import KeepReason, RetrievedChunk, Strip, WebPage
from crag.export.html import evidence, path
from crag.export.html.passage import Passage, View, draw_surroundings
from crag.messages.wording import decision_sentence, outcome_sentence, words_text
from crag.testing.contracts import strip_of
from crag.testing.fakes import chunk_of
from tests.support.inspector import Inspector
from tests.support.made import decided

LINES: list[tuple[str, KeepReason]] = [
    ("Sales by year, in millions.", "context"),
    ("Item 2018 2019", "context"),
    ("Net sales: 2018 1,577; 2019 1,602", "score"),
    ("The firm grew in Ohio.", "neighbour"),
    ("It also grew in Utah.", "score"),
    ("The plan has two parts:", "score"),
    ("It pays more.", "neighbour"),
    ("Nothing else was said.", ""),
]
CHUNK = chunk_of("\n".join(line for line, _ in LINES), name="report.pdf", page=2)
BOUNDS = View(upper=0.7, lower=0.3)


def strips(whys: Sequence[KeepReason], source: str = CHUNK.id) -> tuple[Strip, ...]:
    """The lines of the chunk as strips, each kept for one of the reasons; dropped for none."""
    found, at = [], 0
    for (line, _), why in zip(LINES, whys, strict=True):
        place = {"id": f"{source}:{at}", "source_id": source, "start": at, "end": at + len(line), "text": line}
        found.append(Strip(**place, origin="internal", score=0.03, kept=bool(why), why=why))
        at += len(line) + 1
    return tuple(found)


def run(rounds: Sequence[Sequence[RetrievedChunk]], acted: tuple[str, ...] = (), **settings: object) -> Trace:
    """A run of several retrievals; the strips of the shared chunk are cut."""
    made = [Round(query=f"query {number}", chunks=tuple(found)) for number, found in enumerate(rounds)]
    made[-1] = replace(made[-1], decision=decided(), acted=acted)
    whys = [why for _, why in LINES]
    return Trace(
        question="How much?",
        settings=Settings(**settings).model_dump(mode="json"),
        rounds=tuple(made),
        strips={CHUNK.id: strips(whys)},
        finished=True,
    )


def found(rank: int, text: str = "", round: int = 0) -> RetrievedChunk:
    chunk = chunk_of(text, name="other.pdf", page=rank) if text else CHUNK
    return RetrievedChunk(chunk=chunk, rank=rank, similarity=0.5, round=round)


def test_words_are_counted_beside_the_room_for_them():
    whole = strips(["score"] * 8)
    assert words_text(whole[3:4]) == "5 words" and words_text((), 400) == "0 of 400 words"
    trace = run([[found(1)]], strip_words=400)
    said = Inspector(evidence.chunks(trace, View.of(trace))).said
    assert "32 of 400 words kept" in said and "7 of 8 strips kept, 32 words." in said
    assert "Using 7 of 8 strips (32 of 400 words) from your documents." in outcome_sentence(trace)
    unlimited = run([[found(1)]], strip_words=0)
    assert "32 words kept" in evidence.chunks(unlimited, View.of(unlimited)) and "(" not in outcome_sentence(unlimited)
    moved = replace(View.of(trace), room=100, kept={CHUNK.id: {whole[3].id: "score"}})
    assert "5 of 100 words kept" in evidence.chunks(trace, moved)


def test_a_doubted_action_is_explained_beside_it():
    trace = run([[found(1)]])
    doubted = replace(trace.decision, score=0.25, doubt=0.1)
    trace = replace(trace, rounds=(replace(trace.rounds[0], decision=doubted),))
    reason = "the best passage fits 0.25, below 0.30 but within the margin of doubt (0.10), so your documents stay."
    assert decision_sentence(doubted) == f"AMBIGUOUS: {reason}"
    assert f"Your documents: partly. T{reason[1:]}" in Inspector(path.action(trace)).said


def test_the_words_that_answer_are_marked_in_a_web_passage():
    text = " ".join(f"Sentence {number} is about dogs." for number in range(200)) + " It opened in 1890."
    start = text.index("1890")
    page = WebPage(id="w", url="https://a.example", title="A", text=text, provider="folder", query="q", rank=1)
    strip = replace(strip_of(page, "It opened in 1890.", 0.9), why="score")
    said = draw_surroundings(Passage(text=page.text, strips=[strip], short=(start, start + 4)), BOUNDS)
    assert 'It opened in <span class="answering">1890</span>.</mark>' in said
    assert "answering" not in draw_surroundings(Passage(text=page.text, strips=[strip]), BOUNDS)
