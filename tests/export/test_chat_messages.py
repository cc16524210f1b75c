"""An answer as a message of a chat: nothing in it is a link or a picture however it is cut, and it can be read back."""

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from crag.core.trace import Trace
from crag.core.types import Answer, Citation, Reported, SentenceCheck, ShortAnswer
from crag.export.markdown import Harmless, closing, extract_answer, opening
from crag.messages.answers import LOW_CONFIDENCE, NOTHING_SHOWN

MARKUP = st.text(st.sampled_from("[]()!<>a/:\\ 1\u202e\n"), max_size=40)


@given(MARKUP, st.lists(st.integers(0, 40)))
def test_no_link_picture_or_element_is_left_wherever_the_text_is_cut(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    harmless = Harmless()
    said = "".join(harmless(text[start:end]) for start, end in pairwise(places))
    assert said == Harmless()(text)
    assert not re.search(r"\][(:]|<[a-z/!?]", said)
    assert said.replace("\\", "") == text.replace("\\", "").replace("\u202e", "")


def citation(number: int, **more: str | int) -> Citation:
    given = {"strip_id": "s", "source_id": "c", "origin": "internal", "source": "a [report].pdf", "quote": "q", **more}
    return Citation(number=number, **given)  # type: ignore[arg-type]


def test_under_an_answer_stand_its_sources_and_what_is_doubtful() -> None:
    web = citation(2, origin="external", source="Moon", url="https://example.org/a b")
    answer = Answer(
        text="It took 80 days [1]. It is far [2]. So they say.",
        by="m",
        citations=(citation(1, page=3), web),
        low_confidence=True,
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
        "*Nothing found names Madill.*  \n"
        f"*{LOW_CONFIDENCE}. Check the cited pages.*  \n"
        f"*{NOTHING_SHOWN.capitalize()}: So they say.*  \n"
        "*The table on p. 3 says 70 \\[1\\].*  \n"
        "*Your documents give different values: 80 in a \\[report\\].pdf (2018) \\[1\\]; 90 in Moon \\[2\\].*"
    )
    assert extract_answer(answer.text + said) == "It took 80 days . It is far . So they say."
    assert closing(Trace()) == ""
    assert closing(Trace(answer=Answer(text="They do not say.", by="m", abstained=True, low_confidence=True))) == ""


def test_the_words_that_answer_stand_first_and_are_what_is_read_back() -> None:
    short = ShortAnswer(
        text="$ 1.5", citation=1, source_id="c", strip_id="s", start=0, end=5, confidence=0.9, row="Net *"
    )
    answer = Answer(text="It was $ 1.5 [1].", by="extractive", short=short)
    said = opening(answer) + answer.text
    assert said == "**Net \\*: \\$ 1.5** [1]\n\nIt was $ 1.5 [1]."
    assert opening(Answer(text="", by="m")) == ""
    assert extract_answer(said) == "Net *: $ 1.5"
