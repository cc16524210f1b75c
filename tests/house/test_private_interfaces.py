"""What the product takes from other packages beside their public interfaces: each as it must be, or said in words.

A failure here after an upgrade means: look at the named file before anything else. One more is held where it is used:
FAISS's memory by `tests/storage/test_vectors.py`.
"""

from __future__ import annotations

import ast
import asyncio
import json
import pkgutil
import re
import subprocess
import sys
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
import streamlit
from packaging.requirements import Requirement

from tests.support.product import nodes_of, tree_of
from tests.support.small_office import small_xlsx

ROOT = Path(__file__).resolve().parents[2]


def relied_on(holds: object, package: str, what: str, file: str) -> None:
    """Fails in words where a package is no longer as the file needs it."""
    at = f"{package} {version(package)}" if package != "Python" else f"Python {sys.version.split()[0]}"
    assert holds, f"{at} has changed: {what}. {file} relies on it."


@pytest.mark.parametrize(
    "package", ["ddgs", "faiss-cpu", "httpx", "langchain-openai", "openpyxl", "pypdfium2", "streamlit", "tantivy"]
)
def test_each_such_package_is_required_up_to_a_version(package: str) -> None:
    files = (ROOT / "requirements" / f"{name}.txt" for name in ("engine", "app"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    (found,) = (Requirement(line) for line in lines if line and line[0] != "#" and Requirement(line).name == package)
    assert any(each.operator == "<" for each in found.specifier), f"{package} needs an upper bound where it is required"


# ---- httpx: the pool behind a transport ----------------------------------------------------------------------------


def test_httpx_connects_through_the_pool_that_is_put_in_its_transport() -> None:
    import httpcore

    from crag.web.fetching import AddressError, guarded_transport

    where = "crag/web/fetching.py"
    pool = getattr(httpx.AsyncHTTPTransport(), "_pool", None)
    relied_on(isinstance(pool, httpcore.AsyncConnectionPool), "httpx", "a transport holds its pool as `_pool`", where)

    async def fetched() -> None:
        async with httpx.AsyncClient(transport=guarded_transport(False), trust_env=False) as client:
            await client.get("http://127.0.0.1:9/")

    with pytest.raises(Exception) as raised:
        asyncio.run(fetched())
    causes = []
    error: BaseException | None = raised.value
    while error is not None:
        causes.append(type(error))
        error = error.__cause__ or error.__context__
    relied_on(AddressError in causes, "httpx", "a pool put in `_pool` is not what connects", where)


# ---- ddgs: what reads a page of results ----------------------------------------------------------------------------


def test_ddgs_lets_a_result_choose_how_its_fields_are_cleaned() -> None:
    from ddgs.engines.duckduckgo import Duckduckgo
    from ddgs.results import TextResult

    class Result(TextResult):
        _normalizers: ClassVar = {name: clean for name, clean in TextResult._normalizers.items() if name != "href"}

    class Engine(Duckduckgo):
        def __init__(self) -> None:
            self.results = []

    where = "crag/web/duckduckgo_page.py"
    relied_on({"title", "href", "body"} <= set(TextResult._normalizers), "ddgs", "`_normalizers` by field", where)
    plain, kept = TextResult(), Result()
    for result in (plain, kept):
        result.title, result.href = "A &amp; B", "https://example.org/C%23"
    relied_on(plain.title == kept.title == "A & B", "ddgs", "a result cleans what is assigned to it", where)
    relied_on(kept.href == "https://example.org/C%23", "ddgs", "a class's own `_normalizers` count", where)
    reads = ("build_payload", "extract_results", "post_extract_results", "result_type")
    relied_on(all(hasattr(Duckduckgo, name) for name in reads), "ddgs", f"the engine has {', '.join(reads)}", where)
    asked = Engine().build_payload("q", region="us-en", safesearch="moderate", timelimit=None)
    relied_on(asked.get("q") == "q", "ddgs", "the payload holds the query as `q`", where)


# ---- Python: what runs before it waits for threads -----------------------------------------------------------------


def test_python_runs_what_is_registered_before_it_waits_for_pool_threads() -> None:
    program = (
        "import threading\nfrom concurrent.futures import ThreadPoolExecutor\nstop = threading.Event()\n"
        "threading._register_atexit(stop.set)\nThreadPoolExecutor().submit(stop.wait, 20)\n"
    )
    try:
        ended = subprocess.run([sys.executable, "-c", program], timeout=15, capture_output=True, check=False).returncode
    except subprocess.TimeoutExpired:
        ended = None
    relied_on(
        ended == 0, "Python", "`threading._register_atexit` runs before threads are joined", "crag/runtime/jobs.py"
    )


# ---- LangChain: the shape of a message -----------------------------------------------------------------------------

USAGE = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}


def served(request: httpx.Request) -> httpx.Response:
    """A server of the common chat form: one reply, whole or in two pieces and a last one with the counts."""
    about = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
    if not json.loads(request.content).get("stream"):
        message = {"role": "assistant", "content": "two words"}
        choice = {"index": 0, "message": message, "finish_reason": "length"}
        return httpx.Response(200, json={**about, "choices": [choice], "usage": USAGE})
    pieces: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "two "}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {"content": "words"}, "finish_reason": "length"}]},
        {"choices": [], "usage": USAGE},
    ]
    lines = [f"data: {json.dumps({**about, 'object': 'chat.completion.chunk', **each})}\n\n" for each in pieces]
    text = "".join([*lines, "data: [DONE]\n\n"])
    return httpx.Response(200, text=text, headers={"content-type": "text/event-stream"})


def test_langchain_tells_a_reply_s_text_its_end_and_its_tokens_in_these_places() -> None:
    from langchain_openai import ChatOpenAI

    async def both() -> tuple[Any, Any]:
        client = httpx.AsyncClient(transport=httpx.MockTransport(served))
        model = ChatOpenAI(
            model="m", base_url="http://server.test/v1", api_key="none", http_async_client=client, stream_usage=True
        )
        whole: Any = None
        async for piece in model.astream([("human", "?")]):
            whole = piece if whole is None else whole + piece
        return await model.ainvoke([("human", "?")]), whole

    for message, kind in zip(asyncio.run(both()), ("a reply", "the sum of its pieces"), strict=True):
        where = "crag/providers"
        relied_on(message.text == "two words", "langchain-openai", f"{kind} has its words as `text`", where)
        end = message.response_metadata.get("finish_reason")
        relied_on(end == "length", "langchain-openai", f"{kind} says in `response_metadata` why it ended", where)
        counts = {name: message.usage_metadata[name] for name in ("input_tokens", "output_tokens")}
        relied_on(
            counts == {"input_tokens": 7, "output_tokens": 2}, "langchain-openai", f"{kind} counts its tokens", where
        )


def test_langchain_s_client_can_be_kept_from_telling_whose_key_it_is() -> None:
    from langchain_openai import ChatOpenAI

    told: list[httpx.Request] = []

    def heard(request: httpx.Request) -> httpx.Response:
        told.append(request)
        return served(request)

    async def once() -> None:
        client = httpx.AsyncClient(transport=httpx.MockTransport(heard))
        model = ChatOpenAI(
            model="m",
            base_url="http://server.test/v1",
            api_key="none",
            http_async_client=client,
            organization="whose",
            stream_chunk_timeout=None,
        )
        model.root_async_client.organization = model.root_async_client.project = None
        await model.ainvoke([("human", "?")])

    asyncio.run(once())
    named = [name for name in told[0].headers if name.startswith("openai-")]
    relied_on(not named, "langchain-openai", "`root_async_client` is what asks", "crag/providers/chat.py")


# ---- PDFium: one document, opened once -----------------------------------------------------------------------------


def test_pypdfium2_takes_a_document_that_was_opened_by_hand() -> None:
    import pypdfium2
    import pypdfium2.raw as pdfium

    data = next((ROOT / "samples").rglob("*.pdf")).read_bytes()
    raw = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
    relied_on(isinstance(raw, pdfium.FPDF_DOCUMENT), "pypdfium2", "a loaded document's type", "crag/ingest/child.py")
    document = pypdfium2.PdfDocument(raw)
    relied_on(len(document) > 0, "pypdfium2", "PdfDocument takes a raw document", "crag/ingest/child.py")
    document.close()


# ---- Streamlit -----------------------------------------------------------------------------------------------------

DOCUMENTED = {
    "streamlit": None,
    "streamlit.delta_generator": {"DeltaGenerator"},
    "streamlit.runtime.uploaded_file_manager": {"UploadedFile"},
}
"""What Streamlit's own reference names, by module; of `streamlit` itself what `st.` offers. The two types annotate."""
PRIVATE = {
    "ui/components/script_context.py": "the context of a running script: its session, history, uploads and threads",
    "ui/server/headers.py": "where the page lies whose inline scripts the Content-Security-Policy lets run",
}
"""All that this program takes of Streamlit beside that: three at most, each in one file, each checked at the start."""
_INSIDE = re.compile(r"\bst(reamlit)?\.(__file__|_\w+|runtime|web|proto|config|net_util|file_util)\b")


def private_parts(path: Path) -> set[str]:
    """What a module takes from Streamlit that is not documented."""
    found = set()
    for node in nodes_of(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names if each.name.startswith("streamlit.")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "streamlit":
            offered = set(dir(streamlit)) if node.module == "streamlit" else DOCUMENTED.get(node.module or "", set())
            modules = {each.name for each in pkgutil.iter_modules(streamlit.__path__)}
            names = {each.name for each in node.names}
            found |= names if node.module == "streamlit" and names & modules else names - (offered or set())
        elif isinstance(node, ast.Attribute) and _INSIDE.match(ast.unparse(node)):
            found.add(ast.unparse(node))
    return found - {"st.__version__"}


def test_three_private_parts_of_streamlit_at_most_are_used_each_in_one_file() -> None:
    files = [
        ROOT / "app.py",
        *(ROOT / "ui").rglob("*.py"),
        *(ROOT / "pages").glob("*.py"),
        *(ROOT / "crag").rglob("*.py"),
    ]
    found = {str(path.relative_to(ROOT)): parts for path in files if (parts := private_parts(path))}
    assert found.keys() == PRIVATE.keys(), found
    assert len(PRIVATE) <= 3


@pytest.mark.parametrize(
    ("line", "private"),
    [
        ("from streamlit import config", True),
        ("from streamlit.runtime.scriptrunner import get_script_run_ctx", True),
        ("import streamlit.web.bootstrap", True),
        ("import streamlit as st; st.session_state._state", False),
        ("import streamlit as st; st.runtime.get_instance()", True),
        ("from streamlit.runtime.uploaded_file_manager import UploadedFile", False),
        ("from streamlit.runtime.uploaded_file_manager import UploadedFileManager", True),
        ("import streamlit as st; st.get_option('server.port')", False),
    ],
)
def test_what_is_private_is_recognised(line: str, private: bool, tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(line)
    assert bool(private_parts(file)) is private


def test_the_private_parts_of_streamlit_are_as_they_are_needed() -> None:
    from ui.components import script_context
    from ui.server import headers

    for missing, where in ((script_context.missing(), "script_context.py"), (headers.missing(), "headers.py")):
        relied_on(not missing, "streamlit", missing, where)
    scripts = headers.inline_scripts()
    relied_on(scripts, "streamlit", "its page has no inline script that is a plain <script>", "ui/server/headers.py")


# ---- openpyxl: the parser of a sheet, which tells what is hidden ---------------------------------------------------


def test_openpyxl_has_a_parser_that_tells_the_rows_and_columns_of_a_sheet() -> None:
    from openpyxl import load_workbook
    from openpyxl.worksheet._reader import WorkSheetParser

    where = "crag/ingest/sheets.py"
    book = load_workbook(BytesIO(small_xlsx()), read_only=True, data_only=True)
    sheet = book["Revenue"]
    held = all(hasattr(book, name) for name in ("_archive", "_cell_styles", "_number_formats", "_date_formats"))
    held = held and hasattr(book, "_timedelta_formats") and hasattr(sheet, "_shared_strings")
    relied_on(held and hasattr(sheet, "_worksheet_path"), "openpyxl", "a workbook holds its parts elsewhere", where)
    with book._archive.open(sheet._worksheet_path) as source:
        parser = WorkSheetParser(source, sheet._shared_strings, data_only=True)
        rows = dict(parser.parse())
    relied_on(rows[1][0]["value"] == "Revenue by harbour", "openpyxl", "a row is no longer a list of cells", where)
    relied_on(rows[1][0].keys() >= {"column", "value", "style_id"}, "openpyxl", "a cell is told otherwise", where)
    relied_on(parser.row_dimensions["5"].get("hidden") == "1", "openpyxl", "hidden rows are told otherwise", where)
    hidden = [each for each in parser.column_dimensions.values() if each.get("hidden") == "1"]
    relied_on([each["min"] for each in hidden] == ["3"], "openpyxl", "hidden columns are told otherwise", where)


# ---- python-docx: which parts are documents ------------------------------------------------------------------------


def test_python_docx_reads_parts_of_a_type_that_it_is_told_of() -> None:
    from docx.opc.part import PartFactory
    from docx.parts.document import DocumentPart

    known = PartFactory.part_type_for.values()
    relied_on(
        DocumentPart in known, "python-docx", "`PartFactory.part_type_for` is no table of types", "crag/ingest/docx.py"
    )
