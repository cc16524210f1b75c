"""The Documents page: dropping files of every kind, the table, a document on its pages, delete, re-index."""

import numpy as np
import pytest

from crag.core.config import AppConfig
from crag.engine import Engine
from tests.support.app_text import said
from tests.support.small_pdf import small_pdf
from ui.app.program import program

TEXT = "The lighthouse of Alexandria was built in the third century BC.\nIt guided ships into the harbour of the city."


@pytest.fixture
def documents(app):
    app.run()
    app.switch_page("pages/documents.py").run()
    assert not app.exception
    return app


def drop(app, *files):
    app.file_uploader[0].set_value([(name, data, "application/pdf") for name, data in files]).run()
    assert not app.exception
    return app


def test_the_empty_library_says_what_to_do(documents):
    assert "The library is empty" in said(documents) and documents.button(key="sample")


def test_a_dropped_pdf_is_added_with_a_result_line_and_a_row(documents):
    drop(documents, ("lighthouse.pdf", small_pdf(TEXT, TEXT)))
    assert "lighthouse.pdf" in said(documents) and "Added: 2 pages" in said(documents)
    [frame] = documents.dataframe
    row = frame.value.iloc[0]
    assert row["Document"] == "lighthouse.pdf" and row["Pages"] == 2 and row["Added"] == "just now"
    assert not [button for button in documents.button if button.label == "Stop"]


def test_each_file_of_a_drop_ends_in_its_own_line(documents):
    good = small_pdf(TEXT)
    drop(documents, ("good.pdf", good), ("fake.pdf", b"plain text, no PDF"), ("empty.pdf", b""), ("again.pdf", good))
    page = said(documents)
    assert page.count('class="result"') == 4 and page.count("Added:") == 1
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
    [frame] = documents.dataframe
    row = frame.value.iloc[0]
    assert row["Document"] == "'@SUM(1).pdf" and row["Title"].startswith("'@SUM")
    assert program().engine.library().documents.all()[0].name == "@SUM(1).pdf"
    assert documents.selectbox[0].options == ["@SUM(1).pdf"]


def test_a_document_shows_its_chunks_on_its_pages(documents):
    drop(documents, ("two.pdf", small_pdf(TEXT, "Second page about something else entirely, with enough words.")))
    assert len(documents.image) == 1 and "lighthouse of Alexandria" in said(documents)
    documents.number_input[0].set_value(2).run()
    assert not documents.exception and "Second page about" in said(documents)


def test_delete_asks_first_and_then_removes(documents):
    drop(documents, ("two.pdf", small_pdf(TEXT)))
    [document] = program().engine.library().documents.all()
    documents.button(key=f"delete-{document.id}").click().run()
    assert not documents.exception and program().engine.library().size == (0, 0)
    assert "The library is empty" in said(documents)


def test_vectors_of_another_model_are_told_and_made_anew(data, app):
    class Other:
        id, dimension = "other-model", 384

        def embed(self, texts):
            return np.tile(np.eye(1, 384, dtype=np.float32), (len(texts), 1))

    engine = Engine(AppConfig(data=data), embedder=Other())
    list(engine.add("old.pdf", small_pdf(TEXT)))
    engine.close()
    app.run()
    app.switch_page("pages/documents.py").run()
    assert "other\\-model" in said(app)
    app.button(key="reindex-all").click().run()
    assert not app.exception and not app.error
    program().engine.library().check_model()


def test_the_sample_loads_from_here_too(documents):
    assert documents.button(key="sample").label == "Load the sample library"


def test_many_pages_are_picked_one_at_a_time(documents):
    drop(
        documents,
        ("long.pdf", small_pdf(*[f"{word} {TEXT} {word * 3}" for word in "abcdefghijkl"])),
    )
    assert documents.number_input[0].max == 12


def test_fields_are_given_and_taken_away_and_wrong_ones_are_told(documents):
    drop(documents, ("two.pdf", small_pdf(TEXT)))
    [document] = program().engine.library().documents.all()

    def save(text):
        documents.text_area(key=f"fields-{document.id}").set_value(text).run()
        documents.button(key=f"save-fields-{document.id}").click().run()
        assert not documents.exception
        return program().engine.library().documents.fields(document.id)

    assert save("tags=report, 2024\nverified=true")["tags"] == ("report", "2024")
    assert documents.dataframe[0].value["Fields"].tolist() == ["tags=report, 2024; verified=true"]
    assert save("verified=perhaps")["verified"] is True
    assert "verified" in said(documents)
    assert save("verified=false")["tags"] == ()
    assert documents.dataframe[0].value["Fields"].tolist() == ["verified=false"]
