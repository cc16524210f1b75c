"""E-mails: header fields as a form, the mail's own words, what it quotes apart, and what is attached to it.

An `.msg` of Outlook is turned into a message of Python's `email`, so that there is one reader. Nothing runs, nothing is
fetched, and no archive is unpacked.
"""

from __future__ import annotations

import codecs
import mimetypes
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import format_datetime, parsedate_to_datetime
from itertools import groupby
from typing import Any, NamedTuple

from crag.core.ingesting import Attachment
from crag.ingest.files import FileError, foreign_kind, is_compound, media_of, safe_name, translate_errors
from crag.ingest.html import parse_page, walk_page
from crag.ingest.sections import Block, ComposedPage, fill_pages, messages, squeeze
from crag.ingest.wrapped import unwrap
from crag.text.encodings import decode_text

_POLICY = policy.default.clone(refold_source="none")
_MOST_ATTACHMENTS, _MOST_BYTES = 200, 48 * 1024 * 1024
"""Of one mail, and of one attachment: it must fit a frame of the child's answer."""
_MOST_PARTS, _MOST_LEVELS = 2_000, 20
_MOST_HEADER = 2_000
_EMBEDDED_HEAD = 24  # bytes
_ABOUT = "About this e-mail"
_WESTERN = frozenset({"ascii", "us-ascii", "iso-8859-1", "latin1", "latin-1", "windows-1252", "cp1252", "iso-8859-15"})
_WIDE = (b"\xff\xfe", b"\xfe\xff")
"""How texts begin that have zeros in them."""
_OPENS, _CLOSES = "\ue000", "\ue001"
"""Stand around what a page quotes, while it is walked through."""
_QUOTES = (
    "//blockquote[@type='cite' or contains(@class, 'gmail_quote') or contains(@class, 'cite')]"
    "|//div[contains(@class, 'gmail_quote') or contains(@class, 'yahoo_quoted') or contains(@class, 'moz-cite')]"
)
_DIVIDER = re.compile(r"[ \t]*(?:-{2,} ?\w[^\n]{2,60} ?-{2,}|_{10,})[ \t]*")
"""A line above an earlier mail: "-----Original Message-----", or the rule that Outlook draws."""
_FIELD = re.compile(r"[ \t*]*[^\W\d_][\w /.-]{0,20}\*?[ \t\u00a0]*:\*?[ \t]+\S.*")
_LEAST_FIELDS = 3
_MOST_LEAD = 200
_QUOTED = re.compile(r" ?>[> ]*")


class _Piece(NamedTuple):
    """A block of the body, and whether it is quoted from an earlier mail."""

    block: Block
    quoted: bool


@dataclass(slots=True)
class _Mail:
    """What was found in a message: its body, what is attached to it, and what of it is not read."""

    pieces: list[_Piece] = field(default_factory=list)
    attached: list[Attachment] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    pictures: int = 0
    parts: int = 0


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage | Attachment]:
    """The mail in parts of a few thousand characters, then its attachments. Raises FileError."""
    with translate_errors():
        found = _Mail()
        message = _from_outlook(data, found) if is_compound(data) else message_from_bytes(data, policy=_POLICY)
        _gather(message, found, 0)
        said = {name: _header(message, name) for name in ("From", "To", "Cc", "Subject")}
        moment = _moment(message)
        title = said["Subject"] or f"E-mail from {said['From'] or 'an unknown sender'}"
        body = list(_fold(found.pieces, title))
        lines = "\n".join(_sentences(said, moment, found))
        top = [Block(text=title, heading=True), Block(text=_ABOUT, heading=True), Block(text=lines)]
        pages = list(fill_pages([*top, *([Block(text=title, heading=True)] if body else []), *body]))
        day = f"{moment:%Y-%m-%d}" if moment else ""
    notes = {"unread": found.unread, "pictures": found.pictures}
    yield from messages(pages, job, title, notes, day, {"author": said["From"], "created": day})
    yield from found.attached


def _sentences(said: Mapping[str, str], moment: datetime | None, found: _Mail) -> Iterator[str]:
    """The header as people say it: few questions find a bare "From:"."""
    day = f"{moment:%A}, {moment.day} {moment:%B %Y, %H:%M} {moment:%z}".strip() if moment else ""
    yield f"This e-mail was written and sent by {said['From'] or 'an unknown sender'}."
    names = ", ".join([*(each.name for each in found.attached), *found.unread])
    for lead, value in (
        ("It was sent to", said["To"]),
        ("A copy was sent to", said["Cc"]),
        ("It was sent on", day),
        ("Its subject is", said["Subject"]),
        ("Attached to it:", names),
    ):
        if value:
            yield f"{lead} {value}" if value.endswith((".", "?", "!")) else f"{lead} {value}."


def _header(message: EmailMessage, name: str) -> str:
    """A header field on one line; empty for one that is missing or that Python's parser breaks on."""
    try:
        said = message.get_all(name) or []
        return squeeze(", ".join(map(str, said)))[:_MOST_HEADER].replace("\0", "")
    except (AttributeError, IndexError, LookupError, TypeError, ValueError):
        return ""


def _moment(message: EmailMessage) -> datetime | None:
    try:
        return parsedate_to_datetime(_header(message, "Date"))
    except (TypeError, ValueError, IndexError):
        return None


# the parts of a message


def _gather(part: EmailMessage, found: _Mail, level: int) -> None:
    """Take what a part holds, from the top of the mail down."""
    found.parts += 1
    if found.parts > _MOST_PARTS or level > _MOST_LEVELS:
        if not found.unread or found.unread[-1] != "more parts":
            found.unread.append("more parts")
        return
    kind, name = part.get_content_type(), _file_name(part)
    inner = [each for each in part.iter_parts() if isinstance(each, EmailMessage)] if part.is_multipart() else []
    if kind == "message/rfc822":
        if inner:
            subject = _header(inner[0], "Subject") or "message"
            _attach(name or f"{subject[:60]}.eml", inner[0].as_bytes(), found)
    elif kind == "multipart/alternative":
        _gather_best(inner, found, level)
    elif part.is_multipart():
        for each in inner:
            _gather(each, found, level + 1)
    elif kind in ("text/plain", "text/html") and not name and part.get_content_disposition() != "attachment":
        found.pieces += _html_pieces(_text(part)) if kind == "text/html" else _plain_pieces(_text(part), part)
    elif part.get_content_maintype() == "image" and part.get("Content-ID") and not _is_attachment(part):
        found.pictures += 1  # a logo or the like, which stands in the text
    elif data := _payload(part):
        _attach(name or f"attachment {len(found.attached) + 1}{mimetypes.guess_extension(kind) or ''}", data, found)


def _gather_best(choices: Sequence[EmailMessage], found: _Mail, level: int) -> None:
    """The last of several forms of one text that says something, as mail programs choose."""
    for choice in reversed(choices):
        before = len(found.pieces), len(found.attached)
        if choice.get_content_type() in ("text/plain", "text/html") or choice.is_multipart():
            _gather(choice, found, level + 1)
        if (len(found.pieces), len(found.attached)) != before:
            return


def _is_attachment(part: EmailMessage) -> bool:
    return part.get_content_disposition() == "attachment"


def _file_name(part: EmailMessage) -> str:
    try:
        return part.get_filename("") or ""
    except (AttributeError, IndexError, LookupError, TypeError, ValueError):
        return ""


def _payload(part: EmailMessage) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _text(part: EmailMessage) -> str:
    """A part's text by what its header says of its encoding, else by what fits."""
    data, said = _payload(part), (part.get_content_charset() or "").lower()
    if said in _WESTERN:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("cp1252", "replace")
    else:
        data = data if said.startswith("utf-16") or data.startswith(_WIDE) else data.replace(b"\0", b"")
        text = decode_text(data, f"charset={said}".encode("ascii", "ignore") if said else b"")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").translate({0xE000: None, 0xE001: None})


def _attach(name: str, data: bytes, found: _Mail) -> None:
    """Take an attachment, or note by name and kind why it is not read."""
    name = safe_name(name)
    media = media_of(data, name)
    if media is None:
        found.unread.append(f"{name} ({foreign_kind(data) or 'of an unknown kind'})")
    elif len(data) > _MOST_BYTES:
        found.unread.append(f"{name} (larger than {_MOST_BYTES // 1024 // 1024} MB)")
    elif len(found.attached) >= _MOST_ATTACHMENTS:
        found.unread.append(f"{name} (beyond the first {_MOST_ATTACHMENTS})")
    else:
        found.attached.append(Attachment(name, data))


# the body


def _plain_pieces(text: str, part: EmailMessage) -> Iterator[_Piece]:
    """The paragraphs of a plain text; lines behind ">" are quoted."""
    if part.get_param("format") == "flowed":
        text = re.sub(r"(?<!^--) \n(?![>\n])", " ", text, flags=re.MULTILINE)
    for quoted, lines in groupby(text.split("\n"), key=lambda line: line.startswith((">", " >"))):
        held = "\n".join(_QUOTED.sub("", line, count=1) if quoted else line for line in lines)
        for paragraph in re.split(r"\n[ \t]*\n", unwrap(held)):
            if paragraph.strip():
                yield _Piece(Block(text=paragraph.strip("\n")), quoted)


def _html_pieces(source: str) -> Iterator[_Piece]:
    """The blocks of a mail that is a web page; what it marks as quoted is quoted."""
    try:
        root, _ = parse_page(source)
    except FileError:  # it holds nothing
        return
    for quote in root.xpath(_QUOTES):
        quote.text, quote.tail = f"{_OPENS}{quote.text or ''}", f"{_CLOSES}{quote.tail or ''}"
    depth = 0
    for block in walk_page(root):
        for part in re.split(f"([{_OPENS}{_CLOSES}])", block.text) if block.table is None else [block.text]:
            if part in (_OPENS, _CLOSES):
                depth += 1 if part == _OPENS else -1
            elif part.strip():
                yield _Piece(
                    block if part == block.text else Block(text=part.strip(), heading=block.heading), depth > 0
                )


def _fold(pieces: Sequence[_Piece], subject: str) -> Iterator[Block]:
    """The body with what it quotes under headings of its own, and its own words behind a quote under `subject`.

    The line that leads to a quote, "On Tuesday Lena Vogt wrote:", is its heading.
    """
    quoting, lead, last = False, "", list[Block]()
    for piece in _part_earlier(pieces):
        own = [piece.block]
        if piece.quoted and not quoting:
            lead = _take_lead(last) or _take_lead(own) or _read_header(piece.block) or lead or "an earlier e-mail"
            yield from last
            yield Block(text=f"Quoted: {lead}", heading=True)
        elif not piece.quoted:
            yield from last
            if quoting:
                yield Block(text=subject, heading=True)
        quoting, last = piece.quoted, [] if piece.quoted else own
        if piece.quoted:
            yield from (replace(block, heading=False) for block in own)
    yield from last


def _read_header(block: Block) -> str:
    """Who wrote an earlier mail and when, from the first fields of its header."""
    lines = [line for line in block.text.split("\n") if _FIELD.fullmatch(line)]
    return squeeze(", ".join(lines[:2]))[:_MOST_LEAD]


def _take_lead(last: list[Block]) -> str:
    """The end of the block before a quote, if that leads to it; it is taken from there."""
    if not last or last[0].table is not None:
        return ""
    lines = last[0].text.rstrip().split("\n")
    if not lines[-1].rstrip().endswith(":") and not _DIVIDER.fullmatch(lines[-1]):
        return ""
    # Programs wrap the line: "On Tuesday, Lena Vogt <lena@…>\nwrote:".
    lead = lines[-2:] if len(lines) == 2 and len(" ".join(lines)) < _MOST_LEAD else lines[-1:]
    rest = "\n".join(lines[: -len(lead)]).rstrip()
    last[:] = [Block(text=rest, heading=last[0].heading)] if rest else []
    return squeeze(" ".join(lead)).strip(" -_:")[:_MOST_LEAD]


def _part_earlier(pieces: Sequence[_Piece]) -> Iterator[_Piece]:
    """The pieces, where from the header of an earlier mail on all is quoted."""
    for number, piece in enumerate(pieces):
        lines = piece.block.text.split("\n")
        at = None if piece.quoted or piece.block.table is not None else _find_earlier(lines, number > 0)
        if at is None:
            yield piece
            continue
        if above := "\n".join(lines[:at]).strip():
            yield _Piece(Block(text=above), False)
        yield _Piece(Block(text="\n".join(lines[at:])), True)
        yield from (each._replace(quoted=True) for each in pieces[number + 1 :])
        return


def _find_earlier(lines: Sequence[str], inside: bool) -> int | None:
    """The line at which an earlier mail begins: below a divider, or with several header fields, one an address."""
    for at, line in enumerate(lines):
        below = [each for each in lines[at + 1 : at + 3] if each.strip()]
        if _DIVIDER.fullmatch(line) and (not below or _FIELD.fullmatch(below[0])):
            return at
        fields = lines[at : at + _LEAST_FIELDS]
        headed = len(fields) == _LEAST_FIELDS and all(map(_FIELD.fullmatch, fields)) and "@" in lines[at]
        if headed and (inside or at):
            return at
    return None


# Outlook's own files

_CODEPAGE = re.compile(r"windows[-_](\d{3,5})")


def _find_codec(name: str) -> codecs.CodecInfo | None:
    """A code page by the name that Windows has for it, which Python knows of some only. Raises LookupError."""
    found = _CODEPAGE.fullmatch(name)
    return codecs.lookup(f"cp{found[1]}") if found else None


codecs.register(_find_codec)


def _from_outlook(data: bytes, found: _Mail) -> EmailMessage:
    from oxmsg import Message

    return _converted(Message.load(data), found, 0)


def _converted(source: Any, found: _Mail, level: int) -> EmailMessage:
    """An Outlook message as one of Python's `email`, with its attachments and the messages in them."""
    message = EmailMessage(policy=_POLICY)
    copies = {name: source.message_headers.get(name, "") for name in ("To", "Cc")}
    if not copies["To"]:
        copies["To"] = ", ".join(f"{each.name} <{each.email_address}>" for each in source.recipients)
    values = {"From": source.sender or "", **copies, "Subject": source.subject}
    for name, said in values.items():
        if said:
            message[name] = squeeze(said)
    if source.sent_date is not None:
        message["Date"] = format_datetime(source.sent_date)
    plain, page = source.body or "", source.html_body or ""
    if plain or page:
        message.set_content(page or plain, subtype="html" if page else "plain", charset="utf-8")
    else:
        found.unread.append("its text, which is in a form of Outlook alone")
    for attachment in source.attachments:
        _convert_attachment(message, attachment, found, level)
    return message


def _embedded(storage: Any) -> Any:
    """A message that is attached to another one: the head of its properties is shorter than a file's."""
    from oxmsg import Message
    from oxmsg.properties import Properties

    class Embedded(Message):
        properties = Properties(storage, properties_header_offset=_EMBEDDED_HEAD)

    return Embedded(storage)


def _convert_attachment(message: EmailMessage, attachment: Any, found: _Mail, level: int) -> None:
    from oxmsg.domain.constants import PID_ATTACH_CONTENT_ID

    name = attachment.file_name or "attachment"
    inner = next((each for each in attachment._storage.storages if each.name.endswith("3701000D")), None)
    if inner is not None and level < _MOST_LEVELS:
        message.add_attachment(_converted(_embedded(inner), found, level + 1))
    elif data := attachment.file_bytes:
        kind = (attachment.mime_type or "application/octet-stream").split("/", 1)
        message.add_attachment(data, maintype=kind[0], subtype=kind[-1], filename=name)
        if kind[0] == "image" and (id := attachment.properties.str_prop_value(PID_ATTACH_CONTENT_ID)):
            part = list(message.iter_attachments())[-1]
            part.replace_header("Content-Disposition", "inline")
            part["Content-ID"] = f"<{id}>"
    else:
        found.unread.append(f"{safe_name(name)} (not in the file)")
