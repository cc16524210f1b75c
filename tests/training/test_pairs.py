"""The pairs the evaluator is trained on: the same at every run, split by article, their answers where they say."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest

from crag.models.cross_encoder import FOLDER
from training.altering import renamed
from training.filings import filing_pairs
from training.pair import Pair
from training.pairs import Corpus, held_out
from training.word_counts import lexicon_file

WHOLE = pytest.mark.heavy  # an epoch over all train data takes seconds
DATA = Path(os.environ.get("CRAG_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "data"


def vectors(texts):
    """Stands in for the embedding model: which negatives are near does not matter here."""
    return np.random.default_rng(0).normal(size=(len(texts), 8)).astype(np.float32)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    if not (DATA / "squad" / "v2_train.json").exists():
        pytest.skip(f"The train data is not at {DATA}; set CRAG_SHARED to the folder that holds data/.")
    return Corpus(DATA, vectors)


@pytest.fixture(scope="module")
def epoch(corpus: Corpus) -> list[Pair]:
    return list(corpus.epoch(5))


@WHOLE
def test_an_epoch_is_the_same_for_the_same_seed_and_another_for_another(corpus: Corpus, epoch: list[Pair]) -> None:
    assert list(corpus.epoch(5)) == epoch
    assert list(corpus.epoch(4)) != epoch
    assert 150_000 < len(epoch) < 190_000


@WHOLE
def test_every_spot_lies_in_its_text_and_only_where_the_label_says_so(epoch: list[Pair]) -> None:
    for pair in epoch:
        assert 0 <= pair.label <= 1 and pair.question and pair.text
        assert all(0 <= start < end <= len(pair.text) for start, end in pair.spots)
        assert all(0 <= start < end <= len(pair.read) for start, end in pair.read_spots)
        if pair.label == 0:
            assert not pair.spots


@WHOLE
def test_a_cosine_is_that_of_the_very_question_and_text(epoch: list[Pair]) -> None:
    """A sentence of a passage, or another question of it, must not be told the passage's."""
    known = [pair for pair in epoch if pair.closeness is not None]
    assert {"squad paragraph", "squad unanswerable", "squad other", "nq passage", "nq other"} <= {
        p.source for p in known
    }
    for pair in known:
        assert "window" not in pair.source and pair.source not in {"claim", "changed question", "other name", "filing"}


def test_a_question_about_somebody_else_keeps_all_but_the_name() -> None:
    dice = random.Random(1)
    made = {
        renamed("Who is the mother of Ann Lee Smith?", "Ann Lee Smith", ["Bo Ek", "Ann Lee Smith"], dice)
        for _ in range(60)
    }
    assert "Who is the mother of Bo Ek?" in made
    assert any("Lee" in question for question in made)
    assert "Who is the mother of Ann Lee Smith?" not in made
    assert all(question.startswith("Who is the mother of ") and question.endswith("?") for question in made)
    assert renamed("Who wrote it?", "Dune", ["Emma"], dice) == "Who wrote it?"


@WHOLE
def test_what_a_search_finds_is_held_out_and_mostly_wrong(corpus: Corpus) -> None:
    found = list(corpus.searched())
    assert {pair.source for pair in found} == {"squad", "nq", "popqa"}
    assert all(held_out(pair.group) for pair in found)
    assert 0.05 < sum(pair.label for pair in found) / len(found) < 0.25


@WHOLE
def test_groups_are_whole_on_one_side(corpus: Corpus) -> None:
    pairs = corpus.epoch(6)
    sides = {pair.group: held_out(pair.group) for pair in pairs}
    assert 0.08 < sum(sides.values()) / len(sides) < 0.3
    questions: dict[str, set[bool]] = {}
    for pair in pairs:
        if pair.source.startswith("squad"):
            questions.setdefault(pair.question, set()).add(sides[pair.group])
    assert all(len(found) == 1 for found in questions.values())


@WHOLE
def test_no_test_article_is_among_the_groups(corpus: Corpus) -> None:
    import json

    for name in ("v1_test", "v2_test"):
        held = {a["title"] for a in json.loads((DATA / "squad" / f"{name}.json").read_text("utf-8"))["data"]}
        assert held.isdisjoint(pair.group for pair in corpus.epoch(7))


@WHOLE
def test_the_shipped_word_counts_are_those_of_the_train_data(corpus: Corpus) -> None:
    assert lexicon_file(DATA) == (FOLDER / "lexicon.json").read_bytes()


def test_made_up_filings_need_the_right_company_and_year() -> None:
    pairs = list(filing_pairs(random.Random(1), 200))
    assert pairs == list(filing_pairs(random.Random(1), 200))
    assert all(isinstance(pair, Pair) and pair.title and pair.text for pair in pairs)
    share = sum(pair.label for pair in pairs) / len(pairs)
    assert 0.25 < share < 0.45
