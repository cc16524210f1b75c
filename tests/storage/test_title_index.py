"""Which documents a question names: the words of titles and first pages, read once each, as documents come and go."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, delete, insert

from crag.retrieval.terms import card_words, forms
from crag.storage import catalog
from crag.storage.catalog import Postings, TitleIndex
from crag.storage.tables import documents

WORDS = st.lists(st.sampled_from(["foot", "Locker", "2022", "8K", "FY19", "2023Q2", "GeneralMills", "a", "é", "µm"]))
TEXTS = st.lists(st.lists(WORDS.map(" ".join), max_size=3), max_size=5)
"""The texts at each place."""


def said(text: str) -> set[str]:
    """What one text is found by, word by word."""
    words = card_words(text)
    return {
        *words,
        *(form for word in words for form in forms(word)),
        *(first + second for first, second in pairwise(words) if first.isalpha() and second.isalpha()),
    }


def having(texts: list[list[str]]) -> Postings:
    return Postings.of(
        [text for each in texts for text in each], [place for place, each in enumerate(texts) for _ in each]
    )


def everyone(found: Postings, places: int) -> list[set[str]]:
    return [{word for word in found.terms if place in found[word].tolist()} for place in range(places)]


def test_a_name_is_found_without_its_spaces_and_its_year_written_out() -> None:
    found = having([["Foot Locker_2022_8K"], ["JOHNSON_JOHNSON_2023Q2_EARNINGS"]])
    assert {"footlocker", "foot", "2022", "8k"} <= everyone(found, 2)[0]
    assert {"johnson", "johnsonjohnson", "2023", "q2"} <= everyone(found, 2)[1]
    assert found["johnson"].tolist() == [1], "each place once"
    assert found["nike"].tolist() == []


@given(TEXTS)
def test_every_text_is_found_by_its_words_alone(texts: list[list[str]]) -> None:
    assert everyone(having(texts), len(texts)) == [set().union(*map(said, each)) for each in texts]


@given(TEXTS, TEXTS)
def test_joining_is_the_same_as_making_both_at_once(first: list[list[str]], later: list[list[str]]) -> None:
    joined = having(first).joined(having(later), len(first))
    together = having(first + later)
    assert everyone(joined, len(first + later)) == everyone(together, len(first + later))


def stored(connection: Connection, names: list[str]) -> None:
    rows = [
        {"id": name, "name": f"{name}.pdf", "title": f"On {name}", "card": f"about {name} and all"} for name in names
    ]
    others = {"record": "{}", "model": "m", "added_at": "2026-11-22", "confidence": 1.0}
    connection.execute(insert(documents), [row | others for row in rows])


@pytest.mark.parametrize("full", [2, 1000])
def test_documents_come_and_go_and_no_card_is_read_twice(full: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "FULL", full)
    engine = create_engine("sqlite://")
    names = ["alder", "birch", "cedar", "dogwood", "elm", "fir", "gorse", "hazel"]
    with engine.begin() as connection:
        documents.create(connection)
        titles = TitleIndex.read(connection)
        assert titles.scores("alder").tolist() == []
        for count, name in enumerate(names, start=1):
            stored(connection, [name])
            if count % 3 == 0:
                connection.execute(delete(documents).where(documents.c.id == names[count - 2]))
            titles = TitleIndex.read(connection, titles)
            afresh = TitleIndex.read(connection)
            assert np.array_equal(titles.numbers, afresh.numbers)
            for asked in names:
                assert np.array_equal(titles.scores(f"What of {asked}?"), afresh.scores(f"What of {asked}?"))
            assert titles.scores(name)[-1] == titles.scores(name).max() > 0
        connection.execute(delete(documents).where(documents.c.id.in_(names[3:])))
        titles = TitleIndex.read(connection, titles)
        assert sum(len(segment.numbers) for segment in titles._segments) == len(titles.numbers), (
            "mostly deleted: read anew"
        )
        assert TitleIndex.read(connection, titles)._segments == titles._segments, "nothing changed: nothing is read"
