"""No text makes a regular expression of the product take longer than in proportion to its length.

Every call of `re` in every module is found in the source, also those inside functions. A pattern that is built at run
time needs an example here, or the test says so.
"""

import json
import re
import subprocess
import sys

import pytest

from tests.support.patterns import calls, foreign, slow
from tests.support.product import ROOT
from tests.support.sizes import thinned

BUILT = {
    "crag/admin/backups.py: f'{re.escape(begin)}": "re.compile(r'crag-a-\\d{8}T\\d{12}Z\\.zip')",
    "crag/retrieval/rewriting.py: f'\\\\b{re.escape(_stem(word))}": "re.compile(r'\\baa')",
    "crag/generation/citations.py: f'(?<!\\\\w){re.escape(wanted)}": "re.compile(r'(?<!\\w)a\\ a(?!\\w)')",
    "crag/text/dates.py: form": "_FORMS",
    "crag/web/webpage.py: f'</{name}": "re.compile(r'</a(?=[\\s/>])[^>]*+>?', re.IGNORECASE)",
    "crag/export/html/answer.py: f'(?<!\\\\w){wanted}": "re.compile(r'(?<!\\w)a\\s+a(?!\\w)')",
}
"""Of a pattern that is built at run time how its source begins, and what holds it: an expression in its module."""

WINDOWS = {
    "crag/evaluation/local.py: _OUT_OF": 40,
    "crag/generation/short.py: _VALUE": 40,
    "crag/analysis/questions/values.py: PAGES": 60,
    "crag/text/names.py: _OPENS": 8,
    "crag/text/numerals.py: _BEFORE": 24,
    "crag/text/sentences.py: _NEXT": 48,
    "crag/text/sentences.py: _WORD_BEFORE": 48,
}
"""The characters of a text that a pattern is given at most, where its module gives it no more."""

OWN = {"ui/server/headers.py: '<script>(.*?)</script>'", "ui/components/drawing.py: '/\\\\*.*?\\\\*/'"}
"""What reads nothing but files of the program itself."""


def _windows() -> dict[str, int]:
    """The same by key."""
    return {call.key: WINDOWS[call.named] for call in calls() if call.named in WINDOWS}


def test_no_pattern_is_out_of_sight() -> None:
    assert foreign() == []
    assert {call.named for call in calls()} >= set(WINDOWS)


@pytest.mark.slow
def test_every_pattern_takes_time_by_the_length_of_a_text() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.support.patterns"],
        input=json.dumps({"built": BUILT, "windows": _windows(), "own": sorted(OWN)}),
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    said = [json.loads(line) for line in ended.stdout.splitlines()]
    unknown = [f"{each['unknown']}: give an example in BUILT" for each in said if "unknown" in each]
    assert unknown == []
    assert [f"{each['slow']} (line {each['line']}): {each['text']}" for each in said if "slow" in each] == []
    assert ended.returncode == 0, f"stopped at {said[-1:]}: {ended.stderr[-2000:]}"


@pytest.mark.parametrize(
    "pattern",
    thinned(
        [r"\s*\.\s*$", r"\d+\.(?:\d+\.?)*\s", r"[^\W\d_]*[α-ω][^\W\d_]*", r"\s*\S+\s*", r"<!--.*?-->", r"(?:a|a)*b"], 6
    ),
)
def test_patterns_that_take_longer_are_found(pattern: str) -> None:
    assert slow(re.compile(pattern), {"finditer"})


@pytest.mark.parametrize("pattern", [r"(?:[^\W\d_]|[α-ω])++", r"(?<!\s)\s*+\S++", r"^\d++\.(?:\d++\.?+)*+\s"])
def test_patterns_that_do_not_are_not(pattern: str) -> None:
    assert not slow(re.compile(pattern), {"finditer"})
