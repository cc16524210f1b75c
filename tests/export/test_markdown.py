"""An answer as Markdown: footnotes, marks of what is wrong, and nothing of a source that could act."""

import re
from dataclasses import replace

import pytest

from crag.core.events import QuestionRewritten
from crag.core.trace import Trace
from crag.core.types import Answer, Citation, Reported, SentenceCheck
from crag.export import markdown
from crag.messages.answers import NOTHING_SHOWN
from tests.support.whole_run import approved, events


def run(answer: Answer, *checks: SentenceCheck) -> Trace:
    return replace(Trace.from_events(events()), answer=answer, checks=checks)


def cited(number: int, **changes) -> Citation:
    plain = Citation(
        number=number, strip_id="s", source_id="c0", origin="internal", source="r.pdf", quote="It was 1890.", page=3
    )
    return replace(plain, **changes)


def test_each_citation_is_a_footnote_with_file_page_and_quote_or_address():
    said = markdown.turn(Trace.from_events(events()))
    assert "Kept words.[^1] Something else.[^2]" in said
    assert r"[^1]: report.pdf, page 3: “Kept”" in said
    assert "[^2]: **web** " in said and "<https://example.org/a>: “Web words”" in said
    assert r"\[9\]" in said, "a number that stands for no source stays text"


def test_sentences_that_nothing_supports_are_marked_each_in_its_way():
    said = markdown.turn(Trace.from_events(approved()))
    assert "1890[^1]. It is long[^2]. *(not supported by its sources)* It is red" in said
    assert "*(its citation matches no source)* It stands. *(not checked)*" in said


def test_what_was_found_afterwards_is_cited():
    answer = Answer(text="It opened in 1890 [1]. It is red.", by="m", citations=(cited(1, found=True),))
    said = markdown.turn(
        run(
            answer,
            SentenceCheck(sentence="It opened in 1890.", citations=(1,), supported=True, attributed=True),
            SentenceCheck(sentence="It is red.", citations=(), supported=False, note="nothing shown"),
        )
    )
    assert f"It opened in 1890[^1]. It is red. *({NOTHING_SHOWN})*" in said


def test_a_kept_web_page_and_recognised_text_are_said():
    kept = cited(1, from_web="unverified", url="https://example.org/a b", recognised=0.8)
    said = markdown.turn(run(Answer(text="Yes [1].", by="m", citations=(kept,))))
    assert "<https://example.org/a%20b>, kept from the web, unverified, read by text recognition, " in said


def test_a_conversation_keeps_the_footnotes_of_its_turns_apart_and_says_what_was_asked_as():
    first, second = Trace.from_events(events()), Trace.from_events(approved())
    context = QuestionRewritten(
        question=second.question, standalone="When was the bridge in Ulm opened?", by="gpt", at=0
    )
    said = markdown.conversation([first, replace(second, context=context)])
    assert said.startswith("# Conversation\n") and said.count("\n## ") == 2
    assert "[^1-1]:" in said and "[^2-1]:" in said and "Asked as: When was the bridge in Ulm opened?" in said
    defined = re.findall(r"^\[\^([\d-]+)\]:", said, re.MULTILINE)
    assert len(defined) == len(set(defined))


@pytest.mark.parametrize(
    "hostile",
    [
        "[click](https://evil.example)",
        "![x](https://evil.example/x.png)",
        "<img src=x onerror=alert(1)>",
        "<https://evil.example>",
        "&lt;b&gt;",
        "# heading",
        "```sh",
        "~~~",
        "> quote",
        "**bold** __bold__ ~~gone~~ `code` $x$",
        "a | b",
        "[^1]: forged",
        "\\[x](y)",
    ],
)
def test_markup_of_a_source_is_text(hostile):
    said = markdown.escape_markdown(hostile)
    unescaped = re.sub(r"\\.", "", said)
    assert not re.search(r"[\[\]<>`*_~|$&#\\]", unescaped)


@pytest.mark.parametrize("begins", ["- x", "+ x", "=== x", "1. x", "12) x", ": x"])
def test_no_line_begins_what_is_not_a_paragraph(begins):
    assert re.match(r"\d*\\", markdown.escape_markdown(begins))


@pytest.mark.parametrize(
    "address", ["http://a.b/c", "www.evil.com", "bob@evil.com", "пример.рф", "HTTPS://X.Y", "x.pdf.com", "x.pdf/y"]
)
def test_no_reader_finds_an_address_in_text(address):
    """Between the parts of an address stands a word joiner, which ends what a reader would make a link of."""
    said = markdown.escape_markdown(f"see {address} now")
    assert not re.search(r"\w(://|\.[^\W\d]|@)", said)


def test_an_address_that_is_none_of_the_web_is_text():
    strange = cited(1, origin="external", page=None, url="javascript:alert(1)")
    said = markdown.turn(run(Answer(text="Yes [1].", by="m", citations=(strange,))))
    assert "<javascript" not in said and "javascript" in said


def test_without_an_answer_the_turn_says_so():
    trace = Trace.from_events(events()[:6])
    assert "*No answer.*" in markdown.turn(trace) and "*Stopped.*" in markdown.turn(replace(trace, cancelled=True))


def test_what_claims_nothing_is_not_marked_and_values_that_differ_are_told():
    answer = Answer(
        text="Here is what they say. It is 5 km [1].",
        by="m",
        citations=(cited(1), cited(2)),
        differing=(Reported(value="5 km", citation=1), Reported(value="6 km", citation=2)),
    )
    said = markdown.turn(
        run(
            answer,
            SentenceCheck(sentence="Here is what they say.", citations=(), supported=None),
            SentenceCheck(sentence="It is 5 km.", citations=(1,), supported=True, note="scored"),
        )
    )
    assert "Here is what they say. It is 5 km[^1]." in said
    assert "Your documents give different values: 5 km in r.pdf[^1]; 6 km in r.pdf[^2]." in said


def test_evidence_that_was_handed_over_is_listed_with_where_it_stands():
    handed = replace(
        Trace.from_events(events()), wanted="evidence", answer=None, checks=(), via="agent", client="*x* <b>"
    )
    said = markdown.turn(handed)
    assert "Asked through an agent (calls itself “\\*x\\* \\<b\\>”)" in said and "No answer" not in said
    assert "*The evidence was handed to the agent that asked, which writes the answer itself.*" in said
    assert "page 3: “Kept words.”" in said and "<https://example.org/a>: “Web words here.”" in said
