"""The Documents page: dropping files of every kind, the table, a document on its pages, delete, re-index."""

from datetime import datetime

import pytest

from tests.support.app_text import said, visit
from tests.support.small_pdf import small_pdf
from ui.app.program import program

pytestmark = pytest.mark.usefixtures("read_here")

TEXT = "The lighthouse of Alexandria was built in the third century BC.\nIt guided ships into the harbour of the city."


@pytest.fixture
def documents():
    return visit("documents")


def drop(app, *files):
    app.file_uploader[0].set_value([(name, data, "application/pdf") for name, data in files]).run()
    assert not app.exception
    return app


def test_the_empty_library_says_what_to_do(documents):
    assert "The library is empty" in said(documents) and documents.button(key="sample")


def test_a_dropped_pdf_is_added_with_a_result_line_and_a_row(documents):
    drop(documents, ("lighthouse.pdf", small_pdf(TEXT, TEXT)))
    assert "lighthouse.pdf" in said(documents) and "Added: 2 pages" in said(documents)
    frame, *_ = documents.dataframe
    row = frame.value.iloc[0]
    assert row["Document"] == "lighthouse.pdf" and row["Pages"] == 2 and row["Confidence"] == 1 and not row["Verified"]
    assert row["Added"] == datetime.fromisoformat(program().engine.library().documents.all()[0].added_at)
    assert not [button for button in documents.button if button.label == "Stop"]


def test_each_file_of_a_drop_ends_in_its_own_line(documents):
    good = small_pdf(TEXT)
    drop(documents, ("good.pdf", good), ("fake.pdf", b"\0no PDF"), ("empty.pdf", b""), ("again.pdf", good))
    page = said(documents)
    assert len(documents.table[0].value) == 4 and page.count("Added:") == 1
    assert "4 files**: 2 failed, 1 in the library already, 1 added" in page
    assert page.index("fake.pdf is nothing") < page.index("Already in the library") < page.index("Added:")
    assert program().engine.library().size[0] == 1
    drop(documents, ("renamed.pdf", good))
    assert "Already in the library, as good.pdf" in said(documents)


def test_a_hostile_name_stays_text_and_loses_its_path(documents):
    drop(documents, ("../../<img src=x onerror=alert(1)>.pdf", small_pdf(TEXT)))
    page = said(documents)
    assert "<img src=x" not in page and program().engine.library().size[0] == 1
    assert "/" not in program().engine.library().documents.all()[0].name


def test_names_like_formulas_are_inert_in_the_table_which_can_be_downloaded(documents):
    drop(documents, ("@SUM(1).pdf", small_pdf(TEXT)))
    frame, *_ = documents.dataframe
    row = frame.value.iloc[0]
    assert row["Document"] == "'@SUM(1).pdf" and row["Title"].startswith("'@SUM")
    assert program().engine.library().documents.all()[0].name == "@SUM(1).pdf"
    assert "\\@SUM\\(1\\)\\.pdf" in [heading.value for heading in documents.header]
