"""A document's title: what its metadata or first page says, with what the file's name adds."""

import pytest

from crag.ingest.titles import document_title

PAGE = [("Table of contents", 30), ("Form of the agency", 24), ("(7)", 9), ("Harbours of", 24), ("the north", 23)]


@pytest.mark.parametrize(
    ("metadata", "name", "title"),
    [
        ("Annual report of Hull", "ACME_2019_10K.pdf", "ACME 2019 10K – Annual report of Hull"),
        ("Annual report of Hull", "annual-report-of-hull.pdf", "Annual report of Hull"),
        ("Microsoft Word - plan.doc", "3f2504e04f8911d39a0c0305e82c3301.pdf", "Form of the agency"),
        ("", "harbours-north_2021.pdf", "harbours north 2021 – Harbours of the north"),
    ],
)
def test_a_title_says_what_the_file_is_called_where_that_tells_more(metadata: str, name: str, title: str) -> None:
    assert document_title(metadata, PAGE, name) == title


def test_a_long_title_is_cut_before_the_subject() -> None:
    assert document_title("Harbours " * 40, [], "tides.eml", subject="Hull").endswith("Harbours… – Hull")
