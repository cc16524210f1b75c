"""`index` with addresses, `refresh` and `documents --stale`: web pages in, looked at again, said when out of date."""

from pathlib import Path

from tests.support.shell import Ran, crag
from tests.support.web_pages import Site
from tests.support.web_server import Reply, serving


def test_web_pages_are_indexed_refreshed_and_told_when_they_are_out_of_date(tmp_path: Path) -> None:
    place = tmp_path / "library"
    ferry = Reply(kind="text/plain", body=b"The ferry over the river Veldt carries sixty people.")
    with serving(Site(ferry=ferry, old=Reply(kind="text/plain", body=b"The old ferry was sold in 1891."))) as server:

        def ran(*command: object) -> Ran:
            return crag(*command, "--library", place, CRAG_PRIVATE_ADDRESSES="true")

        added = ran("index", f"{server.address}/ferry", f"{server.address}/old", "--json")
        assert (added.code, [each["status"] for each in added.records]) == (0, ["added", "added"])
        failed = ran("index", f"{server.address}/none", "ftp://example.org/x", f"{server.address}/ferry", "--json")
        assert failed.code == 1
        assert [each["status"] for each in failed.records] == ["failed", "failed", "unchanged"]
        server.answer = Site(ferry=Reply(kind="text/plain", body=b"The ferry now carries ninety people."))
        dry = ran("refresh", "--dry-run", f"{server.address}/ferry")
        assert dry.code == 0 and dry.out.startswith("changed")
        stale = ran("documents", "--stale", "--json").records
        assert [each["look"] for each in stale] == ["changed"]
        seen = ran("refresh", "--json")
        assert (seen.code, [each["status"] for each in seen.records]) == (1, ["replaced", "gone"])
        assert seen.records[0]["replaces"] == stale[0]["id"] and seen.records[1]["note"]
        assert "web page was gone" in ran("documents", "--stale").out
        assert ran("refresh", "--older-than", "7d").err.strip() == "No web page was due."
        assert ran("refresh", "nothing").code == 1
        assert ran("tag", "ferry", "review_by=2020").code == 1
        (held, _) = ran("documents", "--json").records
        assert ran("tag", str(held["name"]), "review_by=2020-05").code == 0
        assert "review was due by 2020-05" in ran("documents", "--stale").out
