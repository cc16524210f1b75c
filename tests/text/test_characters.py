"""Half a character never gets in: pairs are joined, also those of two pieces, and other halves replaced."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.providers.speech import Speech
from crag.text.characters import WholePieces, read_json, whole_text

HALVES = st.text(st.sampled_from("a \ufeff\U0001f600\ud83d\ude00"), max_size=12)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("plain é 漢 \U0001f600", "plain é 漢 \U0001f600"),
        ("\ud83d\ude00", "\U0001f600"),
        ("a\ud83db", "a\ufffdb"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ufeffa\ud83d", "\ufeffa\ufffd"),
    ],
)
def test_pairs_are_joined_and_other_halves_replaced(text: str, whole: str) -> None:
    assert whole_text(text) == whole


@given(HALVES, st.lists(st.integers(0, 12)))
def test_where_a_text_is_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    for listener in (WholePieces(), Speech()):
        said = "".join(listener.heard(text[start:end]) for start, end in pairwise(places))
        said += listener.heard("", last=True)
        assert said == (whole_text(text) if isinstance(listener, WholePieces) else whole_text(text).lstrip())


def test_every_text_in_json_is_whole() -> None:
    read = read_json(
        b'{"\\ud83d": ["\\ud83d\\ude00", {"a": "b\\ude00", "n": 1.5, "none": null}], "raw": "\xed\xa0\xbd"}'
    )
    assert read == {"\ufffd": ["\U0001f600", {"a": "b\ufffd", "n": 1.5, "none": None}], "raw": "\ufffd"}
    with pytest.raises(ValueError, match="Expecting value"):
        read_json("no")
