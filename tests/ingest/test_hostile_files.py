"""Real broken, locked and hostile PDFs: each ends in a document or a clear error, and the parent lives on."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from crag.core.config import AppConfig
from crag.core.errors import DocumentError, EmptyError, EncryptedError
from crag.core.ingesting import ParsedDocument
from crag.ingest.reader import read_document

pytestmark = pytest.mark.heavy
Outcome = tuple[dict[str, Any], ParsedDocument | BaseException]


@pytest.fixture(scope="module")
def outcomes(shared_data: Path) -> list[Outcome]:
    folder = shared_data / "pdfs_hostile"
    listed = [json.loads(row) for row in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]

    def read(entry: dict[str, Any]) -> Outcome:
        try:
            end: ParsedDocument | BaseException = read_document(
                (folder / entry["file"]).read_bytes(), entry["file"], AppConfig()
            )
        except Exception as error:  # what it is is what the tests look at
            end = error
        return entry, end

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(read, listed))


def test_every_file_ends_in_a_document_or_a_clear_error(outcomes: list[Outcome]) -> None:
    assert len(outcomes) > 50
    for entry, end in outcomes:
        assert isinstance(end, ParsedDocument | DocumentError), (entry["file"], end)
        if isinstance(end, ParsedDocument):
            assert end.pages
            assert 0 < len(end.title) <= 120
            assert any(page.text for page in end.pages), entry["file"]


def test_ordinary_files_open(outcomes: list[Outcome]) -> None:
    ordinary = [(e, end) for e, end in outcomes if "control:opens_normally" in e["picked_for"]]
    assert ordinary
    for entry, end in ordinary:
        assert isinstance(end, ParsedDocument), (entry["file"], end)


def test_locked_files_say_so(outcomes: list[Outcome]) -> None:
    for entry, end in outcomes:
        if "needs_password" in entry["tags"]:
            assert isinstance(end, EncryptedError), (entry["file"], end)
        if "encrypted_empty_password" in entry["tags"]:
            assert not isinstance(end, EncryptedError), (entry["file"], end)


def test_scans_say_so(outcomes: list[Outcome]) -> None:
    scans = [(e, end) for e, end in outcomes if "image_only" in e["picked_for"] and isinstance(end, DocumentError)]
    assert scans
    for entry, end in scans:
        assert isinstance(end, EmptyError), (entry["file"], end)
    named = [end for _, end in scans if "image" in str(end)]
    assert len(named) > len(scans) / 2


def test_boxes_and_spans_fit_their_pages(outcomes: list[Outcome]) -> None:
    for entry, end in outcomes:
        if not isinstance(end, ParsedDocument):
            continue
        for page in end.pages:
            for box in page.lines:
                assert 0 <= box.start < box.end <= len(page.text), entry["file"]
                assert box.rect.left <= box.rect.right, entry["file"]
                assert box.rect.top <= box.rect.bottom, entry["file"]
