"""Many visitors of a private server: each gets the page, and little is left of them."""

import os
import re
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.app_server import serving
from tests.support.sizes import sized
from tests.support.visitor import key_of, texts, visit

KEPT = 128
"""Sessions that Streamlit keeps of tabs that have gone, of three open files each."""
MANY = [sized(160, 140), pytest.param(2_000, marks=pytest.mark.heavy)]


@pytest.mark.slow
@pytest.mark.parametrize("visitors", MANY)
def test_visitors_leave_no_file_open_no_library_behind_and_no_key_in_the_log(tmp_path: Path, visitors: int) -> None:
    with serving(tmp_path, files=1024, CRAG_WORKSPACES="private") as app:
        visit(app.url)
        held = open_files(app.process.pid)
        with ThreadPoolExecutor(4) as pool:
            keys = set()
            for received in pool.map(lambda _: visit(app.url), range(visitors)):
                assert "Three questions to a sample" in texts(received) and "Too many" not in texts(received)
                keys.add(key_of(received))
        assert len(keys) == visitors and all(re.fullmatch("[0-9a-f]{48}", key) for key in keys)
        assert open_files(app.process.pid) <= held + 3 * KEPT + 12
        assert {each.name for each in app.data.iterdir()} == {"keys.secret", "in-use"}
        assert urllib.request.urlopen(f"{app.url}/_stcore/health").status == 200
        key = keys.pop()
        visit(app.url, f"w={key}&run=nothing")
        visit(app.url, f"w={key[:-1]}x")
        urllib.request.urlopen(f"{app.url}/?w={key}").close()
    assert key[:16] not in app.log.read_text(), "no key is in the server's log"


def open_files(process: int) -> int:
    return len(os.listdir(f"/proc/{process}/fd"))
