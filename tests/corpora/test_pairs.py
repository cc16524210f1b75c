"""The pairs the evaluator is trained on: the same at every run, split by article, their answers where they say."""

from pathlib import Path

import numpy as np
import pytest

from corpora.pair import Pair
from corpora.pairs import Corpus, held_out
from crag.models.cross_encoder import FOLDER
from training.word_counts import lexicon_file

WHOLE = pytest.mark.heavy  # an epoch over all train data takes seconds


def vectors(texts):
    """Stands in for the embedding model: which negatives are near does not matter here."""
    return np.random.default_rng(0).normal(size=(len(texts), 8)).astype(np.float32)


@pytest.fixture(scope="module")
def corpus(shared_data: Path) -> Corpus:
    return Corpus(shared_data, vectors)


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
def test_no_test_article_is_among_the_groups(corpus: Corpus, shared_data: Path) -> None:
    import json

    for name in ("v1_test", "v2_test"):
        held = {a["title"] for a in json.loads((shared_data / "squad" / f"{name}.json").read_text("utf-8"))["data"]}
        assert held.isdisjoint(pair.group for pair in corpus.epoch(7))


@WHOLE
def test_the_shipped_word_counts_are_those_of_the_train_data(shared_data: Path) -> None:
    assert lexicon_file(shared_data) == (FOLDER / "lexicon.json").read_bytes()
