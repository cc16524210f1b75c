"""Every count on a page is of one state of the library, at the end of an upload too."""

import pytest

from crag.core.request import RunRequest
from tests.support.app_text import said
from tests.support.small_pdf import small_pdf
from ui.app.program import program

TEXT = "The lighthouse of Alexandria was built in the third century BC.\nIt guided ships into the harbour of the city."
FIRST = [("first.pdf", small_pdf(f"{TEXT} One.")), ("notes.txt", f"{TEXT} Two.".encode())]
MORE = [(f"more {number}.pdf", small_pdf(f"{TEXT} {number * 'More '}")) for number in range(1, 5)]


def upload(page, files):
    page.file_uploader[0].set_value([(name, data, "application/octet-stream") for name, data in files]).run()
    assert not page.exception
    return page


@pytest.fixture
def filled(app):
    app.run()
    for name, data in FIRST:
        list(program().engine.add(name, data))
    return app


def test_heading_chips_table_and_result_of_an_upload_agree(filled):
    page = upload(filled.switch_page("pages/documents.py").run(), MORE)
    assert "**4 files**: 4 added" in said(page) and "6 documents" in said(page)
    assert page.button_group(key="documents-marks").options == ["PDF · 5", "Plain text · 1"]
    assert len(page.dataframe[0].value) == 6
    page.text_input(key="documents-search").set_value("more").run()
    assert "4 of 6 documents" in said(page) and "4 added" in said(page)


def test_a_document_is_cited_in_as_many_answers_as_questions_were_asked(app):
    app.run()
    engine = program().engine
    pages = [f"Page {number}. {TEXT} The lighthouse stood for {number}00 years." for number in range(1, 5)]
    list(engine.add("lighthouse.pdf", small_pdf(*pages)))
    asked = ["When was the lighthouse of Alexandria built?", "What did the lighthouse of Alexandria guide?"]
    for question in asked:
        for strategy in ("balanced", "plain-rag"):
            trace = engine.trace(RunRequest(question, strategy))
            assert trace.answer is not None and trace.answer.citations
    [document] = engine.library().documents.all()
    assert engine.library().documents.tracks()[document.id].used > len(asked), "the strips kept are more"
    page = app.switch_page("pages/documents.py").run()
    assert page.dataframe[0].value.iloc[0]["Cited"] == 2
    assert "cited in answers to 2 questions" in said(page)
    engine.library().runs.delete(trace.run_id)
    engine.trace(RunRequest("Who painted the Mona Lisa?", "balanced"))
    page.run()
    assert page.dataframe[0].value.iloc[0]["Cited"] == 2
    for run in engine.library().runs.latest():
        engine.library().runs.delete(run.run_id)
    page.run()
    assert page.dataframe[0].value.iloc[0]["Cited"] == 0 and "cited in answers to 0 questions" in said(page)
