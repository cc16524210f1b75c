"""Documents of LangChain as chunks: whatever their metadata hold."""

from datetime import date
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from crag.core.types import Chunk
from crag.integrations.langchain.documents import TEXT_CHARS, as_chunk, as_chunks, confidence_of

TEXT = "Hiring took eighty days."


def chunk(text: str = TEXT, *, id: str | None = None, first_page: int = 0, **metadata: Any) -> Chunk:
    made = as_chunk(Document(text, id=id, metadata=metadata), first_page)
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("page", "first_page", "found"),
    [
        *((0, 0, 1), (4, 0, 5), (4, 1, 4), (0, 1, 0), (3.0, 0, 4), ("3", 1, 3), (-1, 0, 0)),
        *((True, 0, 0), (2.5, 0, 0), (float("nan"), 0, 0), (float("inf"), 0, 0), ("iv", 0, 0), (None, 0, 0)),
        *((10**30, 0, 0), ([3], 0, 0), ("9" * 5000, 0, 0), ("٣", 0, 0)),
    ],
)
def test_pages_count_as_it_is_said(page: object, first_page: int, found: int) -> None:
    assert chunk(page=page, first_page=first_page).page == found


@pytest.mark.parametrize(
    ("source", "called", "url"),
    [
        ("/srv/someone/report.pdf", "report.pdf", ""),
        (r"C:\files\someone\report.pdf", "report.pdf", ""),
        ("file:///srv/someone/report.pdf", "report.pdf", ""),
        (PurePosixPath("/srv/report.pdf"), "report.pdf", ""),
        ("docs/report.pdf", "docs/report.pdf", ""),
        ("AC/DC", "AC/DC", ""),
        ("https://example.org/a?b=c", "https://example.org/a?b=c", "https://example.org/a?b=c"),
        ("javascript:alert(1)", "javascript:alert(1)", ""),
        ("https://[", "https://[", ""),
    ],
)
def test_a_source_is_called_without_the_folders_of_a_machine(source: object, called: str, url: str) -> None:
    found = chunk(source=source)
    assert (found.source, found.url) == (called, url)
    assert "someone" not in found.document_id


def test_what_says_nothing_has_a_name_all_the_same() -> None:
    found, titled = chunk(), chunk(title="Report")
    assert found.source.startswith("document ") and (found.page, found.place, found.context) == (0, "", "")
    assert (titled.source, titled.context) == ("Report", "Report")
    headed: dict[str, Any] = {"Header 1": "Staff"}
    assert chunk(**headed).where == "section Staff"


@pytest.mark.parametrize("said", [date(2024, 3, 1), "2024-03-01", "2024-03-01T10:00:00Z", "2024-03-01 10:00"])
def test_a_date_is_read(said: object) -> None:
    assert chunk(date=said).dated == "2024-03-01"


@pytest.mark.parametrize("said", ["yesterday", 20240301, "2024-13-01", None, "0" * 100_000])
def test_what_is_no_date_says_none(said: object) -> None:
    assert chunk(date=said).dated == ""


@pytest.mark.parametrize(
    ("said", "found"),
    [(0.25, 0.25), (0, 0.0), (7, 1.0), (-1, 0.0), (None, 1.0), ("0.2", 1.0), (True, 1.0), (float("nan"), 1.0)],
)
def test_confidence_is_a_number(said: object, found: float) -> None:
    assert confidence_of(Document(TEXT, metadata={"confidence": said})) == found


def test_ids_are_stable_and_duplicates_are_dropped() -> None:
    assert chunk(source="a").id == chunk(source="a").id != chunk(source="b").id
    assert chunk(id="7", source="a").id == chunk("Other.", id="7").id != chunk(id="8").id
    assert chunk(source="a").document_id == chunk("Other.", source="a").document_id
    first, same, blank = Document("One.", id="1"), Document("Uno.", id="1"), Document(" \n", id="2")
    assert [document for _, document in as_chunks([first, same, blank, Document("Two.")]).values()] == [
        first,
        Document("Two."),
    ]


def test_a_huge_text_is_cut_and_a_broken_one_can_be_stored() -> None:
    assert len(chunk("word " * 200_000).text) == TEXT_CHARS
    assert chunk("a\0b \ud800", id="\ud800", source="\ud800.pdf").text == "a b \ufffd"
    assert chunk(source="x" * 1_000_000, title="y" * 1_000_000, id="z" * 1_000_000).source == "x" * 200
    assert as_chunk(Document("\0 \n")) is None


anything = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates()
KEYS = ("source", "title", "page", "page_label", "url", "date", "confidence", "start_index", "Header 1", "file_path")


@given(text=st.text(), metadata=st.dictionaries(st.sampled_from(KEYS), anything))
def test_whatever_the_metadata_are_a_chunk_can_be_made(text: str, metadata: dict[str, Any]) -> None:
    document = Document(text, metadata=metadata)
    made, least = as_chunk(document), confidence_of(document)
    assert 0 <= least <= 1 and (made is None) == (not text.replace("\0", " ").strip())
    if made is not None:
        assert made.source and len(made.source) <= 200 and made.page >= 0
        made.graded_text().encode()
