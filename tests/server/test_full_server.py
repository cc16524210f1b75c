"""A real server that takes few tabs and little of each: real sockets, real uploads."""

import asyncio

import httpx
import pytest

from benchmarks.soak_client import Lost, Tab
from tests.support.app_server import Served, serving

MB = 2**20


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory):
    limits = {"CRAG_ALL_SESSIONS": "3", "CRAG_SESSION_MB": "2", "CRAG_METRICS": "local"}
    with serving(tmp_path_factory.mktemp("full"), **limits) as found:
        yield found


@pytest.mark.slow
def test_a_full_server_refuses_a_new_tab_and_lets_an_old_one_back(app: Served) -> None:
    async def visits() -> None:
        async with Tab(app.url) as one, Tab(app.url) as two, Tab(app.url) as three, Tab(app.url) as late:
            await one.open()
            await two.open()
            await three.open()
            with pytest.raises(Lost, match="503"):
                await late.open()
            page = httpx.get(f"{app.url}/documents", headers={"accept": "text/html"}, trust_env=False)
            assert page.status_code == 503 and page.headers["retry-after"] == "10"
            assert "open in 3 tabs at once" in page.text
            metrics = (await late.get("/metrics")).text
            assert "crag_sessions 3.0" in metrics and "crag_sessions_limit 3.0" in metrics

            session = two.session
            await two.drop()
            await two.reconnect()
            assert two.session == session

    asyncio.run(visits())


@pytest.mark.slow
def test_a_tab_s_files_are_refused_beyond_its_limit_and_its_page_says_so(app: Served) -> None:
    async def drops() -> None:
        async with Tab(app.url) as tab:
            await tab.open("documents")
            with pytest.raises(Lost, match="upload: "):  # 413, or the connection is closed before that is read
                await tab.upload("Add documents", {"big.txt": b"x" * (3 * MB)})
            await tab.rerun()  # as the page does by itself
            assert not tab.exceptions
            assert "1 file was not accepted. One tab may upload 2 MB at once." in tab.texts().replace("\\", "")
            await tab.upload("Add documents", {"small.txt": b"The moon circles the earth in twenty-seven days."})
            metrics = (await tab.get("/metrics")).text
            while "crag_upload_bytes 0.0" not in metrics:
                metrics = (await tab.get("/metrics")).text

    asyncio.run(drops())
