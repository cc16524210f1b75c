"""Office files, web pages and tables built to do harm: each ends in what can be read or a clear message, in bounds."""

from collections.abc import Iterator

import pytest

from crag.core.config import AppConfig
from crag.core.errors import DamagedError, DocumentError, EmptyError, EncryptedError, LimitError
from crag.ingest.files import check_container
from crag.ingest.reader import read_document
from tests.support.reported import kind
from tests.support.small_office import blank_pptx, body, edited, paragraph, sheet, swollen
from tests.support.web_server import Reply, Server, serving

CONFIG = AppConfig.of(read_memory_mb=512, read_seconds=10)
DOCX, PPTX, XLSX = kind("report.docx"), kind("crossing.pptx"), kind("revenue.xlsx")
DECLARED = '<?xml version="1.0"?><!DOCTYPE x ['
LAUGHS = (
    f'{DECLARED}<!ENTITY a "lol lol lol lol">'
    + "".join(f'<!ENTITY {after} "{f"&{before};" * 10}">' for before, after in zip("abcdefgh", "bcdefghi", strict=True))
    + "]>"
)


def read(data: bytes, name: str) -> str:
    return "\n".join(page.text for page in read_document(data, name, CONFIG).pages)


# ---- containers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "part"), [(DOCX, "word/media/x"), (PPTX, "ppt/media/x"), (XLSX, "xl/media/x")])
def test_a_bomb_is_told_by_what_its_parts_say_before_any_is_unpacked(data: bytes, part: str) -> None:
    with pytest.raises(LimitError, match=r"holds 66\d MB when unpacked"):
        read(swollen(data, part), "a.docx")


def test_a_bomb_that_says_less_than_it_holds_gives_no_more_than_it_says() -> None:
    bomb = edited(DOCX, body(paragraph("a" * 3_000_000)))
    at = bomb.rfind(b"PK\x01\x02", 0, bomb.rfind(b"word/document.xml")) + 24
    assert int.from_bytes(bomb[at : at + 4], "little") > 3_000_000
    lying = bomb[:at] + (5000).to_bytes(4, "little") + bomb[at + 4 :]
    with pytest.raises(DocumentError):
        read(lying, "a.docx")


@pytest.mark.slow
def test_a_container_of_countless_parts_is_refused() -> None:
    with pytest.raises(LimitError, match=r"holds 20,\d\d\d parts"):
        read(edited(DOCX, {f"p{number}": b"" for number in range(20_000)}), "a.docx")


def test_a_locked_container_says_so() -> None:
    locked = bytearray(DOCX)
    at = locked.rfind(b"PK\x01\x02")
    locked[at + 8] |= 1
    with pytest.raises(EncryptedError):
        read(bytes(locked), "a.docx")


@pytest.mark.parametrize("data", [DOCX, PPTX, XLSX])
def test_files_that_are_cut_off_or_hold_no_xml_are_damaged(data: bytes) -> None:
    for broken in (data[: len(data) // 2], edited(data, {"[Content_Types].xml": b"no xml"})):
        with pytest.raises(DamagedError, match="is damaged or incomplete"):
            read(broken, "a.docx")


@pytest.mark.heavy
def test_a_tree_that_takes_all_memory_ends_as_that() -> None:
    with pytest.raises(LimitError, match="took more than 512 MB of memory"):
        read(edited(DOCX, body("<w:p/>" * 6_000_000)), "a.docx")


# ---- entities and links --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (edited(DOCX, body(paragraph("words &i;"), LAUGHS)), "a.docx"),
        (edited(XLSX, sheet('<row><c t="inlineStr"><is><t>&i;</t></is></c></row>', LAUGHS)), "a.xlsx"),
        (edited(PPTX, {"ppt/slides/slide1.xml": f"{LAUGHS}<x>&i;</x>".encode()}), "a.pptx"),
    ],
)
def test_entities_are_never_expanded(data: bytes, name: str) -> None:
    with pytest.raises(DamagedError):
        read(data, name)


@pytest.fixture
def fetched() -> Iterator[Server]:
    with serving(lambda request: Reply(status=404)) as server:
        yield server


def test_nothing_is_fetched_for_a_file(fetched: Server) -> None:
    url = fetched.address
    entities = f'{DECLARED}<!ENTITY x SYSTEM "{url}/x"><!ENTITY y SYSTEM "file:///etc/hostname">]>'
    outer = f'<!DOCTYPE x SYSTEM "{url}/dtd">'
    rels = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    linked = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{rels}/attachedTemplate" Target="{url}/t.dotm" TargetMode="External"/>'
        f'<Relationship Id="r2" Type="{rels}/image" Target="{url}/i.png" TargetMode="External"/></Relationships>'
    )
    page = f'{outer}<html><head><base href="{url}"><link rel="stylesheet" href="{url}/s"></head><body><p>Read.</p>'
    assert read(edited(DOCX, body(paragraph("Read. &x;&y;"), entities)), "a.docx").strip() == "Read."
    assert read(edited(DOCX, body(paragraph("Read."), outer)), "a.docx") == "Read."
    told = {"word/_rels/document.xml.rels": linked.encode()}
    assert read(edited(DOCX, body(paragraph("Read.")) | told), "a.docx") == "Read."
    assert read(f'{page}<iframe src="{url}/f"></iframe><img src="{url}/i">'.encode(), "a.html") == "Read."
    assert fetched.seen == []


# ---- size and depth ------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_of_a_sheet_with_too_many_rows_the_first_are_read() -> None:
    rows = "".join(
        f'<row r="{at}"><c r="A{at}"><v>{at}</v></c><c r="B{at}"><v>7</v></c></row>' for at in range(1, 60_001)
    )
    parsed = read_document(edited(XLSX, sheet(rows)), "a.xlsx", CONFIG)
    assert (len(parsed.pages), parsed.pages[-1].place) == (250, "sheet Revenue, rows 49801-50000")
    assert "Only its first part is read: what follows sheet Revenue, row 50,000 is over the limits." in parsed.warnings


def test_a_cell_far_out_takes_no_room() -> None:
    cells = '<row r="1048576"><c r="A1048576"><v>5</v></c><c r="XFD1048576"><v>6</v></c></row>'
    assert read(edited(XLSX, sheet(cells)), "a.xlsx") == "5"


@pytest.mark.slow
def test_of_a_csv_table_with_too_many_rows_or_too_long_a_line_the_first_part_is_read() -> None:
    parsed = read_document(b"a,b\n" + b"r,1\n" * 60_000, "a.csv", CONFIG)
    assert (len(parsed.pages), parsed.pages[-1].place) == (250, "rows 49801-50000")
    assert parsed.warnings == ("Only its first part is read: what follows row 50,000 is over the limits.",)
    for line in (b"word," * 1_200_000, b'"' + b"word " * 1_200_000):
        parsed = read_document(b"a,b\n" + line, "a.csv", CONFIG)
        assert parsed.pages[0].text.startswith("a: b\nword")
        assert parsed.warnings == ("Only its first part is read: what follows row 2 is over the limits.",)


@pytest.mark.slow
def test_markup_nested_beyond_measure_is_read_or_said() -> None:
    deep = "<w:sdt><w:sdtContent>" * 4000 + paragraph("deep") + "</w:sdtContent></w:sdt>" * 4000
    with pytest.raises(DamagedError):
        read(edited(DOCX, body(deep)), "a.docx")
    tables = "<w:tbl><w:tr><w:tc>" * 60 + paragraph("deep words") + "</w:tc></w:tr></w:tbl>" * 60
    assert read(edited(DOCX, body(tables)), "a.docx") == "deep words"
    with pytest.raises(DamagedError, match="it is nested too deeply"):
        read(b"<html><body>" + b"<div>" * 10_000 + b"deep words" + b"</div>" * 10_000, "a.html")
    assert "deep words" in read(b"<html><body>" + b"<div>" * 300 + b"deep words" + b"</div>" * 300, "a.html")


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"<html><body>" + b"<p>a <b>b</b> c</p>" * 60_000, "a.html"),
        (b"<html><body><p " + b"a=b " * 500_000 + b">a b", "a.html"),
        (b"<html><body>" + b"<div style='color:white'>" * 1_500 + b"x" + b"</div>" * 1_500 + b"<p>a b</p>", "a.html"),
        (b"```\n" * 100_000 + b"a", "a.md"),
        (b"a b|" * 200_000 + b"\n" + b"|-" * 300_000, "a.md"),
        (b"# a\n\nb\n\n" * 50_000, "a.md"),
        (b"<!--" * 100_000 + b"a", "b.txt"),
    ],
)
def test_floods_are_read_in_time(data: bytes, name: str) -> None:
    assert read(data, name).strip()


# ---- nothing in it -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (edited(DOCX, body("")), "a.docx"),
        (edited(DOCX, body(paragraph(" "))), "a.docx"),
        (edited(XLSX, sheet("")), "a.xlsx"),
        (blank_pptx(), "a.pptx"),
        (b"<html><body></body></html>", "a.html"),
        (b"<!-- nothing --><!doctype html>", "a.html"),
        (b",,\n,,\n", "a.csv"),
        (b"---\ntitle: x\n---\n", "a.md"),
    ],
)
def test_files_without_text_say_so(data: bytes, name: str) -> None:
    with pytest.raises(EmptyError, match=r"holds no text"):
        read(data, name)


def test_a_container_within_bounds_is_told_by_name() -> None:
    assert "word/document.xml" in check_container(DOCX, {"memory_mb": 256})[0]
