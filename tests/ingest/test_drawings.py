"""What Office files draw or take in from elsewhere: charts, SmartArt, boxes, pieces of web pages, formulas."""

import re
import zipfile
from io import BytesIO

import pytest
from lxml import etree

from crag.core.config import AppConfig
from crag.ingest.drawings import read_drawing
from crag.ingest.reader import read_document
from tests.support.reported import kind, text_of
from tests.support.small_office import body, edited, paragraph

pytestmark = pytest.mark.usefixtures("read_here")

RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
CHART = """<c:chartSpace xmlns:c="c" xmlns:a="a"><c:chart>
<c:title><c:tx><a:t>Catch </a:t><a:t>by year</a:t></c:tx></c:title><c:plotArea><c:{kind}>
<c:ser><c:tx><c:strRef><c:pt idx="0"><c:v>Cod</c:v></c:pt></c:strRef></c:tx>{names}
<c:val><c:pt idx="0"><c:v>4.30000000001</c:v></c:pt><c:pt idx="1"><c:v>2.5</c:v></c:pt></c:val></c:ser>
<c:ser><c:tx><c:v>Hake</c:v></c:tx>{names}<c:val><c:pt idx="1"><c:v>7</c:v></c:pt></c:val></c:ser>
</c:{kind}></c:plotArea></c:chart></c:chartSpace>"""
ONE_LEVEL = '<c:cat><c:pt idx="0"><c:v>2019</c:v></c:pt><c:pt idx="1"><c:v>2020</c:v></c:pt></c:cat>'
TWO_LEVELS = (
    '<c:cat><c:lvl><c:pt idx="0"><c:v>Q1</c:v></c:pt><c:pt idx="1"><c:v>Q2</c:v></c:pt></c:lvl>'
    '<c:lvl><c:pt idx="0"><c:v>2019</c:v></c:pt></c:lvl></c:cat>'
)
POINTS = """<d:dataModel xmlns:d="d" xmlns:a="a"><d:ptLst><d:pt modelId="0" type="doc"/>
<d:pt modelId="2"><a:t>Mate</a:t></d:pt><d:pt modelId="1"><a:t>Master</a:t></d:pt>
<d:pt modelId="3"><a:t>Cook</a:t></d:pt>
<d:pt modelId="4" type="pres"/></d:ptLst><d:cxnLst><d:cxn srcId="0" destId="1" srcOrd="0"/>
<d:cxn srcId="1" destId="3" srcOrd="1"/><d:cxn srcId="1" destId="2" srcOrd="0"/>
<d:cxn type="presOf" srcId="2" destId="4"/><d:cxn srcId="3" destId="1"/></d:cxnLst></d:dataModel>"""


def drawn(xml: str) -> str:
    return "\n".join(block.text for block in read_drawing(etree.fromstring(xml)))


def related(data: bytes, inner: str, kind: str, target: str, part: bytes, content: str) -> bytes:
    """A Word document with this body, which refers to one more part as "rIdX"."""
    place, types = "word/_rels/document.xml.rels", "[Content_Types].xml"
    with zipfile.ZipFile(BytesIO(data)) as file:
        rels, listed = file.read(place).decode(), file.read(types).decode()
    rels = rels.replace("</Rel", f'<Relationship Id="rIdX" Type="{RELATED}/{kind}" Target="{target}"/></Rel', 1)
    listed = listed.replace("</Types", f'<Override PartName="/word/{target}" ContentType="{content}"/></Types')
    return edited(data, body(inner) | {place: rels.encode(), types: listed.encode(), f"word/{target}": part})


def text_with(inner: str, kind_: str = "chart", target: str = "x.xml", part: bytes = b"", content: str = "a/b") -> str:
    return text_of(
        read_document(related(kind("report.docx"), inner, kind_, target, part, content), "a.docx", AppConfig())
    )


@pytest.mark.parametrize("form", ["barChart", "bar3DChart", "lineChart", "surface3DChart"])
def test_a_chart_of_any_kind_is_its_title_and_a_table(form: str) -> None:
    assert drawn(CHART.format(kind=form, names=ONE_LEVEL)).splitlines() == [
        "Catch by year",
        "Cod; Hake",
        "2019: Cod 4.3",
        "2020: Cod 2.5; Hake 7",
    ]


def test_categories_of_two_levels_are_named_by_both() -> None:
    assert "2019, Q2: Cod 2.5; Hake 7" in drawn(CHART.format(kind="barChart", names=TWO_LEVELS))
    assert drawn(CHART.format(kind="pieChart", names="")).endswith("1: Cod 4.3\n2: Cod 2.5; Hake 7")


def test_points_of_smart_art_stand_behind_those_they_are_under_once_each() -> None:
    assert drawn(POINTS) == "• Master\n◦ Mate\n◦ Cook"


def test_a_chart_of_a_word_document_stands_where_it_is_drawn() -> None:
    frame = (
        '<w:p><w:r><w:t>Before.</w:t></w:r><w:r><w:drawing><c:chart xmlns:c="http://schemas.openxmlformats.org/'
        f'drawingml/2006/chart" xmlns:r="{RELATED}" r:id="rIdX"/></w:drawing></w:r></w:p>'
    )
    part = CHART.format(kind="bar3DChart", names=ONE_LEVEL).encode()
    content = "application/vnd.openxmlformats-officedocument.drawingml.chart+xml"
    text = text_with(frame + paragraph("After."), "chart", "charts/c.xml", part, content)
    assert text.index("Before.") < text.index("2019: Cod 4.3") < text.index("After.")


@pytest.mark.parametrize(
    ("target", "content", "part"),
    [
        ("a.html", "text/html", b"<p>The quay is <b>closed</b>.<table><tr><th>Gate<th>Open<tr><td>North<td>no</table>"),
        (
            *("a.mht", "message/rfc822"),
            b'MIME-Version: 1.0\nContent-Type: multipart/related; boundary="b"\n\n--b\nContent-Type: text/html\n\n'
            b"<p>The quay is closed.<table><tr><th>Gate<th>Open<tr><td>North<td>no</table>\n--b--\n",
        ),
    ],
)
def test_a_piece_of_another_document_is_read_as_part_of_this_one(target: str, content: str, part: bytes) -> None:
    chunk = f'<w:altChunk xmlns:r="{RELATED}" r:id="rIdX"/>'
    assert "The quay is closed." in (text := text_with(chunk, "aFChunk", target, part, content))
    assert "North: Open no" in text


M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("<m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2c</m:t></m:r></m:den></m:f>", "(a+b)/2c"),
        ("<m:sSup><m:e><m:r><m:t>10</m:t></m:r></m:e><m:sup><m:r><m:t>-4</m:t></m:r></m:sup></m:sSup>", "10^(-4)"),
        ("<m:rad><m:deg/><m:e><m:r><m:t>b-1</m:t></m:r></m:e></m:rad>", "√(b-1)"),
        ("<m:d><m:e>" * 60 + "<m:r><m:t>x</m:t></m:r>" + "</m:e></m:d>" * 60, "(" * 60 + "x" + ")" * 60),
        ("<m:d><m:e><m:r><m:t>x</m:t></m:r></m:e><m:e><m:r><m:t>y</m:t></m:r></m:e></m:d>", "(x|y)"),
        ("<m:func><m:fName><m:r><m:t>sin</m:t></m:r></m:fName><m:e><m:r><m:t>θ</m:t></m:r></m:e></m:func>", "sin θ"),
        (
            '<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub><m:r><m:t>k=0</m:t></m:r></m:sub>'
            "<m:sup><m:r><m:t>n</m:t></m:r></m:sup><m:e><m:r><m:t>k</m:t></m:r></m:e></m:nary>",
            "∑_(k=0)^n k",
        ),
    ],
)
def test_a_formula_on_a_line_of_its_own_is_written_on_one_line(formula: str, text: str) -> None:
    inner = f"<w:p {M}><m:oMathPara><m:oMath>{formula}</m:oMath></m:oMathPara></w:p>"
    assert text_with(inner + paragraph("So it is.")) == f"{text}\n\nSo it is."


def test_readings_beside_characters_are_left_out() -> None:
    ruby = "<w:p><w:r><w:ruby><w:rt><w:r><w:t>とう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東</w:t></w:r></w:rubyBase>"
    assert text_with(f"{ruby}</w:ruby></w:r><w:r><w:t>です。</w:t></w:r></w:p>") == "東です。"
    page = "<p><ruby>東<rp>(</rp><rt>とう</rt><rp>)</rp></ruby>です。</p>"
    assert text_of(read_document(page.encode(), "a.html", AppConfig())) == "東です。"


@pytest.mark.parametrize("name", ["report.docx", "crossing.pptx", "revenue.xlsx"])
def test_strict_open_xml_is_read_like_the_common_form(name: str) -> None:
    data = kind(name)
    with zipfile.ZipFile(BytesIO(data)) as file:
        parts = {each: file.read(each) for each in file.namelist() if each.endswith((".xml", ".rels"))}
    strict = {
        each: re.sub(
            rb"http://schemas\.openxmlformats\.org/(?!package)(\w+)/2006/", rb"http://purl.oclc.org/ooxml/\1/", part
        )
        for each, part in parts.items()
    }
    found, common = (read_document(each, name, AppConfig()) for each in (edited(data, strict), data))
    assert text_of(found) == text_of(common) and found.properties == common.properties


def test_boxes_over_a_sheet_are_read_behind_it() -> None:
    import openpyxl

    book, held = openpyxl.Workbook(), BytesIO()
    book.active.append(["Berth", "Depth"])
    book.save(held)
    sheet, drawing = "xl/worksheets/_rels/sheet1.xml.rels", "xl/drawings/d.xml"
    rels = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
    one = f'<Relationship Id="r1" Type="{RELATED}/drawing" Target="../drawings/d.xml"/>'
    gone = f'<Relationship Id="r2" Type="{RELATED}/drawing" Target="../drawings/gone.xml"/>'
    words = "<x:txBody><a:p><a:t>Depths at low water.</a:t></a:p></x:txBody>"
    box = f'<x:wsDr xmlns:x="x" xmlns:a="a"><x:sp>{words}</x:sp></x:wsDr>'
    data = edited(held.getvalue(), {sheet: rels.format(one + gone).encode(), drawing: box.encode()})
    parsed = read_document(data, "a.xlsx", AppConfig())
    assert [page.place for page in parsed.pages] == ["sheet Sheet", "boxes of sheet Sheet"]
    assert parsed.pages[1].text == "Depths at low water."
