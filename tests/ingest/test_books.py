"""RTF, EPUB and OpenDocument files: read as a person sees them, cited by section, sheet and slide."""

import pytest

from crag.core.config import AppConfig
from crag.core.errors import DamagedError, DocumentError, EmptyError, EncryptedError, LimitError, UnknownMediaError
from crag.core.ingesting import ParsedDocument
from crag.ingest.chunking import chunk_document
from crag.ingest.files import media_of
from crag.ingest.reader import read_document
from tests.support import small_books as books
from tests.support.reported import kind, text_of
from tests.support.small_office import edited, swollen

CONFIG = AppConfig()


def read(data: bytes, name: str = "a.txt") -> ParsedDocument:
    return read_document(data, name, CONFIG)


def places(parsed: ParsedDocument) -> dict[str, str]:
    return {chunk.place: chunk.text for chunk in chunk_document(parsed, "id", "a")}


def test_an_rtf_of_word_is_read_with_its_headings_tables_and_letterhead() -> None:
    parsed = read(kind("lift.rtf"))
    assert (parsed.kind, parsed.title) == ("rtf", "Lift contract")
    text = text_of(parsed)
    assert "Contract number L-77" in text
    assert "„at once“ at night. The price is 320 € a month." in text
    assert "Ground: Stops a day 412" in text and "Roof: Stops a day 38" in text
    assert "section Service of the lift" in places(parsed)
    assert dict(parsed.properties) == {"author": "Nora Bråten", "created": "2022-03-09", "modified": "2022-04-01"}


def test_hidden_words_and_embedded_programs_of_an_rtf_are_left_out_and_said() -> None:
    parsed = read(kind("lift.rtf"))
    assert "price is 5" not in text_of(parsed) and "Package" not in text_of(parsed)
    assert parsed.warnings == (
        "It holds text that can't be seen (6 words): it was left out.",
        "It holds 1 embedded object: it was left out.",
    )


def test_an_rtf_of_another_program_in_cyrillic() -> None:
    parsed = read(kind("key.rtf"))
    assert places(parsed)["section Правила"].split() == ["Правила", "Ключ", "у", "дежурного", "24/7."]


def test_a_book_is_read_chapter_by_chapter() -> None:
    parsed = read(kind("kites.epub"))
    assert (parsed.kind, parsed.title) == ("epub", "Kites of the coast")
    assert list(places(parsed)) == ["section First", "section Second", "document properties"]
    assert "The red kite weighs 90 grams." in places(parsed)["section Second"]
    assert "The author of this document is Mara Quill" in places(parsed)["document properties"]


def test_an_opendocument_text_is_read_without_what_is_hidden_deleted_or_noted() -> None:
    parsed = read(kind("ferry.odt"))
    text = text_of(parsed)
    assert parsed.kind == "odt" and "The ferry Embla sails at 07:15." in text
    assert not any(word in text for word in ("secretly", "deleted", "Check!"))
    assert "Cars 24" in text and "61" in text
    assert parsed.warnings == (
        "It holds text that can't be seen (1 word): it was left out.",
        "It holds 1 comment: it was left out.",
    )
    assert dict(parsed.properties)["author"] == "Ola Rud"


def test_an_opendocument_sheet_is_read_without_its_empty_end() -> None:
    parsed = read(kind("fuel.ods"))
    assert (parsed.kind, len(parsed.pages)) == ("ods", 1)
    assert "Embla: Litres 1,240" in places(parsed)["sheet Fuel"]
    assert "Ghost" not in text_of(parsed) and "never" not in text_of(parsed)
    assert set(parsed.warnings) == {
        "It holds 1 hidden sheet: it was left out.",
        "It holds 1 hidden row: it was left out.",
    }


def test_an_opendocument_presentation_has_slides_and_notes() -> None:
    parsed = read(kind("pier.odp"))
    assert parsed.kind == "odp"
    assert [page.place for page in parsed.pages] == ["slide 1", "notes of slide 1"]
    assert "The pier opens in May" in parsed.pages[0].text and "divers" not in parsed.pages[0].text
    assert parsed.pages[1].text == "Thank the divers"


LOCKED = '<manifest xmlns:m="m"><m:encryption-data/></manifest>'
CIPHER = b'<encryption><CipherReference xmlns="x" URI="OPS/text/one.xhtml"/></encryption>'


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (kind("kites.epub")[:700], DamagedError),
        (kind("ferry.odt")[:600], DamagedError),
        (books.packed({"a": "b"}, "application/epub+zip"), DamagedError),
        (books.packed({"a": "b"}, "application/vnd.oasis.opendocument.text"), DamagedError),
        (books.open_document("text", ""), EmptyError),
        (books.open_document("spreadsheet", ""), EmptyError),
        (b"{\\rtf1 }", EmptyError),
        (edited(kind("kites.epub"), {"META-INF/encryption.xml": CIPHER}), EncryptedError),
        (books.open_document("text", "<text:p/>", more={"META-INF/manifest.xml": LOCKED}), EncryptedError),
        (swollen(kind("kites.epub"), "OPS/bomb.xhtml"), LimitError),
        (swollen(books.open_document("text", "<text:p/>"), "Pictures/bomb"), LimitError),
        (books.open_document("text", "<text:span>" * 5000 + "</text:span>" * 5000), DamagedError),
    ],
)
def test_bad_books_end_in_a_clear_error(data: bytes, error: type[DocumentError]) -> None:
    with pytest.raises(error, match=r"a\.txt"):
        read(data)


@pytest.mark.parametrize(
    "data", [kind("lift.rtf")[:700], b"{\\rtf1 " + b"{" * 20_000 + b"deep\\par", b"{\\rtf1 a\\u99999999? b}"]
)
def test_broken_rtf_ends_in_a_document_or_a_clear_error(data: bytes) -> None:
    try:
        assert read(data).pages
    except DocumentError as error:
        assert "a.txt" in error.message


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (books.packed({"a.txt": "hello"}), "a ZIP archive"),
        (books.packed({"notes/word/a.txt": "hello", "notes/xl/b": "c"}), "a ZIP archive"),
        (b"SQLite format 3\0" + bytes(200), "an SQLite database"),
        (b"\x7fELF" + bytes(200), "a program"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(200), "a 7-Zip archive"),
        (b"GIF89a" + bytes(200), "a GIF image"),
        (b"\0\0\0\x18ftypheic" + bytes(200), "a HEIC image"),
        (b"%!PS-Adobe-3.0\n/Times findfont\n", "a PostScript file"),
        (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>', "an SVG drawing"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "an Office file older than 2007"),
    ],
)
def test_what_is_not_read_is_named_with_the_list_of_what_is(data: bytes, said: str) -> None:
    with pytest.raises(UnknownMediaError, match=f"report.txt is {said}, which is not read here") as caught:
        read(data, "report.txt")
    assert "PDF, Word document, " in caught.value.remedy and "e-mail, RTF document, EPUB book" in caught.value.remedy


@pytest.mark.parametrize(
    ("data", "media"),
    [(kind("lift.rtf"), "rtf"), (kind("kites.epub"), "epub"), (kind("ferry.odt"), "odt"), (kind("fuel.ods"), "ods")],
)
def test_a_file_is_what_its_bytes_say(data: bytes, media: str) -> None:
    assert media_of(data, "report.pdf") == media


STYLED = (
    '<office:automatic-styles xmlns:style="style" xmlns:fo="fo" xmlns:draw="draw"><style:style style:name="white">'
    '<style:text-properties fo:color="#ffffff"/></style:style><style:style style:name="blue"><style:graphic-properties '
    'draw:fill="solid" draw:fill-color="#156082"/></style:style></office:automatic-styles><office:body>'
)
SHAPE = '<draw:custom-shape xmlns:draw="draw" draw:style-name="{}"><text:p text:style-name="white">{}</text:p>'


def test_white_words_on_a_filled_shape_are_seen_and_those_on_paper_are_not() -> None:
    shapes = "".join(f"{SHAPE.format(*each)}</draw:custom-shape>" for each in (("blue", "In blue."), ("", "Hidden.")))
    made = books.open_document("text", shapes)
    parts = {"content.xml": books.part(made, "content.xml").replace("<office:body>", STYLED)}
    assert text_of(read(edited(made, {name: each.encode() for name, each in parts.items()}))) == "In blue."


def test_notes_of_an_opendocument_stand_behind_it_and_patterns_of_its_lists_are_no_text() -> None:
    note = "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>At night.</text:p>"
    listed = "<text:bibliography><text:bibliography-source><text:p>, : ,</text:p></text:bibliography-source>"
    body = f"<text:p>It sails{note}</text:note-body></text:note> from Hull.</text:p>{listed}</text:bibliography>"
    assert text_of(read(books.open_document("text", body))) == "It sails [1] from Hull.\n\n1. At night."


def test_a_container_may_say_its_kind_in_any_of_its_parts() -> None:
    made = books.open_document("text", "<text:p>It sails at ten.</text:p>")
    parts = {name: books.part(made, name) for name in ("content.xml", "mimetype")}
    assert read(books.packed({**parts, "META-INF/manifest.xml": "<a/>"})).kind == "odt"


def test_an_optional_sign_amid_a_group_of_rtf_hides_none_of_it() -> None:
    assert text_of(read(rb"{\rtf1 {\fs24\*\cs7 The fare is {\*\gone ten} five.}\par}")) == "The fare is five."
