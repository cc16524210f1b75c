"""The app as two processes behind one address: browsers stay with theirs, and find their run again when it has died."""

from __future__ import annotations

import os
import shutil
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.soak_world import family
from tests.support.app_server import Served, serving
from tests.support.browsing import ask, settled, until

pytestmark = pytest.mark.heavy

QUESTION = "What was the operating income in 2019?"
COOKIE = "crag_process"


@pytest.fixture(scope="module")
def served_twice(tmp_path_factory, sample_data) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("twice")
    shutil.copytree(sample_data, folder / "data")
    with serving(folder, CRAG_PROCESSES="2") as found:
        yield found


def servers(app: Served) -> list[int]:
    """The server processes, without their parent."""
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in family(app.process.pid)}
    return [pid for pid, said in commands.items() if b"streamlit" in said and pid != app.process.pid]


def number_of(page) -> str:
    [cookie] = [each for each in page.context.cookies() if each["name"] == COOKIE]
    assert cookie["httpOnly"] and cookie["sameSite"] == "Lax"
    return cookie["value"]


def test_two_browsers_work_and_find_their_run_again_when_their_process_died(served_twice, open_page) -> None:
    assert len(servers(served_twice)) == 2
    pages = [settled(open_page(served_twice.url, own=True)) for _ in range(2)]
    assert {number_of(page) for page in pages} <= {"0", "1"}
    for page in pages:
        ask(page, QUESTION)
        until(page, "() => document.querySelector('.cx .answer')?.innerText.length > 20")
        assert "run=" in page.url
    before = {page: (page.url, number_of(page)) for page in pages}
    for process in servers(served_twice):
        os.kill(process, signal.SIGKILL)
    for page in pages:
        # Streamlit's own page comes back by itself as soon as a server answers.
        page.locator("[data-test-connection-state=CONNECTED]").wait_for(state="attached", timeout=90_000)
        settled(page)
        page.locator(".question", has_text=QUESTION).first.wait_for()
        assert (page.url, number_of(page)) == before[page]
    page = pages[0]
    page.get_by_role("link", name="Documents").click()
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(
        {"name": "later.txt", "mimeType": "text/plain", "buffer": b"The harbour opened in 1912, after eleven years."}
    )
    page.get_by_text("later.txt").first.wait_for()
    assert "ended (status -9)" in served_twice.log.read_text(encoding="utf-8")


def test_only_the_parent_listens_to_others_and_it_answers_for_its_children(served_twice) -> None:
    with urllib.request.urlopen(f"{served_twice.url}/_stcore/health", timeout=60) as answer:
        assert answer.status == 200 and COOKIE in answer.headers["set-cookie"]
    asked = urllib.request.Request(served_twice.url, headers={"Cookie": f"{COOKIE}=1"})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        assert "set-cookie" not in answer.headers, "who knows its process is told nothing"
    assert f"localhost:{served_twice.port}" in served_twice.log.read_text(encoding="utf-8")
