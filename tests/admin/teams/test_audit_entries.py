"""The audit log: what is in it, what is never, how long, and that strangers can't fill it."""

import pytest
from sqlalchemy import update

from crag.admin.audit import AuditLog, format_setting
from crag.admin.store import audit as table
from crag.admin.store import open_store


def test_refusals_and_strangers_have_a_bound_and_people_s_acts_are_all_stored(store):
    seconds = 0.0
    audit = AuditLog(store, lambda: seconds)
    for number in range(500):
        audit.note("refused", f"{number}@example.org", workspace="p-1", what="sign-in", refused=True)
        audit.note("link", "link 7", what="opened")
    for number in range(100):
        audit.note("delete", "anna@example.org", what="document", detail=str(number))
    found = list(audit.entries(10_000))
    assert sum(each.act in ("refused", "link") for each in found) == 60
    assert sum(each.who == "anna@example.org" for each in found) == 100
    seconds = 60.0
    audit.note("refused", "visitor", workspace="p-1", what="a workspace in the address", refused=True)
    audit.note("refused", "visitor", workspace="p-1", what="a workspace in the address", refused=True)
    assert [each.detail for each in audit.entries(2)] == ["", "(after 940 that are not listed)"]


def test_entries_are_kept_as_long_as_is_set(audit, store):
    for number in range(3):
        audit.note("setting", "owner", what=str(number))
    with store.write() as connection:
        connection.execute(update(table).where(table.c.what == "0").values(at="2020-01-01T00:00:00.000+00:00"))
    assert audit.tidy(0) == 0 and audit.tidy(365) == 1
    assert [each.what for each in audit.entries()] == ["2", "1"]


def test_what_others_named_is_one_line(audit):
    audit.note("delete", "anna\n2020 forged", what="a\x1b[31m\u202eb", detail="x" * 5000)
    (entry,) = audit.entries()
    assert entry.who == "anna 2020 forged" and "\x1b" not in entry.what and len(entry.detail) == 300


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("https://user:secret@host:1/path?key=secret", "https://host:1"),
        ("http://host/secret@x", "http://host"),
        (("https://a:b@c/d", "plain"), "https://c, plain"),
        ("", "none"),
        (True, "True"),
    ],
)
def test_of_an_address_the_log_has_where_it_leads_and_no_secret(value, said):
    assert format_setting(value) == said


def test_a_log_that_can_t_be_written_stops_nothing(tmp_path, caplog):
    (tmp_path / "teams.db").write_text("no database at all, but long enough to be looked at as one " * 20)
    AuditLog(open_store(tmp_path)).note("delete", "owner", what="document")
    assert "in this log alone" in caplog.text
