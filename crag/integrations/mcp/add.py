"""The tool that adds a document: text, bytes, or a file below the server's folder."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Literal

from mcp.types import CallToolResult
from pydantic import Field

from crag.core.documents import Document
from crag.core.errors import CancelledError, CragError, DocumentError, InputError, LimitError
from crag.core.ingesting import (
    DocumentAdded,
    DocumentFailed,
    DuplicateFound,
    Embedding,
    IngestEvent,
    ReadingPage,
    ReadingQueued,
    RecognisingPage,
)
from crag.ingest.files import ENDINGS
from crag.integrations.mcp.request import CurrentCall, McpCall, describe_document, line, reply
from crag.integrations.mcp.results import AddResult
from crag.messages.documents import left_text
from crag.text.formats import count
from crag.text.injection import fence

MB = 1024 * 1024
UPLOAD_MB = 16
"""The largest document in a message."""

FileName = Annotated[str, Field(max_length=300, description="The file's name with its ending, as report.pdf.")]
Text = Annotated[str, Field(max_length=UPLOAD_MB * MB, description="The document, if it is text.")]
Base64 = Annotated[
    str,
    Field(
        max_length=UPLOAD_MB * MB * 4 // 3 + 4,
        description=f"The file's bytes in Base64, at most {UPLOAD_MB} MB of them: PDF, Word, PowerPoint, Excel, CSV, "
        "HTML, Markdown, text, images.",
    ),
]
Confidence = Annotated[float, Field(ge=0, le=1, description="How far the document is trusted.")]
FilePath = Annotated[
    str,
    Field(max_length=1_000, description="A file below the server's folder of files, relative to it; needs no name."),
]


async def add_document(
    call: CurrentCall, name: FileName, text: Text = "", base64: Base64 = "", confidence: Confidence = 1.0
) -> Annotated[CallToolResult, AddResult]:
    """Adds a document to the library: PDF, Word, PowerPoint, Excel, CSV, HTML, Markdown, text or an image. It can be
    searched as soon as this returns. The same content is never there twice."""
    return await add_file(call, name, text, base64, confidence=confidence)


async def add_file(
    call: CurrentCall,
    name: FileName = "",
    text: Text = "",
    base64: Base64 = "",
    path: FilePath = "",
    confidence: Confidence = 1.0,
) -> Annotated[CallToolResult, AddResult]:
    """The same tool, by the same name, where the server was started with a folder of files."""
    ended: IngestEvent | None = None

    def begin() -> Iterator[IngestEvent]:
        file, data = _file(call, name, text, base64, path)
        yield from call.engine.add_files(
            [(file, lambda: data)], call.workspace, confidence=confidence, cancel=call.cancel
        )

    async with aclosing(call.follow(begin())) as events:
        async for event in events:
            ended = event
            if sentence := _progress(event):
                await call.report(sentence)
    match ended:
        case DocumentAdded():
            return _result("added", ended.document)
        case DuplicateFound():
            return _result("duplicate", ended.document)
        case DocumentFailed():
            raise CragError(ended.message, ended.remedy)
        case _:
            raise CancelledError("Adding was stopped; nothing was added.", "Add it again.")


def _progress(event: IngestEvent) -> str:
    match event:
        case ReadingQueued():
            return f"Waits until {event.before} others are read."
        case ReadingPage():
            return f"Read page {event.page} of {event.pages}."
        case RecognisingPage():
            return f"Recognises the text of page {event.page} of {event.pages}, {left_text(event.seconds_left)}."
        case Embedding():
            return f"Embedded {event.done} of {event.total} passages."
        case _:
            return ""


def _result(status: Literal["added", "duplicate"], document: Document) -> CallToolResult:
    described = describe_document(document)
    record = AddResult.model_validate({**described, "status": status, "warnings": [*map(line, document.warnings)]})
    how = "Added" if status == "added" else "Nothing added: the same content is in the library already"
    heading = f"{how}: {count(record.pages, 'page')}, {count(record.chunks, 'passage')}, {record.uri}"
    body = fence("document", "\n".join([f"{record.name} · {record.title}", *record.warnings]))
    return reply(f"{heading}\n\n{body}", record)


def _file(call: McpCall, name: str, text: str, base64: str, path: str) -> tuple[str, bytes]:
    """The name and bytes of the document. Raises InputError, LimitError, DocumentError."""
    folder = call.config.files
    if [bool(text), bool(base64), bool(path)].count(True) != 1:
        ways = "text and base64" if folder is None else "text, base64 and path"
        raise InputError(f"Exactly one of {ways} must be given.", "Give the document in one way.")
    if path and folder is not None:
        return _from_folder(folder, path, call.engine.config.limits.max_file_mb)
    if not name.strip():
        raise InputError("The document has no name.", "Give its file name with its ending, as report.pdf.")
    data = text.encode() if text else _decode(base64)
    if len(data) > UPLOAD_MB * MB:
        raise LimitError(f"The document is larger than {UPLOAD_MB} MB.", "Split it, or add it as a file.")
    known = name.rpartition(".")[2].lower() in ENDINGS
    return name + (".txt" if text and not known else ""), data


def _decode(base64: str) -> bytes:
    try:
        return b64decode("".join(base64.split()), validate=True)
    except ValueError as error:
        raise InputError("The argument base64 is not Base64.", "Send the file's bytes in Base64, or text.") from error


def _from_folder(folder: Path, path: str, max_mb: int) -> tuple[str, bytes]:
    """A file below the folder, never one that a link leads to elsewhere."""
    root = folder.resolve()
    try:
        file = (root / path).resolve(strict=True)
        if not file.is_relative_to(root) or not file.is_file():
            raise FileNotFoundError(path)
        if file.stat().st_size > max_mb * MB:
            raise LimitError(f"The file is larger than {max_mb} MB.", "Split it.")
        return file.name, file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DocumentError(
            f"There is no file {line(path)[:200]} in the server's folder.", "Name it relative to that folder."
        ) from error
