"""E-mails: who sent them and when, their own words apart from what they quote, and their attachments."""

import importlib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.documents import Chunk
from crag.core.errors import DocumentError
from crag.core.ingesting import DocumentAdded, DocumentFailed, DuplicateFound, ParsedDocument
from crag.engine import Engine
from crag.ingest.chunking import chunk_document
from crag.ingest.files import attached_name, ending_of, media_of
from crag.ingest.reader import read_document
from tests.support import small_mail
from tests.support.reported import REPORTS, kind
from tests.support.small_library import WordEmbedder
from tests.support.small_pdf import small_pdf

CONFIG = AppConfig()
HOURS = (REPORTS / "hours_qp.eml").read_bytes()


def read(data: bytes, name: str = "a.eml") -> ParsedDocument:
    return read_document(data, name, CONFIG)


def sections(data: bytes) -> list[tuple[str, str]]:
    """Each chunk's place and its text on one line."""
    return [(chunk.place, " ".join(chunk.text.split())) for chunk in chunk_document(read(data), "id", "a.eml")]


def own_words(data: bytes) -> str:
    return " ".join(text for place, text in sections(data) if "Quoted" not in place and "About" not in place)


def test_an_e_mail_says_who_sent_it_and_when_and_its_text_is_decoded() -> None:
    parsed = read(HOURS)
    about, body = sections(HOURS)
    assert (parsed.kind, parsed.title, parsed.published) == ("email", "Änderung der Öffnungszeiten", "2024-06-04")
    assert dict(parsed.properties) == {"author": "Lena Vogt <lena@example.org>", "created": "2024-06-04"}
    assert about[0] == "section About this e-mail"
    assert "sent by Lena Vogt <lena@example.org>. It was sent to office@example.org." in about[1]
    assert "It was sent on Tuesday, 4 June 2024, 09:12 +0200." in about[1]
    assert "the café in the lobby opens at 07:30 and closes at 16:45. The price of the lunch menu rises" in body[1]
    assert "=" not in body[1]


def test_of_an_alternative_the_page_is_read_and_the_earlier_mail_below_it_is_quoted() -> None:
    parts = dict(sections(kind("crane.eml")))
    [quoted] = [place for place in parts if "Quoted" in place]
    assert (
        quoted
        == "section Quoted: From: Piet Vos <piet@example.org>, Sent: Monday, March 4, 2024 8:15 AM"[: len(quoted)]
    )
    assert "The old crane lifted 30 tonnes." in parts[quoted]
    own = own_words(kind("crane.eml"))
    assert "the new crane lifts 42 tonnes." in own and "30 tonnes" not in own and "plain form" not in own
    assert "North: Depth 9.5 m" in own
    assert "A copy was sent to Harbour Office <office@example.org>." in parts["section About this e-mail"]


def test_text_round_a_file_is_one_mail_and_pictures_in_it_are_said() -> None:
    data = kind("tides.eml")
    parsed = read(data)
    own = own_words(data)
    assert "the ferry leaves half an hour later." in own and "The gangway opens at 06:30." in own
    assert "See you on board." in own and "05:50" not in own
    assert ("section Quoted: On 30 Oct 2024, Olaf wrote", True) in [
        (at, "05:50" in text) for at, text in sections(data)
    ]
    assert [(each.name, each.data[:9]) for each in parsed.attachments] == [("tides.csv", b"Port,High")]
    assert parsed.warnings == ("It holds 1 picture in its text: it was left out.",)


def test_answers_between_quoted_lines_stand_apart_from_them() -> None:
    data = kind("key.eml")
    assert "Frau Müller hat ihn." in own_words(data) and "Der Wagen steht in Halle 4." in own_words(data)
    assert "Wer hat" not in own_words(data) and "Und wo" not in own_words(data)
    quoted = [(place, text) for place, text in sections(data) if "Quoted" in place]
    assert {place for place, _ in quoted} == {"section Quoted: Am 1. September 2024 um 09:00 schrieb Lena Vogt"}
    assert read(data).properties[0] == ("author", "Jörg Weiß <joerg@example.org>")


def test_encodings_of_headers_and_texts_are_read() -> None:
    parsed = read(kind("cupboard.eml"))
    assert parsed.title == "Ключ" and parsed.properties[0] == ("author", "Ольга <olga@example.org>")
    assert "Ключ лежит в шкафу номер 17." in own_words(kind("cupboard.eml"))
    said = b"From: a@example.org\nSubject: x\nContent-Type: text/plain; charset=no-such\n\nCaf\xc3\xa9 at 7"
    assert "Café at 7" in own_words(said)


@pytest.mark.parametrize(
    ("name", "head", "media"),
    [
        ("letter.txt", b"From: Ann\nTo: Bob\nSubject: Walls\n\nThe wall is wet.", "text"),
        ("letter.eml", b"From: Ann\nTo: Bob\nSubject: Walls\n\nThe wall is wet.", "email"),
        ("letter.txt", HOURS, "email"),
        ("letter.pdf", kind("crane.eml"), "email"),
        ("letter.eml", b"Just a note.\n\nNothing more: really.", "text"),
        ("received.dat", b"Received: " + b"x" * 9000 + b"\r\nFrom: a@b.org\r\n\r\nHi", "email"),
    ],
)
def test_what_begins_as_an_e_mail_is_one_whatever_its_name(name: str, head: bytes, media: str) -> None:
    assert media_of(head, name) == media


def test_a_message_of_outlook_is_read_with_the_files_and_mails_in_it() -> None:
    parsed = read_document(kind("kiln.msg"), "kiln.dat", CONFIG)
    assert (parsed.kind, parsed.title, parsed.published) == ("email", "Kiln", "2024-02-09")
    text = "\n".join(page.text for page in parsed.pages)
    assert "sent by Rosa Lind <rosa@example.org>.\nIt was sent to Pia <pia@example.org>, Ove <ove@example.org>." in text
    assert "It was sent on Friday, 9 February 2024, 13:45 +0000." in text
    assert "The kiln is free from Thursday — 1,060 °C." in text
    assert [each.name for each in parsed.attachments] == ["glazes.csv", "Key.eml"]
    assert parsed.attachments[0].data.endswith(b"Blue 599,599\n")
    assert "The key is under pot 4." in own_words(parsed.attachments[1].data)


def test_code_pages_are_known_by_the_names_that_windows_has_for_them() -> None:
    importlib.import_module("crag.ingest.mail")
    assert "潮汐".encode("windows-950").decode("windows-950") == "潮汐"
    with pytest.raises(LookupError):
        "a".encode("windows-99999")


@pytest.mark.parametrize("size", [600, 2000, 9000])
def test_a_message_of_outlook_that_is_cut_off_ends_in_a_document_or_a_clear_error(size: int) -> None:
    try:
        assert read_document(kind("kiln.msg")[:size], "kiln.msg", CONFIG).pages
    except DocumentError as error:
        assert "kiln.msg" in error.message


def test_programs_and_archives_are_named_and_not_read() -> None:
    files = (
        ("setup.exe", b"MZ\x90\0" + bytes(90)),
        ("all.zip", b"PK\x03\x04" + bytes(90)),
        ("note.md", b"# Keys\n\nUnder."),
    )
    parsed = read(small_mail.with_files(*files))
    assert [each.name for each in parsed.attachments] == ["note.md"]
    said = "setup.exe (a program), all.zip (a ZIP archive)"
    assert parsed.warnings == (f"Of what is attached, this is not read: {said}.",)


def test_hundreds_of_attachments_are_bounded() -> None:
    parsed = read(small_mail.with_files(*((f"n{at}.txt", b"Note %d" % at) for at in range(260))))
    assert len(parsed.attachments) == 200
    assert parsed.warnings[0].startswith("Of what is attached, this is not read: n200.txt (beyond the first 200)")


@pytest.mark.parametrize(
    "data",
    [
        HOURS[:120],
        kind("crane.eml")[:900],
        kind("tides.eml")[:700],
        b"From: a@b.org\nSubject: nothing\n\n",
        b"From: a@b.org\nSubject: x\nContent-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 5000,
        b'From: =?utf-8?q?=FF?= <\xff@>\nDate: 99\nTo: "\nSubject: =?x?b?%%%?=\nMIME-Version: 1\n\n\xff\x00\xfe',
    ],
    ids=("cut off", "cut in a part", "cut in a file", "empty", "many parts", "broken fields"),
)
def test_broken_e_mails_end_in_a_document(data: bytes) -> None:
    assert "This e-mail was written and sent by" in read(data).pages[0].text


def test_a_mail_of_parts_in_parts_ends_in_a_document_or_a_clear_error() -> None:
    head = "From: a@b.org\nSubject: x\nMIME-Version: 1.0\n"
    for at in range(400):
        head += f"Content-Type: multipart/mixed; boundary=b{at}\n\n--b{at}\n"
    try:
        assert read(f"{head}\nThe end.".encode()).pages
    except DocumentError as error:
        assert "a.eml" in error.message


def test_the_name_of_an_attachment_says_both_names_and_keeps_its_ending() -> None:
    assert attached_name("minutes.pdf", "hours.eml") == "minutes.pdf (attached to hours.eml)"
    long = attached_name("a" * 300 + ".csv", "b" * 300 + ".eml")
    assert len(long) <= 120 and ending_of(long) == "csv" and "attached to bbb" in long


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(AppConfig().changed(data=tmp_path), embedder=WordEmbedder()) as made:
        yield made


def ended(engine: Engine, *files: tuple[str, bytes]) -> list[DocumentAdded | DuplicateFound | DocumentFailed]:
    events = engine.add_files((name, lambda data=data: data) for name, data in files)
    return [each for each in events if isinstance(each, DocumentAdded | DuplicateFound | DocumentFailed)]


def texts(engine: Engine, id: str) -> list[Chunk]:
    return engine.library().documents.chunks(id)


def test_attachments_become_documents_that_name_their_mail(engine: Engine) -> None:
    minutes = small_pdf("The board met on 3 May and chose Ada Lund as its chair.")
    mail = small_mail.with_files(("minutes.pdf", minutes), ("berths.csv", b"Berth,Depth\nNorth,9.5 m\nSouth,7.2 m\n"))
    events = ended(engine, ("papers.eml", mail), ("plain.txt", b"The gate is green and the fence is low."))
    assert [(each.name, each.attached_to) for each in events if each.attached_to] == [
        ("minutes.pdf (attached to papers.eml)", "papers.eml"),
        ("berths.csv (attached to papers.eml)", "papers.eml"),
    ]
    kinds = {document.name: document.kind for document in engine.library().documents.all()}
    assert kinds["minutes.pdf (attached to papers.eml)"] == "pdf"
    assert kinds["berths.csv (attached to papers.eml)"] == "csv" and kinds["plain.txt"] == "text"


def test_mails_in_mails_are_opened_ten_deep(engine: Engine) -> None:
    events = ended(engine, ("deep.eml", small_mail.forwarding(12)))
    added = [each for each in events if isinstance(each, DocumentAdded)]
    assert len(added) == 11
    assert any("word2x" in chunk.text for chunk in texts(engine, added[-1].document.id))
    [failed] = [each for each in events if isinstance(each, DocumentFailed)]
    assert "10 of them are opened" in failed.message and failed.attached_to == "deep.eml"


def test_a_bad_attachment_costs_only_itself(engine: Engine) -> None:
    mail = small_mail.with_files(("broken.pdf", b"%PDF-1.7 nothing"), ("note.txt", b"The key hangs behind the door."))
    events = ended(engine, ("mail.eml", mail))
    assert [type(each) for each in events] == [DocumentAdded, DocumentFailed, DocumentAdded]


def test_base64_that_breaks_off_gives_the_bytes_before() -> None:
    cut = b64encode(b"The lamp is lit at dusk. It burns all night.").decode()[:-9]
    data = small_mail.lines(
        "From: a@b.org", "Subject: x", "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: base64", "", cut,
    )  # fmt: skip
    assert "The lamp is lit at dusk." in own_words(data)
