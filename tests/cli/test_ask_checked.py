"""`ask` with a language model that cites little: what was found afterwards and what nothing supports is told."""

from __future__ import annotations

from pathlib import Path

from tests.support.model_server import serving
from tests.support.shell import crag

QUESTION = "Which president signed the Civil Service Act of 1883?"
SAYS = (
    "President Chester A. Arthur signed the Civil Service Act in 1883. ",
    "It was repealed by a later Congress in 1901.",
)


def test_uncited_sentences_get_their_source_or_are_flagged(library: Path) -> None:
    with serving() as server:
        server.words = list(SAYS)
        served = ("--llm", "openai-compatible", "--base-url", server.address, "--model", "ok")
        ran = crag("ask", QUESTION, "--library", library, *served)
        record = crag("ask", QUESTION, "--library", library, *served, "--json").records[-1]
    assert ran.code == 0, ran.err
    assert f"Nothing shown supports this: {SAYS[1]}" in ran.out
    assert f"Found afterwards [1]: {SAYS[0].strip()}" in ran.out and "(found afterwards)" in ran.out
    found, flagged = record["checks"]
    assert (found["attributed"], found["supported"], flagged["supported"]) == (True, True, False)
    assert record["citations"][0]["found"] is True and record["faithfulness"] == 0.5
    assert flagged["note"].startswith("nothing shown supports this")
