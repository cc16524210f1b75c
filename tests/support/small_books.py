"""Containers of books and of OpenDocument, built for what is in them."""

import zipfile
from io import BytesIO


def packed(parts: dict[str, str | bytes], kind: str = "") -> bytes:
    """A container of these parts, the first of which says its `kind`."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        if kind:
            file.writestr("mimetype", kind, zipfile.ZIP_STORED)
        for name, data in parts.items():
            file.writestr(name, data)
    return buffer.getvalue()


def open_document(kind: str, body: str, more: dict[str, str | bytes] | None = None) -> bytes:
    """An OpenDocument file of a kind, as "text" or "spreadsheet", that holds this."""
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text"))
    whole = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    content = f"<office:document-content {spaces}>{whole}</office:document-content>"
    return packed({"content.xml": content, **(more or {})}, f"application/vnd.oasis.opendocument.{kind}")


def part(data: bytes, name: str) -> str:
    with zipfile.ZipFile(BytesIO(data)) as file:
        return file.read(name).decode()
