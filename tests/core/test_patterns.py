"""What looks for patterns in foreign text takes time that grows with its length, not with its square."""

from collections.abc import Callable

import pytest
from pydantic import BaseModel

from crag.analysis.questions.matching import answer_match
from crag.core.errors import ReplyError
from crag.core.settings import Settings
from crag.evaluation.local import trim_answer
from crag.evaluation.strip_dependencies import needs
from crag.evaluation.strips import StripRefiner
from crag.export.markdown import escape_markdown
from crag.generation.citations import literal, quotable, split_cited_sentences, with_mark
from crag.generation.conversation.followup_detection import follows_on
from crag.generation.lists import head_lines, list_end
from crag.generation.subjects import names_of, subjects_of
from crag.index.lexical import stems
from crag.ingest.files import safe_name
from crag.ingest.wrapped import unwrap
from crag.providers.endpoint import read
from crag.providers.speech import Speech
from crag.retrieval.rewriting import _validate_query
from crag.testing.fakes import chunk_of
from crag.text.dates import dates_in
from crag.text.guard import detect_injection
from crag.text.numerals import numbers_in
from crag.text.sentences import sentences
from crag.text.words import MOST, few_marks, keywords
from tests.support.sizes import sized
from tests.support.work import takes_longer

LENGTH = sized(100_000, 20_000)
"""Characters: the most is more than a page of the web keeps, and half of what a page of a PDF may hold."""
SECONDS = LENGTH / 50_000
"""Of a quiet machine; each takes a tenth of that, and of the most characters took up to minutes."""


class Score(BaseModel):
    score: float


def object_in(text: str) -> None:
    with pytest.raises(ReplyError):
        read(Score, text)


def spoken_in_pieces(text: str) -> None:
    speech = Speech()
    assert not any(speech.heard(each) for each in "<think>" + text)


def split(text: str) -> None:
    for way in ("sentences", "windows", "selection"):
        StripRefiner().decompose(text, Settings(strips=way))


READERS: dict[str, Callable[[str], object]] = {
    "sentences": sentences,
    "strips": split,
    "needs": lambda text: needs([text, *text[:5_000].split()]),
    "quotation": quotable,
    "cited": split_cited_sentences,
    "literal": lambda text: literal("opened in 1890", text),
    "lists": lambda text: (head_lines(text), list_end(text, 0, 1), list_end(f"All:\n{text}", 0, 4)),
    "marked": lambda text: with_mark(text, 1),
    "query": lambda text: _validate_query(text, 5),
    "name": safe_name,
    "match": lambda text: answer_match(text, "opened in 1890"),
    "object": object_in,
    "names": names_of,
    "subjects": lambda text: subjects_of("Why at Wausau?", ["it"], {"it": chunk_of(text)}),
    "mended": lambda text: trim_answer(text, len(text) // 2, len(text) // 2 + 1),
    "pieces": spoken_in_pieces,
    "orders": detect_injection,
    "dates": dates_in,
    "figures": numbers_in,
    "keywords": keywords,
    "follows on": follows_on,
    "stems": stems,
    "unwrapped": unwrap,
    "escaped": escape_markdown,
}
UNITS = [
    *(".", ". ", "...x", "?!", ".'", "。", "…", "-", "- ", "(", "$(", "1", "1,", "1.", "1,000", "1,1x "),
    *(" ", "\t", "\u2003", "\n", " \n", "[", "[1", "[1,", "[1] ", "{", '{"a":', "{}", "}", "<", "<a", "`", "_", "'s"),
    *('"', "“", "&amp;", "&#", "яa", "я", "\u200b", "Aa ", "Total 1; 2; ", "of the ", "January 5, ", "No. ", "a b. "),
    *("; ", ";", "|", "| ", ": ", "e\u0301", "\u0316\u0301", "a.", "A.", "a", "x-", "in ", "Q: ", "query:", "http://"),
    *("ignore ", "i.", "\u0456gn", "a1", "1a", "aя", "your answer ", "a b c d e  ", "\u0301", "one ", "A1-", "1 to "),
    *("January ", "2018-", "Jan 1-2 ", "1/1/", "fiscal ", "million ", "9", "$"),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_no_text_takes_long(name: str) -> None:
    assert [ascii(unit) for unit in UNITS if takes_long(READERS[name], unit * (LENGTH // len(unit)))] == []


def takes_long(reader: Callable[[str], object], text: str) -> bool:
    return takes_longer(SECONDS, lambda: (reader(f"It was {text}x"), reader(text)))


def test_a_letter_keeps_the_accents_of_every_writing_and_no_more() -> None:
    for text in ("é ế e\u0301", "שָׁלוֹם", "ก็ที่", "日本語", "a" + "\u0301" * MOST):
        assert few_marks(text) == text
    assert few_marks("a" + "\u0316\u0301" * 50_000 + "b") == "a" + "\u0316\u0301" * (MOST // 2) + "b"


@pytest.mark.parametrize("pieces", ["<think>a</think> b", " <thi", "b", "<think>a<", "<think></think>\n\n b c", "<b>"])
def test_thoughts_are_left_out_however_the_reply_is_cut(pieces: str) -> None:
    whole = Speech().heard(pieces)
    one = Speech()
    assert "".join(map(one.heard, pieces)) == whole
    assert "a" not in whole and "think" not in whole
