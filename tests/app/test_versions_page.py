"""Versions on the Documents page: taken, compared, rolled back and deleted, by who may, each noted in the audit log."""

import pytest

from tests.support.app_text import said
from tests.support.small_pdf import small_pdf
from ui.app.program import program

TEXT = "The lighthouse of Alexandria guided ships into the harbour of the city, and was built of stone."


@pytest.fixture
def documents(app):
    app.run()
    app.switch_page("pages/documents.py").run()
    app.file_uploader[0].set_value([("light.pdf", small_pdf(TEXT), "application/pdf")]).run()
    assert not app.exception
    return app


def library():
    return program().engine.library()


def select(page, *rows):
    [frame] = [each for each in page.dataframe if "Snapshot" in each.value]
    page.session_state[frame.key] = {"selection": {"rows": list(rows), "columns": [], "cells": []}}
    page.run()
    assert not page.exception
    return said(page).replace("\\", "")


def test_a_version_is_taken_compared_and_gone_back_to(documents):
    documents.text_input(key="snapshot-name").set_value("v1")
    documents.button(key="snapshot-take").click().run()
    assert not documents.exception and documents.text_input(key="snapshot-name").value == ""
    [document] = library().documents.all()
    assert "Since v1: The documents are the same." in select(documents, 0).replace("*", "")
    library().documents.delete(document.id)
    documents.run()
    assert "1 document changed: 1 gone" in select(documents, 0)
    documents.button(key="snapshot-back").click().run()
    assert not documents.exception and library().documents.all() == [document]
    assert len(library().snapshots.all()) == 2
    assert "Between v1 and before-rollback" in select(documents, 0, 1).replace("*", "")
    latest = library().snapshots.all()[0].name
    select(documents, 0)
    documents.button(key="snapshot-gone").click().run()
    assert [each.name for each in library().snapshots.all()] == ["v1"]
    entries = [(each.act, each.detail) for each in program().engine.teams.audit.entries() if each.what == "snapshot"]
    assert entries == [("delete", latest), ("restore", f"v1; before: {latest}"), ("backup", "v1")]


def test_a_bad_name_and_a_damaged_file_are_said(documents):
    documents.text_input(key="snapshot-name").set_value("../up")
    documents.button(key="snapshot-take").click().run()
    assert not documents.exception and library().snapshots.all() == []
    assert any("can't name a snapshot" in each.value.replace("\\", "") for each in documents.toast)
    library().snapshots.take("v1")
    (file,) = library().folder.glob("snapshots/v1.db")
    file.write_bytes(file.read_bytes()[:5000])
    documents.run()
    assert "damaged or cut off" in select(documents, 0)
    assert [each.key for each in documents.button if str(each.key).startswith("snapshot-")] == [
        "snapshot-take",
        "snapshot-gone",
    ]
