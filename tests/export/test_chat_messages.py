"""An answer as a message of a chat: nothing in it is a link or a picture however it is cut, and it can be read back."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.trace import Trace
from crag.core.types import Answer, Citation, Reported, SentenceCheck, ShortAnswer
from crag.export.html import safe_text
from crag.export.markdown import Harmless, closing, escape_markdown, extract_answer, opening
from crag.messages.answers import NOTHING_SHOWN
from crag.text.addresses import JOINER

MARKUP = st.lists(st.sampled_from([*"[]()!<>a/:\\ 1\u202e\n.@", "www", "pdf"]), max_size=20).map("".join)


@given(MARKUP, st.lists(st.integers(0, 40)))
def test_no_link_picture_or_element_is_left_wherever_the_text_is_cut(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    harmless = Harmless()
    said = "".join(harmless(text[start:end]) for start, end in pairwise(places)) + harmless("", last=True)
    assert said == Harmless()(text, last=True)
    assert not re.search(r"\][(:]|<[a-z/!?]|\w://|@\w|www\.|\w\.a", said)
    plain = text.replace("\\", "").replace("\u202e", "")
    assert said.replace("\\", "").replace(JOINER, "") == plain


@pytest.mark.parametrize(
    "address",
    [
        *("http://evil.example/a?b=c", "HTTPS://1.2.3.4/x", "www.evil.example", "WWW.1and1.com", "evil.example/x"),
        *("bob@evil.example", "bob-@evil.pdf", "mailto:bob@evil.example", "ftp://evil.pdf", "www.evil.pdf", "@octocat"),
    ],
)
def test_a_bare_address_of_a_model_becomes_no_link(address: str) -> None:
    """As the rules of GitHub, remark-gfm, marked and linkify-it find one, in the text and behind its escapes.

    On a page remark-gfm alone reads, which takes no bare host for one.
    """
    anywhere = r"(?i)(?:https?|ftp)://|www\.|[-.\w+]@\w|\w\.(?:example|com|pdf)\b(?!,)"
    for said, linked in (
        (Harmless()(f"Look at {address}, it says.", last=True), anywhere),
        ("".join(map(cut := Harmless(), f"Look at {address}, it says.")) + cut("", last=True), anywhere),
        (escape_markdown(f"Look at {address}, it says."), anywhere),
        (safe_text.markdown(f"Look at {address}, it says."), r"(?i)(?:https?|ftp)://|www\.|[-.\w+]@[-\w]+\."),
    ):
        read = re.sub(r"\\([^\w\s])", r"\1", said)
        for text in (said, read):
            assert not re.search(linked, text)
        assert read.replace(JOINER, "") == f"Look at {address}, it says."


@pytest.mark.parametrize("said", ["In report.pdf, page 3.", "It cost 3.5 million.", "At 10:30. Then: no.", "Yes [1]."])
def test_ordinary_text_stays_as_it_is(said: str) -> None:
    assert Harmless()(said, last=True) == said


def test_an_address_is_read_back_as_it_was() -> None:
    answer = "See https://example.org/a.b [1]."
    assert extract_answer(Harmless()(answer, last=True)) == "See https://example.org/a.b ."


def citation(number: int, **more: str | int) -> Citation:
    given = {"strip_id": "s", "source_id": "c", "origin": "internal", "source": "a [report].pdf", "quote": "q", **more}
    return Citation(number=number, **given)  # type: ignore[arg-type]


def test_under_an_answer_stand_its_sources_and_what_is_doubtful() -> None:
    web = citation(2, origin="external", source="Moon", url="https://example.org/a b")
    answer = Answer(
        text="It took 80 days [1]. It is far [2]. So they say.",
        by="m",
        citations=(citation(1, page=3), web),
        doubts=("unsupported", "unnamed"),
        unnamed=("Madill",),
        contradicts=Reported(value="70", citation=1),
        differing=(Reported(value="80", citation=1, dated="2018"), Reported(value="90", citation=2)),
    )
    check = SentenceCheck(sentence="So they say.", citations=(), supported=False, note="nothing shown")
    said = closing(Trace(answer=answer, checks=(check,)))
    assert said == (
        "\n\n---\n\n"
        "[1] a \\[report\\].pdf, page 3  \n"
        "[2] **web** Moon, <https://example.org/a%20b>  \n"
        "*Check this: nothing found supports 1 of 1 sentence: “So they say.”; nothing found names Madill (page 3).*  \n"
        f"*{NOTHING_SHOWN.capitalize()}: So they say.*  \n"
        "*The table on p. 3 says 70 \\[1\\].*  \n"
        "*Your documents give different values: 80 in a \\[report\\].pdf (2018) \\[1\\]; 90 in Moon \\[2\\].*"
    )
    assert extract_answer(answer.text + said) == "It took 80 days . It is far . So they say."
    assert closing(Trace()) == ""
    assert closing(Trace(answer=Answer(text="They do not say.", by="m", abstained=True))) == ""


def test_the_words_that_answer_stand_first_and_are_what_is_read_back() -> None:
    short = ShortAnswer(
        text="$ 1.5", citation=1, source_id="c", strip_id="s", start=0, end=5, confidence=0.9, row="Net *"
    )
    answer = Answer(text="It was $ 1.5 [1].", by="extractive", short=short)
    said = opening(answer) + answer.text
    assert said == "**Net \\*: \\$ 1.5** [1]\n\nIt was $ 1.5 [1]."
    assert opening(Answer(text="", by="m")) == ""
    assert extract_answer(said) == "Net *: $ 1.5"
