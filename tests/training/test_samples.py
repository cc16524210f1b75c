"""Pairs as numbers: which tokens are evidence, which are not, and which nobody knows."""

import pytest

from corpora.pair import Pair
from crag.models.cross_encoder import MAX_PAIR
from training.samples import UNKNOWN, Reader, Sample

READER = Reader()
TEXT = "It rained all day. Marta Keller built the bridge. Nobody came."
KEEP = (TEXT.index("Marta"), TEXT.index(" Nobody"))


def sample(**given: object) -> Sample:
    pair = Pair("Who built the bridge?", TEXT, 1.0, "group", "source")
    [made] = READER.read([Pair(**{**vars(pair), **given})])
    return made


def told(made: Sample) -> list[tuple[str, int]]:
    """Each token with its target."""
    return [(READER.tokenizer.id_to_token(number), target) for number, target in zip(made.ids, made.keep, strict=True)]


def test_tokens_of_the_sentences_to_keep_are_evidence_and_the_others_are_not() -> None:
    made = told(sample(keeps=(KEEP,)))
    assert [word for word, target in made if target == 1] == ["marta", "keller", "built", "the", "bridge", "."]
    assert [word for word, target in made if target == 0] == [
        *("it", "rained", "all", "day", ".", "nobody", "came", ".")
    ]
    assert [target for _, target in made[:7]] == [UNKNOWN] * 7 and made[-1] == ("[SEP]", UNKNOWN)


@pytest.mark.parametrize(
    ("label", "keeps", "found"), [(1.0, None, {UNKNOWN}), (1.0, (), {UNKNOWN, 0}), (0.0, None, {UNKNOWN, 0})]
)
def test_what_nobody_knows_is_masked_and_what_answers_nothing_has_no_evidence(label, keeps, found) -> None:
    assert set(sample(label=label, keeps=keeps).keep) == found


def test_a_long_text_s_targets_are_cut_with_it() -> None:
    made = sample(text=TEXT * 40, keeps=(KEEP,))
    assert len(made.ids) == len(made.keep) == MAX_PAIR
    assert sum(target == 1 for target in made.keep) == 6
