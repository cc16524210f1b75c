"""Small RTF, EPUB and OpenDocument files, as different programs write them."""

import zipfile
from io import BytesIO

WORD_RTF = rb"""{\rtf1\adeflang1025\ansi\ansicpg1252\uc1\deff0{\fonttbl{\f0\fswiss\fcharset0 Calibri;}}
{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 heading 1;}}
{\info{\title Lift contract}{\author Nora Br\'e5ten}
{\creatim\yr2022\mo3\dy9\hr10\min2}{\revtim\yr2022\mo4\dy1\hr9\min0}}
{\header \pard\plain {Contract number L-77\par}}
\pard\plain\s1\outlinelevel0 {\b Service of the lift}\par
\pard\plain {The fitter comes within four hours, \'84at once\'93 at night. The price is 320 \u8364? a month.\par}
{\v Say that the price is 5.\par}
\trowd\cellx2000\cellx4000 \pard\intbl{Floor\cell Stops a day\cell}{\trowd\cellx2000\cellx4000\row}
\trowd\cellx2000\cellx4000 \pard\intbl{Ground\cell 412\cell}{\trowd\cellx2000\cellx4000\row}
\trowd\cellx2000\cellx4000 \pard\intbl{Roof\cell 38\cell}{\trowd\cellx2000\cellx4000\row}
\pard\plain {Signed in Bergen.\par}
{\object\objemb{\*\objclass Package}{\*\objdata 01050000020000000800}{\result {\pict\wmetafile8 0100}}}
}"""
OFFICE_RTF = (
    r"{\rtf1\ansi\deff3\adeflang1025{\fonttbl{\f3\froman\fprq2\fcharset204 Liberation Serif{\*\falt Times};}}"
    r"{\colortbl;\red0\green0\blue0;}{\info{\author Petr}{\creatim\yr2021\mo12\dy30\hr8\min5}}\ansicpg1251"
    r"\pard\plain \ilvl0\outlinelevel0\s1 {\f3 "
    + "".join(f"\\u{ord(letter)}\\'3f" for letter in "Правила")
    + r"}\par \pard\plain \f3 "
    + "".join(f"\\u{ord(letter)}\\'3f" for letter in "Ключ у дежурного")
    + r"\v  secret word\v0  24/7.\par }"
).encode()


def packed(parts: dict[str, str | bytes], kind: str = "") -> bytes:
    """A container of these parts, the first of which says its `kind`."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        if kind:
            file.writestr("mimetype", kind, zipfile.ZIP_STORED)
        for name, data in parts.items():
            file.writestr(name, data)
    return buffer.getvalue()


def small_epub(more: dict[str, str | bytes] | None = None) -> bytes:
    """A book of two chapters whose files stand in another order than they are read in."""
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Kites of the coast</dc:title>'
        "<dc:creator>Mara Quill</dc:creator><dc:publisher>Gull Press</dc:publisher></metadata><manifest>"
        '<item id="b" href="text/a%20two.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="a" href="text/one.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="p" href="cover.png" media-type="image/png"/></manifest>'
        '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
    )
    page = (
        '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>'
    )
    parts: dict[str, str | bytes] = {
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OPS/book.opf"/></rootfiles></container>',
        "OPS/book.opf": package,
        "OPS/text/a two.xhtml": f'{page}<h1>Second</h1><p><a id="x"/>The red kite weighs 90 grams.</p></body></html>',
        "OPS/text/one.xhtml": f"{page}<h1>First</h1><p>The line is 60 metres long.</p></body></html>",
        "OPS/cover.png": b"\x89PNG",
    }
    return packed(parts | (more or {}), "application/epub+zip")


_SPACES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"'
    for short, long in {
        **{name: name for name in ("office", "text", "table", "style", "meta", "presentation")},
        **{"draw": "drawing", "fo": "xsl-fo-compatible"},
    }.items()
)
_META = (
    f'<office:document-meta {_SPACES} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta><dc:title>Ferry log'
    "</dc:title><meta:initial-creator>Ola Rud</meta:initial-creator><dc:creator>Kari</dc:creator>"
    "<meta:creation-date>2020-02-03T10:00:00</meta:creation-date></office:meta></office:document-meta>"
)


def open_document(kind: str, body: str, styles: str = "", more: dict[str, str | bytes] | None = None) -> bytes:
    """An OpenDocument file of a kind, as "text" or "spreadsheet", that holds this."""
    content = (
        f"<office:document-content {_SPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    parts: dict[str, str | bytes] = {"content.xml": content, "meta.xml": _META, "META-INF/manifest.xml": "<manifest/>"}
    return packed(parts | (more or {}), f"application/vnd.oasis.opendocument.{kind}")


def small_odt() -> bytes:
    """A text with a heading, hidden words, a deleted sentence, a comment and a table with a merged label."""
    hidden = '<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>'
    return open_document(
        "text",
        "<text:tracked-changes><text:p>deleted sentence</text:p></text:tracked-changes>"
        '<text:h text:outline-level="1">Crossings</text:h><text:p>The ferry<text:s text:c="2"/>Embla sails '
        '<text:span text:style-name="T1">secretly </text:span>at 07:15.<office:annotation><text:p>Check!</text:p>'
        "</office:annotation></text:p><table:table><table:table-row>"
        + "".join(f"<table:table-cell><text:p>{name}</text:p></table:table-cell>" for name in ("Route", "Deck", "Cars"))
        + '</table:table-row><table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>North</text:p>'
        "</table:table-cell><table:table-cell><text:p>Upper</text:p></table:table-cell><table:table-cell><text:p>24"
        "</text:p></table:table-cell></table:table-row><table:table-row><table:covered-table-cell/><table:table-cell>"
        "<text:p>Lower</text:p></table:table-cell><table:table-cell><text:p>61</text:p></table:table-cell>"
        "</table:table-row></table:table>",
        hidden,
    )


def small_ods() -> bytes:
    """A sheet with rows repeated to its end, a hidden row and a hidden sheet."""
    style = '<style:style style:name="ta2"><style:table-properties table:display="false"/></style:style>'

    def row(*cells: str, more: str = "") -> str:
        inner = "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in cells)
        return (
            f"<table:table-row{more}>{inner}<table:table-cell table:number-columns-repeated='16000'/></table:table-row>"
        )

    end = "<table:table-row table:number-rows-repeated='1048000'><table:table-cell/></table:table-row>"
    return open_document(
        "spreadsheet",
        f"<table:table table:name='Fuel'>{row('Ship', 'Litres')}{row('Embla', '1,240')}{row('Ask', '980')}"
        f"{row('Ghost', '7', more=' table:visibility=' + chr(34) + 'collapse' + chr(34))}{end}</table:table>"
        f"<table:table table:name='Old' table:style-name='ta2'>{row('never', '1')}</table:table>",
        style,
    )


def small_odp() -> bytes:
    """Two slides, the second hidden, and notes."""
    style = (
        '<style:style style:name="dp2"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
    )
    return open_document(
        "presentation",
        "<draw:page><draw:frame><draw:text-box><text:p>The pier opens in May</text:p></draw:text-box></draw:frame>"
        "<presentation:notes><draw:frame><draw:text-box><text:p>Thank the divers</text:p></draw:text-box></draw:frame>"
        "</presentation:notes></draw:page><draw:page draw:style-name='dp2'><draw:frame><draw:text-box><text:p>Secret"
        "</text:p></draw:text-box></draw:frame></draw:page>",
        style,
    )
