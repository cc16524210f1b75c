"""Documents with many files: what is searched for and chosen, many changed at once, one opened, uploads followed."""

from dataclasses import replace

import pytest

from crag.core.config import AppConfig
from crag.core.filters import Scope
from crag.core.ingesting import DocumentAdded, DocumentFailed, DuplicateFound, Embedding, ReadingPage
from crag.ingest.chunking import chunk_id
from tests.support.app_text import said, visit
from tests.support.eventually import eventually
from tests.support.library_makers import make_document
from tests.support.small_pdf import small_pdf
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.app.tab import PageState, RunsState
from ui.documents.filters import ORDERS
from ui.documents.progress import FilesChosen, Progress, describe, files
from ui.documents.state import DocumentsState
from ui.documents.uploads import distinguish

NAMES = [f"{word} {number:02}" for number in range(4) for word in ("Harbour report", "Lighthouse log", "Ferry budget")]


@pytest.fixture
def ids(data, make):
    """A library of a dozen documents, some with fields; their ids in the order of NAMES."""
    engine = make(AppConfig.of(data=data))
    stored = engine.library().documents
    made = []
    for place, name in enumerate(NAMES):
        document, file, chunks = make_document(name, 5, added_at=f"2026-01-{place + 1:02}T00:00:00+00:00")
        chunks[0] = replace(chunks[0], id=chunk_id(document.id, 1, 0, chunks[0].end))  # or it would be stale
        warnings = ("Page 3 is a scan.",) if place == 5 else ()
        document = replace(document, model=engine.embedder.id, warnings=warnings, kind="text" if place == 4 else "pdf")
        stored.add(document, file, chunks, engine.embedder.embed([chunk.text for chunk in chunks]))
        made.append(document.id)
    stored.describe(made[0], {"tags": ["finance", "old"], "verified": True, "author": "Anna Marrow"})
    stored.describe(made[3], {"tags": ["finance"], "confidence": 0.4, "date": "2024"})
    engine.close()
    return made


@pytest.fixture
def page(ids):
    return visit("documents")


def shown(page):
    assert not page.exception
    return [name.removesuffix(".pdf") for name in page.dataframe[0].value["Document"]] if page.dataframe else []


def select(page, *ids):
    state_in(page, DocumentsState).selected = ids
    page.run()
    assert not page.exception
    return page


def test_words_in_any_order_chips_and_tags_choose_and_the_count_tells_of_how_many(page):
    assert len(shown(page)) == 12 and "12 documents" in said(page)
    page.text_input(key="documents-search").set_value("02.pdf REPORT").run()
    assert shown(page) == ["Harbour report 02"] and "1 of 12 documents" in said(page)
    page.text_input(key="documents-search").set_value("marrow").run()
    assert shown(page) == ["Harbour report 00"] and "Delete **Harbour report 00" in said(page)
    page.text_input(key="documents-search").set_value("marrow ferry").run()
    assert shown(page) == [] and "No documents match your filters." in said(page)
    page.text_input(key="documents-search").set_value("").run()
    page.multiselect(key="documents-tags").set_value(["finance"]).run()
    assert sorted(shown(page)) == ["Harbour report 00", "Harbour report 01"]
    page.multiselect(key="documents-tags").set_value([]).run()
    for mark, count in {"verified": 1, "unverified": 11, "problems": 1, "kind:text": 1}.items():
        page.button_group(key="documents-marks").set_value([mark]).run()
        assert len(shown(page)) == count, mark
    page.button_group(key="documents-marks").set_value(["verified", "unverified", "kind:pdf"]).run()
    assert len(shown(page)) == 11


def test_every_order_shows_all_and_the_newest_come_first_without_one(page, ids):
    first = {"oldest": 0, "confidence": 3, "date": 3, "newest": 11}
    assert shown(page)[0] == NAMES[-1]
    for order in ORDERS:
        page.selectbox(key="documents-order").set_value(order).run()
        found = shown(page)
        assert sorted(found) == sorted(NAMES)
        assert order not in first or found[0] == NAMES[first[order]]


def test_what_is_shown_is_never_older_than_the_library_or_the_files(page, ids, tmp_path):
    stored = program().engine.library().documents
    stored.describe(ids[1], {"tags": ["fresh"]})
    page.run()
    assert page.multiselect(key="documents-tags").options == ["finance · 2", "fresh · 1", "old · 1"]
    (tmp_path / "read.pdf").write_bytes(b"something else")
    stored.note(ids[1], path=str(tmp_path / "read.pdf"), modified=0)
    page.run()
    problems = dict(zip(page.dataframe[0].value["Document"], page.dataframe[0].value["Problems"], strict=True))
    assert "changed after it was read" in problems[f"{NAMES[1]}.pdf"]
    stored.delete(ids[1])
    page.run()
    assert len(shown(page)) == 11


def test_a_document_without_vectors_says_how_far_it_is_and_why_and_gets_them_by_a_click(page, ids):
    library = program().engine.library()
    document, file, chunks = make_document("Quay plan", 4)
    library.documents.add(document, file, chunks)
    library.unembedded.note("The server is down.")
    page.run()
    problems = dict(zip(page.dataframe[0].value["Document"], page.dataframe[0].value["Problems"], strict=True))
    assert problems["Quay plan.pdf"].startswith("Searchable by words, 0 % embedded. The server is down.")
    said = " ".join(each.value for each in page.warning).replace("\\", "")
    assert "1 document can be found by words alone: The server is down." in said
    page.button(key="embed-missing").click().run()
    eventually(lambda: not library.unembedded.count())
    page.run()
    assert not page.warning and not [each for each in page.button if each.key == "embed-missing"]


def test_vectors_that_a_stopped_program_left_out_are_made_by_themselves(page, ids):
    library = program().engine.library()
    document, file, chunks = make_document("Quay plan", 4)
    library.documents.add(document, file, chunks)
    page.run()
    assert not page.exception
    eventually(lambda: not library.unembedded.count())


def test_many_are_given_fields_at_once_and_none_where_one_can_not_have_them(page, ids):
    stored = program().engine.library().documents
    select(page, ids[0], ids[3], ids[5])
    assert "3 selected" in said(page)
    page.multiselect(key="edit-add-0").set_value(["2026"])
    page.multiselect(key="edit-remove-0").set_value(["old"])
    page.text_input(key="edit-date-0").set_value("2025-06")
    page.number_input(key="edit-confidence-0").set_value(0.7)
    page.text_area(key="edit-others-0").set_value("author=\nproject=Lamp")
    [change] = [button for button in page.button if button.label == "Change 3 documents"]
    change.click().run()
    assert not page.exception and not page.error
    given = stored.given()
    assert given[ids[0]]["tags"] == ("finance", "2026") and "author" not in given[ids[0]]
    assert given[ids[0]]["verified"] is True and "verified" not in given[ids[5]]
    assert {(given[id]["date"], given[id]["confidence"], given[id]["project"]) for id in (ids[3], ids[5])} == {
        ("2025-06", 0.7, "Lamp")
    }
    rows = page.dataframe[0].value.set_index("Document")
    assert list(rows.loc[f"{NAMES[0]}.pdf", "Tags"]) == ["finance", "2026"] and rows.loc[f"{NAMES[0]}.pdf", "Verified"]
    assert not rows.loc[f"{NAMES[5]}.pdf", "Verified"]
    page.text_input(key="edit-date-1").set_value("soon")
    [change] = [button for button in page.button if button.label == "Change 3 documents"]
    change.click().run()
    assert "Give it a date" in said(page) and stored.given() == given


def test_the_selected_are_deleted_after_a_question_and_what_is_chosen_away_is_selected_no_more(page, ids):
    select(page, *ids[:4])
    page.text_input(key="documents-search").set_value("report").run()
    assert "2 selected" in said(page)
    [delete] = [button for button in page.button if button.label == "Delete"]
    delete.click().run()
    assert not page.exception and program().engine.library().size[0] == 10
    assert len(shown(page)) == 2 and "selected" not in said(page)
    page.button(key="select-all").click().run()
    assert "2 selected" in said(page)
    page.button(key="select-none").click().run()
    assert "2 selected" not in said(page)


def test_one_selected_document_is_opened_with_its_pages_chunks_and_tables(page, ids):
    select(page, ids[0])
    assert "Harbour report 00" in said(page) and "author\\=Anna Marrow" in said(page)
    table = page.dataframe[1].value
    here = [chunk for chunk in program().engine.library().documents.chunks(ids[0]) if chunk.page == 1]
    assert list(table["#"]) == [chunk.ordinal + 1 for chunk in here] and "on page 1 of 3" in said(page)
    page.text_input(key=f"find-{ids[0]}").set_value("PART").run()
    assert set(page.dataframe[1].value["Kind"]) == {"text", "table"}
    page.text_input(key=f"find-{ids[0]}").set_value("PART 3").run()
    assert len(page.dataframe[1].value) == 1 and "1 chunk with these words" in said(page)
    page.button_group(key="document-view").set_value("tables").run()
    assert not page.exception and "part 2 tells of" in said(page)
    assert "part 3 tells of" not in said(page)


def test_names_keep_as_many_folders_as_tell_them_apart():
    assert distinguish(["in/2019/report.pdf", "in/2020/report.pdf", "in/plan.pdf"]) == [
        "2019 - report.pdf",
        "2020 - report.pdf",
        "plan.pdf",
    ]
    assert distinguish(["a/x/r.pdf", "b/x/r.pdf"]) == ["a - x - r.pdf", "b - x - r.pdf"]
    assert distinguish(["new/r.pdf"], {"r.pdf"}) == ["new - r.pdf"]
    assert distinguish(["same.pdf", "same.pdf"]) == ["same.pdf", "same.pdf"]
    assert distinguish(["../../etc/passwd.pdf", "..\\passwd.pdf"])[1] != ""


def test_an_upload_is_found_again_by_the_address_with_every_file_of_it(page, ids):
    page.file_uploader[0].set_value([("a.pdf", b"\0", ""), ("b.pdf", small_pdf("Harbours of the north."), "")]).run()
    upload = state_in(page, DocumentsState).upload
    assert page.query_params["upload"] == upload
    state_in(page, DocumentsState).upload = ""
    page.run()
    assert len(page.table[0].value) == 2
    page.button(key="upload-close").click().run()
    assert not page.table and "upload" not in page.query_params
    page.query_params["upload"] = "another"
    assert not page.run().table


def test_a_batch_says_how_long_it_still_takes_from_the_rate_measured_by_size():
    document, *_ = make_document("one")
    progress = Progress()
    names = tuple(f"{letter}.pdf" for letter in "abcd")
    progress.apply([FilesChosen(names=names, sizes=(100, 100, 100, 700), began=50.0)], 50.0)
    assert progress.seconds_left(60.0) is None, "nothing is done yet"
    progress.apply([DuplicateFound(name="a.pdf", document=document)], 50.1)
    assert progress.seconds_left(60.0) is None, "a file that is known took no work"
    progress.apply([ReadingPage(name="b.pdf", page=8, pages=8), DocumentAdded(name="b.pdf", document=document)], 60.0)
    assert progress.seconds_left(60.0) == pytest.approx(80.0)
    lead, _ = describe(progress, "4 files", 60.0)
    assert "2 of 4 files" in lead and "about 1 min left" in lead
    progress.apply([ReadingPage(name="c.pdf", page=4, pages=8)], 65.0)
    assert progress.seconds_left(65.0) == pytest.approx(15.0 / 150 * 750)
    assert progress.share() == pytest.approx(0.125)
    progress.apply([Embedding(name="b.pdf", done=16, total=32)], 66.0)
    assert progress.share() == pytest.approx(0.375), "vectors are the other half"
    alone = Progress()
    alone.apply([FilesChosen(names=("a.pdf",), began=50.0), ReadingPage(name="a.pdf", page=4, pages=8)], 60.0)
    assert alone.seconds_left(60.0) is None, "one file shows its pages"


def test_progress_tells_of_each_file_where_it_is():
    document, *_ = make_document("one")
    progress = Progress()
    progress.apply([FilesChosen(names=("a1.pdf", "b1.pdf", "c1.pdf", "d1.pdf", "e1.pdf"))])
    assert [row["Result"] for row in files(progress, True)] == ["waiting"] * 4
    assert "0 of 5 files" in describe(progress, "5 files")[0]
    progress.apply(
        [
            DocumentAdded(name="a1.pdf", document=document),
            DuplicateFound(name="b1.pdf", document=document),
            DocumentFailed(name="c1.pdf", message="It is <b>bad</b>.", remedy="Mend it."),
            ReadingPage(name="d1.pdf", page=2, pages=8),
        ]
    )
    (lead, step), listed = describe(progress, "5 files"), files(progress, True)
    assert "3 of 5 files" in lead and "1 failed, 1 in the library already, 1 added" in lead
    assert "d1" in step and "reading page 2 of 8" in step
    assert [row["File"].replace("*", "")[2:4] for row in listed] == ["c1", "b1", "a1", "e1"]
    assert "<b>" not in listed[0]["Result"] and listed[-1]["Result"] == "waiting"
    assert len(files(progress, False)) == 3
    progress.apply([DocumentAdded(name=f"{name}.pdf", document=document) for name in ("d1", "e1")])
    progress.apply([Embedding(name="d1.pdf", done=2, total=4)])
    assert "d1" in describe(progress, "5 files")[1] and "embedding chunk 2 of 4" in describe(progress, "5 files")[1]
    assert progress.share() == pytest.approx(0.75)


def test_what_came_attached_to_a_file_is_no_file_that_was_given():
    document, *_ = make_document("one")
    progress = Progress()
    progress.apply([FilesChosen(names=("mail.eml", "b.pdf", "c.pdf"))])
    attached = DocumentAdded(name="x (attached to mail.eml)", attached_to="mail.eml", document=document)
    progress.apply([DocumentAdded(name="mail.eml", document=document), attached])
    assert progress.waiting == ("c.pdf",) and progress.total == 4
    assert "2 of 4 files" in describe(progress, "3 files")[0] and "b\\.pdf" in describe(progress, "3 files")[1]


def test_a_step_that_takes_long_says_for_how_long_and_its_end_says_what_is_done():
    progress = Progress()
    progress.apply([FilesChosen(names=("a.pdf",)), ReadingPage(name="a.pdf", page=2, pages=8)], 10.0)
    assert describe(progress, "1 file", 11.0)[1].endswith("reading page 2 of 8")
    assert describe(progress, "1 file", 15.4)[1].endswith("reading page 2 of 8 · 5 s")
    progress.apply([DocumentFailed(name="a.pdf", message="Bad.", remedy="Mend it.")], 24.0)
    assert "updating the search index" in describe(progress, "1 file", 24.0)[1]


def test_ask_only_these_leads_to_ask_with_the_scope_set(page, ids):
    state_in(page, DocumentsState).selected = (ids[2], ids[7])
    page.run()
    page.button(key="documents-ask").click().run()
    assert not page.exception and state_in(page, RunsState).scope == Scope((ids[7], ids[2]))
    assert state_in(page, PageState).wanted == "ask"
