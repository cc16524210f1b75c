"""Errors: what a remedy calls the program."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.core.model_ids import Maker
from crag.text.formats import format_score


@pytest.mark.parametrize(
    ("started", "said"),
    [("/usr/local/bin/crag", "or: crag reindex)"), ("app/crag/__main__.py", "or: python -m crag reindex)")],
)
def test_a_remedy_calls_the_program_as_the_person_did(started: str, said: str) -> None:
    code = "import sys; sys.argv = sys.argv[1:]; from crag.core.errors import ModelMismatchError as E; print(E('x'))"
    ran = subprocess.run([sys.executable, "-c", code, started], capture_output=True, text=True, check=True)
    assert said in ran.stdout


# Ids of models and evaluators: what they are made of, and the words for them


NAMES = st.text("abcxyz/:.-", min_size=1)


@given(model=NAMES, host=st.text("abc.:0123", min_size=1), provider=st.sampled_from(["openai-compatible", "reranker"]))
def test_an_id_holds_what_it_was_made_of(model: str, host: str, provider: str) -> None:
    made = Maker(model=model, provider=provider, host=host)
    assert Maker.of(made.id) == made
    assert Maker.of(f"llm:{made.id}:2") == Maker.of(f"llm:{made.id}:2:support")
    assert Maker.of(f"llm:{made.id}:2") == Maker(model=model, provider=provider, host=host, role="llm")


# Scores in words: no score is shown on another side of a threshold than the one it lies on


UNIT = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("score", "limits", "shown"),
    [
        (0.58, (0.7, 0.3), "0.58"),
        (0.196, (0.4, 0.2), "0.19"),
        (0.2, (0.4, 0.2), "0.20"),
        (0.699999999, (0.7, 0.3), "0.69"),
    ],
)
def test_two_decimals_agree_with_the_verdict(score: float, limits: tuple[float, float], shown: str) -> None:
    assert format_score(score, *limits) == shown


@given(UNIT, st.integers(0, 100))
def test_the_side_of_a_threshold_is_never_lost(score: float, percent: int) -> None:
    limit = percent / 100
    assert (float(format_score(score, limit)) < limit) == (score < limit)
