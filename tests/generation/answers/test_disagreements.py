"""Disagreement of what an answer rests on: different values for the same thing, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.core.types import Answer, Chunk, Strip, WebPage
from crag.generation.disagreements import with_disagreements
from crag.messages.answers import disagreement_sentence
from tests.support.whole_run import chunk

TITLES = ("Acme Corp, Form 10-K, 2018", "Acme Corp, Form 10-K, 2019")


def source(number: int, text: str, title: str = "", dated: str = "", context: str = "", document: str = "") -> Chunk:
    title = title or TITLES[number]
    return replace(
        chunk(number, text),
        title=title,
        context=f"{title} › {context}" if context else title,
        kind="table",
        dated=dated,
        document_id=document or f"d{number}",
    )


def found(*sources: Chunk | WebPage, answer: Answer | None = None) -> Answer:
    strips = [
        Strip(
            id=f"{each.id}:0",
            source_id=each.id,
            origin="internal",
            start=0,
            end=len(each.text),
            text=each.text,
            score=0.9,
            kept=True,
        )
        for each in sources
    ]
    given = answer or Answer(text="It is so.", by="test")
    return with_disagreements(given, strips, {each.id: each for each in sources})


def told(*texts: str, **same: str) -> list[tuple[str, ...]]:
    answer = found(*(source(number, text, **same) for number, text in enumerate(texts)))
    return [tuple(value.value for value in each.values) for each in answer.disagreements]


def test_rows_of_the_same_thing_with_other_values_disagree_and_both_are_cited() -> None:
    answer = found(
        source(0, "Working capital: 2015 9,225; 2014 8,319", dated="2018-07-25", context="Data (in millions)"),
        source(1, "Working capital: 2016 9,667; 2015 9,255", dated="2019-07", context="Data (in millions)"),
    )
    [each] = answer.disagreements
    assert [(value.value, value.citation) for value in each.values] == [("9,225 million", 1), ("9,255 million", 2)]
    assert [citation.number for citation in answer.citations] == [1, 2]
    assert disagreement_sentence(each) == (
        "The sources disagree on “Working capital, 2015”: 9,225 million [1] and 9,255 million [2]."
        " [2] is newer (2019-07)."
    )


def test_sentences_that_differ_in_one_figure_disagree() -> None:
    assert told(
        "Acme had 1,200 employees at its plant in Springfield.", "Acme had 1,350 employees at its plant in Springfield."
    ) == [("1,200", "1,350")]
    assert told(
        "The old bridge of Springfield was opened in 1890.", "The old bridge of Springfield was opened in 1891."
    ) == [("1890", "1891")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Net sales: 2018 1,577; 2017 1,498",
            "Net sales: 2018 1.577 billion; 2017 1,498",
        ),  # the same, otherwise written
        ("Net sales: 2018 1,577; 2017 1,498", "Net sales: 2019 1,632; 2017 1,498"),  # other years
        ("Net sales: 2018 1,577; 2017 1,498", "Cost of sales: 2018 900; 2017 850"),  # other things
        ("Margin: 2018 12.5%; 2017 12%", "Margin: 2018 1,577; 2017 1,498"),  # other units
        ("Acme filed its long report in 2018.", "Acme filed its long report in 2019."),  # it may well do both
        ("Net sales: 2018 1,577; 2017 1,498", "Net sales: 2018 333; 2017 325"),  # of another table of these rows
        ("Unit sales of Acme kettles rose by 6%.", "Unit sales of Acme kettles rose by 9%."),  # in some year
        ("In Springfield 12 people voted for it.", "In Shelbyville 14 people voted for it."),
    ],
)
def test_what_is_not_the_same_thing_or_not_another_value_is_no_disagreement(one: str, other: str) -> None:
    assert told(one, other) == []


def test_documents_on_other_subjects_and_rows_of_one_document_are_not_compared() -> None:
    one, other = "Net sales: 2018 1,577; 2017 1,498", "Net sales: 2018 1,632; 2017 1,498"
    assert told(one, other) == [("1,577", "1,632")]
    assert found(source(0, one), source(1, other, title="Globex, Form 10-K, 2019")).disagreements == ()
    assert told(one, other, document="same") == []
    headed = source(0, one, context="North America"), source(1, other, context="International")
    assert found(*headed).disagreements == ()


def test_when_a_document_was_added_says_nothing_of_its_age() -> None:
    answer = found(source(0, "Rooms: 2018 120; 2017 110"), source(1, "Rooms: 2018 124; 2017 110", dated="2020"))
    assert "newer" not in disagreement_sentence(answer.disagreements[0])


@pytest.mark.parametrize("piece", ["A: 2018 1; ", "It was 1 in 2018. ", "Acme Corp had 12 plants. "])
def test_hostile_strips_are_read(piece: str) -> None:
    text = piece * (50_000 // len(piece))
    assert len(found(source(0, text), source(1, text.replace("1", "2"))).disagreements) <= 3
