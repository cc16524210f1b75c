"""Web pages, Markdown and CSV tables: headings and rows as places, what is hidden left out, encodings told."""

import pytest

from crag.core.config import AppConfig
from crag.core.errors import EmptyError
from crag.core.tables import SEPARATOR
from crag.ingest.chunking import chunk_document
from crag.ingest.reader import read_document
from crag.ingest.sheets import find_delimiter

pytestmark = pytest.mark.usefixtures("read_here")

CONFIG = AppConfig()
PAGE = """<!doctype html><html><head><title>Harbour news</title><style>p {}</style></head><body>
<nav><a href="/">Home</a></nav><div style="display: none">hidden words here</div>
<h1>The harbour reopens</h1>
<p>The harbour was dredged in 1931, and the <b>fishing</b> fleet returned within the year, as the council had hoped.</p>
<p style="color:#fff">white words</p><p style="background:#000"><span style="color:white">White on black.</span></p>
<h2>Fares</h2>
<table><caption>In crowns</caption><tr><th>Route</th><th>Fare</th></tr><tr><td>North</td><td>5</td></tr>
<tr style="visibility:hidden"><td>Secret</td><td>9</td></tr></table>
<p>Fares were raised twice in that year, which nobody liked: the council said so itself in a long statement.</p>
<script>var words;</script><footer>Copyright 2031</footer></body></html>"""


def test_a_web_page_is_cited_by_its_headings() -> None:
    parsed = read_document(PAGE.encode(), "saved", CONFIG)
    assert (parsed.kind, parsed.title) == ("html", "Harbour news")
    assert [chunk.place for chunk in chunk_document(parsed, "id", "saved")] == [
        "section The harbour reopens",
        "section Fares",
    ]
    [page] = parsed.pages
    assert page.text.split("\n\n")[-3:-1] == ["Fares", "In crowns\nRoute; Fare\nNorth: Fare 5"]
    assert [table.heads for table in page.tables] == [("In crowns", "Route | Fare")]


@pytest.mark.parametrize("sign", ["¶", "#", "§", "<svg></svg>"])
def test_a_heading_has_no_link_to_its_own_place(sign: str) -> None:
    permalink = f'<a class="x" href="#fares">{sign}</a>'
    page = PAGE.replace("<h2>Fares", f'<h2 id="fares">Fares in C#{permalink}').replace(
        "twice", '<a href="#n">twice</a>'
    )
    parsed = read_document(page.encode(), "a.html", CONFIG)
    assert [said for _, said in parsed.pages[0].headings] == ["The harbour reopens", "Fares in C#"]
    assert "raised twice in" in parsed.pages[0].text


def test_what_nobody_sees_of_a_web_page_is_left_out_and_said() -> None:
    parsed = read_document(PAGE.encode(), "a.html", CONFIG)
    text = parsed.pages[0].text
    assert "White on black." in text
    assert not any(word in text for word in ("hidden", "white words", "Secret", "Home", "var", "Copyright"))
    assert parsed.warnings == ("It holds text that can't be seen (7 words): it was left out.",)


def test_a_page_of_hidden_text_alone_is_refused() -> None:
    with pytest.raises(EmptyError, match=r"holds only text that can't be seen \(2 words\)"):
        read_document(b"<html><body><p hidden>not shown</p></body></html>", "a.html", CONFIG)


def test_tables_around_the_main_text_are_kept() -> None:
    rows = "".join(f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in (("Sales", 12), ("Costs", 7)))
    words = "".join(
        f"<p>The harbour was dredged in the spring of {year}, and ships came back.</p>" for year in range(1990, 1999)
    )
    above = f"<table><tr><th></th><th>2021</th></tr>{rows}</table>"
    page = f"<html><body>{above}{words}<h2>Crew</h2><table>{rows}</table></body></html>"
    text = read_document(page.encode(), "a.html", CONFIG).pages[0].text
    assert "Sales: 2021 12" in text and "1998" in text and text.endswith("Crew\n\nSales: 12\nCosts: 7")


def test_markdown_has_tables_code_comments_and_a_title_of_its_own() -> None:
    text = (
        "---\ntitle: 'The book'\n---\nUnder a line\n=====\nWords.\n\n| Port | Boats |\n|:--|--:|\n| Hull | 77 |\n\n"
        "```\n# no heading\n\n| no | table |\n|---|---|\n```\n<!-- unseen -->\n"
    )
    parsed = read_document(text.encode(), "notes.md", CONFIG)
    [page] = parsed.pages
    assert parsed.title.endswith("The book") and [said for _, said in page.headings] == ["Under a line"]
    assert page.text.split("\n\n")[2] == "Port; Boats\nHull: Boats 77"
    assert [SEPARATOR.join(table.heads) for table in page.tables] == ["Port | Boats"] and "# no heading" in page.text
    assert parsed.warnings == ("It holds 1 comment in its source: it was left out.",)


@pytest.mark.parametrize(
    ("text", "sign"),
    [("a,b\n1,2", ","), ("a;b\n1,5;2,5\n3,1;4,2", ";"), ("a\tb\n1\t2", "\t"), ('"a,b"|c\n"d,e"|f', "|"), ("a\nb", ",")],
)
def test_what_parts_cells_is_told_from_the_first_lines(text: str, sign: str) -> None:
    assert find_delimiter(text) == sign


def test_a_csv_table_is_cited_by_its_rows() -> None:
    rows = "".join(f'Harbour {number};{number};"a; b"\n' for number in range(300))
    parsed = read_document(f"Port;Boats;Note\n{rows}".encode(), "boats.csv", CONFIG)
    assert (parsed.kind, [page.place for page in parsed.pages]) == ("csv", ["rows 1-200", "rows 201-301"])
    assert parsed.pages[1].text.splitlines()[:2] == ["Port; Boats; Note", "Harbour 199: Boats 199; Note a; b"]


@pytest.mark.parametrize("data", [b'a,b\n1,"2\n3,4\n', b'a,b\n1,2"x\n3,4\n', b'a,b\n1,"2"x\n3,4\n'])
def test_quotation_marks_that_never_end_cost_no_row(data: bytes) -> None:
    [page] = read_document(data, "a.csv", CONFIG).pages
    assert page.text.splitlines()[2] == "3: b 4"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("港口在一九三一年被疏浚,渔船队在年内返回港口。", "gb18030"),
        ("港は1931年に浚渫され、漁船団は年内に戻りました。", "cp932"),
        ("Гавань была углублена в 1931 году, и флот вернулся. ", "koi8_r"),
        ("تم تجريف الميناء عام 1931 وعاد الأسطول إليه خلال عام. ", "cp1256"),
        ("El puerto fue dragado y la flota volvió en un año, según el señor Muñoz. ", "cp1252"),
    ],
)
def test_an_encoding_that_is_not_named_is_told_by_its_words(text: str, encoding: str) -> None:
    [page] = read_document((text * 12).encode(encoding), "a.txt", CONFIG).pages
    assert page.text.strip() == (text * 12).strip()
