"""An answer as Markdown: footnotes, marks of what is wrong, and nothing of a source that could act."""

import re
from dataclasses import replace

import pytest

from crag.core.events import QuestionRewritten
from crag.core.trace import Trace
from crag.core.types import Answer, Citation, SentenceCheck
from crag.export import markdown
from tests.support.whole_run import approved, events


def run(answer: Answer, *checks: SentenceCheck) -> Trace:
    return replace(Trace.from_events(events()), answer=answer, checks=checks)


def cited(number: int, **changes) -> Citation:
    plain = Citation(
        number=number, strip_id="s", source_id="c0", origin="internal", source="r.pdf", quote="It was 1890.", page=3
    )
    return replace(plain, **changes)


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
