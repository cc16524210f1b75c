"""How evidence says why a strip is kept, how many words there are, and which search brought which chunk."""

from collections.abc import Sequence
from dataclasses import replace

from crag.core.settings import Settings
from crag.core.trace import Round, Trace
from crag.core.types import Action, Aggregation, Decision, KeepReason, RetrievedChunk, Strip, WebPage
from crag.export.html import evidence, pages, path
from crag.export.html.passage import Passage, View, draw_passage, draw_surroundings
from crag.messages.wording import decision_sentence, outcome_sentence, words_text
from crag.testing.fakes import chunk_of
from tests.support.inspector import Inspector

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


def drawn(whys: Sequence[KeepReason], view: View = BOUNDS) -> str:
    return draw_passage(Passage(text=CHUNK.text, strips=strips(whys)), view)


def run(rounds: Sequence[Sequence[RetrievedChunk]], acted: tuple[str, ...] = (), **settings: object) -> Trace:
    """A run of several retrievals; the strips of the shared chunk are cut."""
    decision = Decision(
        action=Action.AMBIGUOUS,
        deciding_id=None,
        score=0.5,
        upper=0.7,
        lower=0.3,
        aggregation=Aggregation.ANY,
        graded=1,
    )
    made = [Round(query=f"query {number}", chunks=tuple(found)) for number, found in enumerate(rounds)]
    made[-1] = replace(made[-1], decision=decision, acted=acted)
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


def test_a_strip_says_in_a_word_what_else_than_its_score_keeps_it():
    said = drawn([why for _, why in LINES])
    assert said.count("table header</span>") == 1, "once for lines that follow one another"
    assert said.index("table header</span>") < said.index("Sales by year") < said.index("Item 2018")
    assert 'below</span><mark class="along"' in said and said.index("line below</span>") < said.index("grew in Ohio")
    assert said.index("line above</span>") < said.index("It pays more."), "what the line before it announces"
    assert 'title="It heads the table of a row that is kept."' in said, "the whole reason on hover"
    assert '<mark title="score 0.03, kept">Net sales' in said and '<s title="score 0.03, dropped">Nothing' in said
    assert '(table header)">Sales' in said
    assert not Inspector(said).open


def test_what_if_tells_its_own_reasons():
    all_dropped = strips([""] * 8)
    kept = {CHUNK.id: {all_dropped[3].id: "neighbour"}}
    said = draw_passage(Passage(text=CHUNK.text, strips=all_dropped), replace(BOUNDS, kept=kept))
    assert said.count("<mark") == 1 and "goes with the line below</span><mark" in said
    as_it_was = strips([why for _, why in LINES])
    assert "<mark" not in draw_passage(Passage(text=CHUNK.text, strips=as_it_was), replace(BOUNDS, kept={}))


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


def test_chunks_of_several_searches_stand_under_the_search_that_brought_them():
    first, second, third = found(1), found(4, "Second."), found(2, "Third.", round=1)
    trace = run([[first, second], [third]], (first.chunk.id, second.chunk.id, third.chunk.id))
    drawing = evidence.chunks(trace, View.of(trace))
    said = Inspector(drawing).said
    assert "the best of 2 searches" in said and "Search 1for the question2 of its 2 chunks" in said
    assert "Search 2query 11 of its 1 chunk" in said
    order = [drawing.index(text) for text in ("Search 1", "Second.", "Search 2", "Third.")]
    assert order == sorted(order)
    assert "Search 2" in pages.page(trace), "the exported page too"


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
    strip = Strip(
        id="s",
        source_id="w",
        origin="external",
        start=text.index("It opened"),
        end=len(text),
        text="It opened in 1890.",
        score=0.9,
        kept=True,
        why="score",
    )
    said = draw_surroundings(Passage(text=page.text, strips=[strip], short=(start, start + 4)), BOUNDS)
    assert 'It opened in <span class="answering">1890</span>.</mark>' in said
    assert "answering" not in draw_surroundings(Passage(text=page.text, strips=[strip]), BOUNDS)
