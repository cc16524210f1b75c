"""Strips: offsets that lose nothing, the paper's rules, and the filter."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.settings import Settings
from crag.core.types import Strip
from crag.evaluation.strip_dependencies import needs
from crag.evaluation.strip_selection import Rule
from crag.evaluation.strips import StripRefiner, filter_strips
from crag.text.words import count_words

Way = Literal["sentences", "windows", "selection"]

TEXTS = st.text(
    alphabet=st.one_of(st.sampled_from("ab Zé.!?,;|\t\n\r  “”()[]0123•-\x00\u00a0\u3002日本한ก"), st.characters()),
    max_size=400,
)
PROSE = st.lists(
    st.sampled_from("The cat sat. It rained a lot | and\n then Ended? 3.5 Dr. No! x\n\n".split(" ")), max_size=200
)


def cut(text: str, way: Way = "sentences", group: int = 1) -> list[str]:
    spans = StripRefiner().decompose(text, Settings(strips=way, strip_sentences=group))
    return [text[start:end] for start, end in spans]


@given(st.one_of(TEXTS, PROSE.map(" ".join)), st.sampled_from(["sentences", "windows", "selection"]), st.integers(1, 5))
def test_strips_lie_in_order_and_cover_every_character(text: str, way: Way, group: int) -> None:
    spans = StripRefiner().decompose(text, Settings(strips=way, strip_sentences=group))
    place = 0
    for start, end in spans:
        assert place <= start < end <= len(text)
        assert not text[place:start].strip()
        assert text[start:end] == text[start:end].strip()
        place = end
    assert not text[place:].strip()


@given(st.integers(1, 400))
def test_windows_have_fifty_words_and_no_short_tail(count: int) -> None:
    strips = cut(" ".join(f"w{place}" for place in range(count)), "windows")
    sizes = [len(strip.split()) for strip in strips]
    assert sum(sizes) == count
    assert all(size == 50 for size in sizes[:-1])
    assert sizes[-1] < 60
    assert len(sizes) == 1 or sizes[-1] >= 10


def test_a_label_is_one_strip_with_the_value_below_it() -> None:
    lines = [
        "1. Tender Number:",
        "1295",
        "2. Name of the contractor:",
        "Reino International Pty Ltd",
        "It began to work in May of that year.",
    ]
    assert cut("\n".join(lines)) == ["\n".join(lines[:2]), "\n".join(lines[2:4]), lines[4]]


def test_a_text_under_ten_words_is_one_window() -> None:
    assert cut("only four words here", "windows") == ["only four words here"]


def test_scripts_without_spaces_are_cut_by_characters() -> None:
    assert [len(strip) for strip in cut("日" * 120, "windows")] == [50, 70 - 20, 20]


def test_a_short_sentence_joins_the_one_before() -> None:
    assert cut(
        "The committee met on Monday to settle the budget. It failed. Nobody was surprised by the outcome then."
    ) == ["The committee met on Monday to settle the budget. It failed.", "Nobody was surprised by the outcome then."]


def test_fragments_alone_are_one_strip() -> None:
    assert cut("Yes. No. Maybe.") == ["Yes. No. Maybe."]


def test_each_table_row_is_a_strip() -> None:
    text = (
        "The table below shows what was spent in every year.\n"
        "Spending by year\nYear | Staff | Dollars\n2018 | 40 | 1,000\n2019 | 41 | 1,200\n"
        "The table above shows that spending rose a little."
    )
    assert cut(text, group=3) == [
        "The table below shows what was spent in every year.\nSpending by year",
        "Year | Staff | Dollars",
        "2018 | 40 | 1,000",
        "2019 | 41 | 1,200",
        "The table above shows that spending rose a little.",
    ]


def test_selection_is_the_whole_text() -> None:
    assert cut("  One. Two.\n\nThree. ", "selection") == ["One. Two.\n\nThree."]


@pytest.mark.parametrize("way", ["sentences", "windows", "selection"])
def test_a_blank_text_has_no_strip(way: Way) -> None:
    assert cut(" \n\t ", way) == []


def test_words_count_characters_where_no_spaces_are() -> None:
    assert count_words("three plain words") == 3
    assert count_words("日本の首都") == 5


def strip(name: str, score: float | None, source: str = "a") -> Strip:
    return Strip(id=name, source_id=source, origin="internal", start=0, end=1, text=name, score=score, kept=False)


def test_what_was_kept_before_does_not_count() -> None:
    found = filter_strips(filter_strips([strip("a", 0.4)], Rule(0.3, 1)), Rule(0.5, 1))
    assert not found[0].kept


@given(
    st.lists(st.tuples(st.one_of(st.none(), st.floats(0, 1)), st.sampled_from("xyz"))),
    st.floats(0, 1),
    st.integers(0, 5),
)
def test_the_filter_keeps_its_word(given_strips: list[tuple[float | None, str]], floor: float, top_k: int) -> None:
    strips = [strip(str(place), score, source) for place, (score, source) in enumerate(given_strips)]
    found = filter_strips(strips, Rule(floor, top_k))
    chosen = [each for each in found if each.kept]
    assert not top_k or len(chosen) <= top_k
    assert all(each.score is None or each.score >= floor for each in chosen)
    left = [each.score for each in found if not each.kept and each.score is not None and each.score >= floor]
    if left:
        assert top_k and len(chosen) == top_k
        assert max(left) <= min(each.score for each in chosen if each.score is not None)


# What a strip needs: a row its header and caption, a sentence the one it leans on, an item its list's opening


CAPTION = "The following table summarizes our restricted stock unit activity (in millions):"
HEADER = "Years ended December 31,; 2018; 2017; 2016"
ROWS = ["Commercial Airplanes: 2018 $604; 2017 $636; 2016 $830", "Global Services: 2018 231; 2017 180; 2016 209"]
AFTER = "Unallocated capital expenditures relate primarily to assets managed centrally on behalf of the segments."


def needed(strips: list[str], place: int) -> list[str]:
    return [strips[other] for other, _ in needs(strips)[place]]


def test_a_row_needs_its_tables_caption_and_header_and_no_other_row() -> None:
    strips = ["Sales rose in all three years.", CAPTION, HEADER, *ROWS, AFTER]
    assert needed(strips, 3) == needed(strips, 4) == [CAPTION, HEADER]
    assert {why for _, why in needs(strips)[4]} == {"context"}
    assert needed(strips, 5) == []


def test_a_row_of_two_values_and_one_of_cells_are_rows() -> None:
    for row in ("Unearned revenue: 2016 4,768; 2017 5,097", "Net income | 12 | 14 |"):
        assert needed([CAPTION, row], 1) == [CAPTION]


def test_prose_above_a_table_is_no_caption() -> None:
    assert needed([AFTER, *ROWS], 1) == []


@pytest.mark.parametrize(
    "text",
    [
        "It rose by 4 % in the second year.",
        "However, the segment shrank.",
        "These changes had no effect on sales.",
        "operational sales grew 6.2%.",
    ],
)
def test_a_sentence_that_leans_needs_the_one_before(text: str) -> None:
    strips = ["Net sales of the bakery segment were 5 million.", text]
    assert needs(strips) == [(), ((0, "neighbour"),)]


@pytest.mark.parametrize("text", ["Italy is a country.", "Thistles grow there.", "Net sales rose.", "Sophie left."])
def test_a_sentence_that_stands_by_itself_needs_none(text: str) -> None:
    assert needs(["Net sales of the bakery segment were 5 million.", text]) == [(), ()]


def test_an_item_needs_what_opens_its_list_which_needs_its_first_item() -> None:
    strips = ["We did three things last year:", "• we hired many people;", "• we moved to Rome;", "(c) we closed Oslo."]
    assert needs(strips) == [((1, "neighbour"),), *[((0, "neighbour"),)] * 3]
