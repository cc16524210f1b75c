"""Sentences about documents: each thing that is out of date with its days and what to do."""

from typing import get_args

import pytest

from crag.analysis.kept_pages import KeptPage
from crag.core.documents import Look
from crag.messages.documents import kept_sentence, left_text, lost_text, stale_sentences
from crag.pipeline.staleness import Stale
from tests.support.library_makers import make_document


@pytest.mark.parametrize("reason", ["vectors", "chunks", "file", "review", "replaced", *filter(None, get_args(Look))])
def test_whatever_is_out_of_date_is_a_sentence(reason: str) -> None:
    ((said,),) = stale_sentences({"id": (Stale(reason, "2026-01-02", "2026-03-04"),)}).values()  # type: ignore[arg-type]
    assert said[0].isupper() and said.endswith(".") and "{" not in said


def test_days_are_named() -> None:
    gone = Stale("gone", "2026-01-02", "2026-03-04")
    assert stale_sentences({"id": (gone, Stale("file"))}) == {
        "id": (
            "Its web page was gone on 2026-03-04. The text here is from 2026-01-02.",
            "Its file changed after it was read: delete it and add the file again.",
        )
    }


def test_keeping_a_page_says_what_it_did() -> None:
    document, _, _ = make_document("alpha", 2)
    said = kept_sentence(KeptPage(document=document, already=False))
    assert said == f"Kept as a document, unverified until you confirm it: {document.name}, 2 chunks."
    again = kept_sentence(KeptPage(document=document, already=True))
    assert again == f"It is already in the library, as {document.name}."


def test_what_is_lost_is_listed() -> None:
    assert lost_text(0, 0, False) == ""
    assert lost_text(1, 2, True) == "lost with the old text: 1 label, 2 track records, 1 verification"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (20.0, "under a minute left"),
        (57.0, "about 1 min left"),
        (130.0, "about 2 min left"),
    ],
)
def test_how_long_it_takes_is_said_roughly(seconds: float, said: str) -> None:
    assert left_text(seconds) == said
