"""What is drawn of an answer beside its words: checks, figures, values that differ, tables, kept pages, scopes."""

from dataclasses import replace

import pytest

from crag.core import events as ev
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Answer, Chunk, FigureCheck, Judgement, Reported, SentenceCheck
from crag.export.html import answer, evidence, pages
from crag.export.html.marks import SavedPages, keeper, verifier
from crag.export.html.passage import View
from crag.export.markdown import turn
from crag.generation.extractive import ExtractiveGenerator
from crag.testing.contracts import strip_of
from crag.testing.fakes import table_chunk_of
from tests.support.inspector import Inspector
from tests.support.whole_run import GRADER, NASTY, QWEN, approved, cited, events

TEXT = "The bridge was opened in 1890 [2]. It rose by 5 % [1]. It is red. Here is more:"
CHECKS = (
    SentenceCheck(
        sentence="The bridge was opened in 1890.",
        citations=(2,),
        supported=True,
        score=0.9,
        note="scored",
        by="local-4",
        attributed=True,
        judgements=(
            Judgement(judge="words", supported=None, score=0.8),
            Judgement(judge="evaluator", supported=True, score=0.9, by="local-4"),
        ),
    ),
    SentenceCheck(
        sentence="It rose by 5 %.",
        citations=(1,),
        supported=True,
        score=0.95,
        note="scored",
        by=GRADER,
        judgements=(
            Judgement(judge="words", supported=True, score=0.95),
            Judgement(judge="model", supported=False, score=0.0, by=GRADER),
        ),
    ),
    SentenceCheck(
        sentence="It is red.",
        citations=(),
        supported=False,
        score=0.1,
        note="nothing shown",
        judgements=(Judgement(judge="evaluator", supported=False, score=0.1, by="local-4"),),
    ),
    SentenceCheck(sentence="Here is more:", citations=(), supported=None),
)


def checked() -> list[ev.Event]:
    """A run whose model cites once, with what the check made of the rest."""
    whole = Answer(text=TEXT, by=QWEN, citations=(cited(1, "c0", "internal", page=4),))
    found = replace(cited(2, "c0", "internal", page=4), strip_id="c0:9", found=True)
    events: list[ev.Event] = []
    for event in approved():
        if isinstance(event, ev.Answered):
            event = replace(event, answer=whole)
        if isinstance(event, ev.Verified):
            event = replace(event, checks=CHECKS, faithfulness=2 / 3, found=(found,))
        events.append(event)
    return events


def test_a_checked_answer_shows_sources_found_afterwards_flags_and_objections() -> None:
    trace = Trace.from_events(checked())
    html = answer.answer(trace) + answer.sources(trace)
    seen = Inspector(html)
    assert not seen.open and 'class="cite" data-pick="cite:1"' in html
    assert html.count('data-pick="cite:2"') == 2, "at the sentence, and in the list"
    assert "opened in 1890 2. " in seen.said
    assert "It is red. nothing shown supports this" in seen.said
    titles = {value for name, value in seen.attributes if name == "title"}
    assert "Nothing shown supports this; not supported, say the local evaluator (0.10)." in titles
    assert any(title.startswith("Found afterwards; supported, say") for title in titles)
    assert html.count('class="flagged"') == 1 and html.count('class="disputed"') == 2
    assert "The checks differ on 1 sentence" in seen.said
    assert "qwen at 127.0.0.1:8080 (0.00) says that it is not supported" in seen.said.casefold()
    assert "Here is more: not checked" not in seen.said, "what claims nothing is not flagged"
    page = pages.page(trace, checked())
    assert "nothing shown supports this" in page and "Found afterwards" in page


def figure(sentence: str, text: str, state: str) -> FigureCheck:
    start = sentence.index(text)
    return FigureCheck(start=start, end=start + len(text), text=text, kind="number", state=state)


def trace_with(text: str, *checks: SentenceCheck, **changes: object) -> Trace:
    trace = Trace.from_events(events())
    assert trace.answer is not None
    whole = replace(trace.answer, text=text, **changes)
    return replace(trace, answer=whole, text=text, checks=checks)


SENTENCE = "Sales were 1,632 in 2018, which is 79 more."
CHECK = SentenceCheck(
    sentence=SENTENCE,
    citations=(1,),
    supported=False,
    note="figures",
    figures=(
        figure(SENTENCE, "1,632", "missing"),
        figure(SENTENCE, "2018", "stands"),
        figure(SENTENCE, "79", "missing"),
    ),
)


def test_a_figure_is_marked_where_it_is_and_says_why():
    said = answer.answer(trace_with("Sales  were\n1,632 in [1] 2018, which is 79 more [1].", CHECK))
    seen = Inspector(said)
    assert '<span class="figure missing" title="1,632 does not stand in the source.">1,632<' in said
    assert '<span class="figure missing" title="79 does not stand in the source.">79<' in said
    assert said.count('class="figure') == 2 and not seen.open


def test_what_a_figure_says_is_escaped():
    nasty = f"It is {NASTY} 5."
    check = SentenceCheck(sentence=nasty, citations=(1,), supported=None, figures=(figure(nasty, NASTY, "missing"),))
    said = answer.answer(trace_with(f"It is {NASTY} 5 [1].", check))
    assert "img" not in Inspector(said).tags


def test_values_that_documents_give_differently_stand_with_their_names_and_dates():
    values = (
        Reported(value="1,577", citation=1, dated="2018"),
        Reported(value=f"1,632 {NASTY}", citation=2, dated="2019"),
    )
    said = answer.answer(trace_with("It is so [1].", differing=values))
    seen = Inspector(said)
    assert "Your documents give different values: 1,577 in " in seen.said and "(2018)" in seen.said
    assert said.count('data-pick="cite:1"') == 2 and 'data-pick="cite:2"' in said
    assert "img" not in seen.tags


def test_a_cell_that_says_another_amount_is_told_with_its_source():
    said = answer.answer(trace_with("It is 5 [1].", contradicts=Reported(value=f"1,577 {NASTY}", citation=1)))
    seen = Inspector(said)
    assert "Contradiction. The table on p. " in seen.said and "says 1,577" in seen.said
    assert said.count('data-pick="cite:1"') == 2 and "img" not in seen.tags


SALES = table_chunk_of(
    ["", "2021", "2020"], ["Net sales", "$192,052", "$163,220"], ["Membership <fees>", "3,877", "3,541"]
)


def quoting(question: str, *texts: str, chunk: Chunk = SALES) -> Trace:
    """A run with the answer that strips of the table's chunk give."""
    strips = [strip_of(chunk, text, 0.9) for text in texts]
    *_, whole = ExtractiveGenerator().answer(question, strips, {chunk.id: chunk}, Settings())
    assert isinstance(whole, Answer)
    trace = Trace.from_events(events())
    found = replace(trace.rounds[0].chunks[0], chunk=chunk)
    rounds = (replace(trace.rounds[0], chunks=(found,)), *trace.rounds[1:])
    return replace(trace, answer=whole, text=whole.text, checks=(), rounds=rounds)


def drawn(question: str, *texts: str, chunk: Chunk = SALES) -> str:
    """The same, as it is drawn."""
    return str(answer.answer(quoting(question, *texts, chunk=chunk)))


def row_of(number: int, chunk: Chunk = SALES) -> str:
    row = chunk.tables[0].rows[number]
    return chunk.text[row.start : row.end]


def test_a_looked_up_row_is_a_table_with_its_cell_marked() -> None:
    said = drawn("What were the net sales in 2020?", row_of(0))
    assert '<th scope="col">2021</th><th scope="col">2020</th>' in said
    assert '<th scope="row">Net sales</th><td>$192,052</td><td class="answering">$163,220</td>' in said
    assert "Net sales: 2021" not in Inspector(said).said and said.count('data-pick="cite:1"') == 2
    assert not Inspector(said).open


def test_quoted_rows_are_a_table_in_markdown_too() -> None:
    said = turn(quoting("Which sales and fees were there in 2020?", f"{row_of(0)}\n{row_of(1)}"))
    assert "|  | 2021 | 2020 |\n| --- | ---: | ---: |\n| Net sales[^1] | \\$192,052 |" in said
    assert "| Membership \\<fees\\> | 3,877 |" in said and "Net sales: 2021" not in said.partition("[^1]: ")[0]


def test_a_label_is_escaped() -> None:
    said = drawn("What are the membership fees?", row_of(1))
    assert "Membership &lt;fees&gt;" in said and "<fees>" not in said


def test_rows_of_one_table_that_are_quoted_together_are_one_table() -> None:
    said = drawn("Which sales and fees were there?", f"{row_of(0)}\n{row_of(1)}")
    assert said.count("<table>") == 1 and said.count('<th scope="row">') == 2


def test_a_single_row_of_many_columns_is_a_list_of_its_cells() -> None:
    years = [str(year) for year in range(2016, 2022)]
    chunk = table_chunk_of(["", *years], ["Net sales", *(f"$19{year}" for year in years)])
    said = drawn("What were the net sales in 2020?", row_of(0, chunk), chunk=chunk)
    assert "<caption>Net sales</caption>" in said and "<thead>" not in said
    assert '<th scope="row">2019</th><td>$192019</td>' in said
    assert '<th scope="row">2020</th><td class="answering">$192020</td>' in said
    assert not Inspector(said).open


def kept_run(url: str, from_web: str = "unverified") -> list[ev.Event]:
    """The whole run, its chunks from a kept page, asked of documents with hostile names."""
    found: list[ev.Event] = []
    for event in events():
        match event:
            case ev.RunStarted():
                found += [event, ev.ScopeResolved(documents=(NASTY,), tags=(f"tag{NASTY}",), gone=1, at=0.0)]
            case ev.Retrieved():
                chunks = [replace(each, chunk=replace(each.chunk, url=url, from_web=from_web)) for each in event.chunks]
                found.append(replace(event, chunks=tuple(chunks)))
            case ev.Answered():
                first, *rest = event.answer.citations
                cited = (replace(first, url=url, from_web=from_web), *rest)
                found.append(replace(event, answer=replace(event.answer, citations=cited)))
            case _:
                found.append(event)
    return found


@pytest.mark.parametrize(
    "url", ["https://example.org/kept", "javascript:alert(1)", f'https://a/"{NASTY}', "folder:a.md"]
)
def test_a_kept_page_is_marked_and_inert_wherever_it_stands(url: str) -> None:
    made = kept_run(url)
    trace = Trace.from_events(made)
    page = pages.page(trace, made)
    for drawn in (answer.sources(trace), evidence.chunks(trace, View.of(trace)), page):
        assert "WEB, KEPT" in drawn and "ept from the web, unverified" in drawn
        assert NASTY not in drawn and 'href="javascript' not in drawn
    assert "With a page kept from the web, unverified" in answer.answer(trace)
    assert "Asked of</span>" in page and "1 document no longer in the library" in page
    assert "Keep as a document" not in page and "Mark as verified" not in page


def test_what_can_be_done_is_drawn_where_it_can_be_done() -> None:
    shelf = SavedPages({"w1": "", "w2": NASTY}, unverified=frozenset("d"), verified=frozenset("e"))
    assert 'data-pick="keep:w1"' in keeper("w1", shelf)
    assert "✓ Kept as" in keeper("w2", shelf) and NASTY not in keeper("w2", shelf)
    assert 'data-pick="verify:d"' in verifier("d", shelf) and "Verified since" in verifier("e", shelf)
    assert not keeper("w3", shelf) and not verifier("f", shelf)
    assert not keeper("w1", None) and not verifier("d", None)
    trace = Trace.from_events(kept_run("https://example.org/kept", "verified"))
    assert "verified" in answer.sources(trace) and "unverified" not in answer.sources(trace)
