"""Sentences: the edges that abbreviations, numbers, lists and line breaks make doubtful, and what always holds."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.text.sentences import sentences


def _split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Net sales were $3.5 million in 2019. They fell.", ["Net sales were $3.5 million in 2019.", "They fell."]),
        ("The U.S. Congress met Mr. J. Smith. He spoke.", ["The U.S. Congress met Mr. J. Smith.", "He spoke."]),
        ("They live in the U.S. The flat is big.", ["They live in the U.S.", "The flat is big."]),
        ("See No. 5 and Fig. 2. No. We won't.", ["See No. 5 and Fig. 2.", "No.", "We won't."]),
        ("At 5 p.m. on Jan. 3 it rained.", ["At 5 p.m. on Jan. 3 it rained."]),
        ('"Really?" she asked. "Yes!" (He nodded.)', ['"Really?" she asked.', '"Yes!"', "(He nodded.)"]),
        ("1. Flour\n2. Sugar, i.e. Sucrose\n• Salt", ["1. Flour", "2. Sugar, i.e. Sucrose", "• Salt"]),
        ("a line that\nis wrapped. And ends", ["a line that\nis wrapped.", "And ends"]),
        ("你好。再见！", ["你好。", "再见！"]),
        ("Wait... what? Yes", ["Wait... what?", "Yes"]),
        ('He "lost control. It ran off." He left.', ['He "lost control. It ran off."', "He left."]),
        ('"We won. We are glad," he said. They left.', ['"We won. We are glad," he said.', "They left."]),
        ('A 5" pipe. The next is "red". Done.', ['A 5" pipe.', 'The next is "red".', "Done."]),
        ('She said "no. He left. It rained.', ['She said "no.', "He left.", "It rained."]),
        ("It fell 4.5 percent at Durant, Okla. on May 3.", ["It fell 4.5 percent at Durant, Okla. on May 3."]),
        ("On May 3,\n2008 it rained.", ["On May 3,\n2008 it rained."]),
        ("Signed by Mr.\nSmith.", ["Signed by Mr.\nSmith."]),
        ("All of the following,\n- salt\n- oil", ["All of the following,", "- salt", "- oil"]),
    ],
)
def test_edges(text: str, expected: list[str]) -> None:
    assert _split(text) == expected


@given(st.text(alphabet=st.sampled_from("aB1.?! \n\"'()-•é。IncUS"), max_size=80))
def test_every_character_is_in_exactly_one_sentence(text: str) -> None:
    spans = sentences(text)
    assert all(a < b for a, b in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert all(text[a:b] == text[a:b].strip() for a, b in spans)
    covered = "".join(text[a:b] for a, b in spans)
    assert "".join(covered.split()) == "".join(text.split())
