"""Small PDFs with forms and comments, as different programs write them."""

from tests.support.tiny_pdf import Tiny, line

_STATES = b"/AP << /N << /%s %d 0 R /Off %d 0 R >> >>"


def _widget(box: tuple[int, int, int, int], entries: bytes) -> bytes:
    return b"<< /Type /Annot /Subtype /Widget /F 4 /Rect [%d %d %d %d] %s >>" % (*box, entries)


def harbour_form() -> bytes:
    """A filled form: fields of text, one of them without a printed label, a list, radio buttons and boxes to tick.

    It has scripts that run when it is opened, a field for a password, one that is hidden, and empty ones.
    """
    tiny = Tiny()
    on, off = (
        tiny.stream(b"0 0 10 10 re f", b"/Type /XObject /Subtype /Form /BBox [0 0 10 10]"),
        tiny.stream(b"", b"/Type /XObject /Subtype /Form /BBox [0 0 10 10]"),
    )
    add = tiny.add
    group = len(tiny.objects) + 1
    add(b"")  # the group of radio buttons
    buttons = [
        add(_widget((200, 560, 212, 572), b"/Parent %d 0 R /AS /Sail " % group + _STATES % (b"Sail", on, off))),
        add(_widget((300, 560, 312, 572), b"/Parent %d 0 R /AS /Off " % group + _STATES % (b"Motor", on, off))),
    ]
    kids = b" ".join(b"%d 0 R" % button for button in buttons)
    tiny.objects[group - 1] = b"<< /FT /Btn /Ff 49152 /T (Drive) /V /Sail /Kids [%s] >>" % kids
    fields = [
        add(_widget((200, 698, 400, 714), b"/FT /Tx /T (f1_01) /V (Morgenstern)")),
        add(
            _widget(
                (200, 668, 400, 684),
                b"/FT /Ch /Ff 131072 /T (f1_02) /Opt [[(a) (Inner basin)] [(b) (Outer basin)]] /V (b)",
            )
        ),
        add(_widget((200, 638, 400, 654), b"/FT /Tx /T (f1_03)")),
        add(
            _widget(
                (72, 480, 300, 520),
                b"/FT /Tx /Ff 4096 /T (f1_04) /TU (Remarks) /V (Needs shore power.\\rArrives late.)",
            )
        ),
        add(_widget((200, 530, 212, 542), b"/FT /Btn /T (Crane) /V /Yes /AS /Yes " + _STATES % (b"Yes", on, off))),
        add(_widget((300, 530, 312, 542), b"/FT /Btn /T (Trailer) /V /Off /AS /Off " + _STATES % (b"Yes", on, off))),
        add(_widget((400, 530, 412, 542), b"/FT /Btn /T (Dinghy) /V /Yes")),
        add(_widget((200, 430, 300, 446), b"/FT /Tx /Ff 8192 /T (Code) /V (hunter2)")),
        add(_widget((200, 400, 300, 416), b"/FT /Tx /F 2 /T (Ghost) /V (nobody sees me)").replace(b"/F 4 ", b"")),
    ]
    labels = [
        (72, 702, "Name of the boat:"), (72, 672, "Basin:"), (72, 642, "Harbour of registry:"), (72, 562, "Drive:"),
        (216, 562, "Sails"), (316, 562, "Engine"), (72, 532, "Wanted:"), (216, 532, "Crane"), (316, 532, "Trailer"),
        (416, 532, "Dinghy rack"), (72, 434, "Code:"),
    ]  # fmt: skip
    content = b"".join(line(x, y, text) for x, y, text in labels) + line(72, 740, "Winter berth", 18)
    annotations = b" ".join(b"%d 0 R" % each for each in (*fields, *buttons))
    tiny.page(tiny.stream(content), b"/Annots [%s]" % annotations)
    own = b" ".join(b"%d 0 R" % each for each in (*fields, group))
    script = b"/OpenAction << /S /JavaScript /JS (app.alert\\(1\\); this.getField\\('f1_01'\\).value = 'Hacked';) >>"
    return tiny.whole(b"/AcroForm << /Fields [%s] /DR << /Font << /Helv 1 0 R >> >> >> %s" % (own, script))


def commented(*, printed: bool = True) -> bytes:
    """A page with a typed note, a sticky note with its popup, a marked line with a comment, and a hidden one."""
    tiny = Tiny()
    notes = [
        b"/Subtype /FreeText /Rect [72 600 300 620] /T (Ines) /Contents (The quay is closed on Mondays.)",
        b"/Subtype /Text /Rect [72 560 92 580] /T (Olaf) /Contents (Ask the diver, he knows the depth: 6 m.)",
        b"/Subtype /Popup /Rect [72 500 200 560] /Contents (Ask the diver, he knows the depth: 6 m.)",
        b"/Subtype /Highlight /Rect [72 700 200 712] /Contents (Out of date.)",
        b"/Subtype /Text /F 2 /Rect [72 400 92 420] /Contents (secret order)",
        b"/Subtype /Link /Rect [72 300 92 320] /Contents (a link)",
    ]
    numbers = [tiny.add(b"<< /Type /Annot %s >>" % note) for note in notes]
    content = line(72, 702, "The quay is open every day.") if printed else b""
    tiny.page(tiny.stream(content), b"/Annots [%s]" % b" ".join(b"%d 0 R" % number for number in numbers))
    return tiny.whole()
