"""Small PDFs written by hand for tests: plain, turned, locked, scanned, and some built to do harm."""

import hashlib
import zlib
from collections.abc import Sequence

_PAD = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
BOLD = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>"


class Tiny:
    """Objects numbered from 1 in order of adding: the font F1, the pages, and what is added."""

    def __init__(self) -> None:
        self.objects = [FONT, b""]
        self.kids: list[int] = []

    def add(self, body: bytes) -> int:
        self.objects.append(body)
        return len(self.objects)

    def stream(self, data: bytes, entries: bytes = b"") -> int:
        return self.add(b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries, data))

    def page(self, stream: int, entries: bytes = b"", fonts: bytes = b"", resources: bytes = b"") -> None:
        """A page of 612 × 792 points that draws a content stream, unless its entries say otherwise."""
        box = b"" if b"/MediaBox" in entries else b"/MediaBox [0 0 612 792]"
        held = b"/Resources << /Font << /F1 1 0 R%s >> %s >>" % (fonts, resources)
        self.kids.append(
            self.add(b"<< /Type /Page /Parent 2 0 R /Contents %d 0 R %s %s %s >>" % (stream, box, entries, held))
        )

    def whole(self, catalog: bytes = b"", trailer: bytes = b"") -> bytes:
        """The file: header, objects, table and trailer."""
        root = self.add(b"<< /Type /Catalog /Pages 2 0 R %s >>" % catalog)
        listed = b" ".join(b"%d 0 R" % kid for kid in self.kids)
        self.objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (listed, len(self.kids))
        out, places = bytearray(b"%PDF-1.7\n"), []
        for number, body in enumerate(self.objects, 1):
            places.append(len(out))
            out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
        table = b"".join(b"%010d 00000 n \n" % place for place in places)
        size, at = len(places) + 1, len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n%strailer\n" % (size, table)
        return bytes(out + b"<< /Size %d /Root %d 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (size, root, trailer, at))


def line(x: float, y: float, text: str, size: float = 11, font: str = "F1") -> bytes:
    """One line of text at page coordinates, origin at the bottom left."""
    escaped = text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
    return b"BT /%s %g Tf 1 0 0 1 %g %g Tm (%s) Tj ET\n" % (font.encode(), size, x, y, escaped)


def pdf(
    contents: Sequence[bytes],
    *,
    page_entries: bytes = b"",
    trailer: bytes = b"",
    info: bytes = b"",
    deflate: bool = False,
    ballast: bytes = b"",
) -> bytes:
    """A PDF with a page for each content stream. `ballast`: bytes in it that no page uses."""
    tiny = Tiny()
    fonts = b" /F2 %d 0 R" % tiny.add(BOLD)
    for content in contents:
        packed = (zlib.compress(content), b"/Filter /FlateDecode") if deflate else (content,)
        tiny.page(tiny.stream(*packed), page_entries, fonts)
    if ballast:
        tiny.stream(ballast)
    if info:
        trailer += b" /Info %d 0 R" % tiny.add(info)
    return tiny.whole(trailer=trailer)


def drawn(
    contents: Sequence[bytes],
    resources: bytes = b"",
    streams: Sequence[tuple[bytes | None, bytes]] = (),
    *,
    page_entries: bytes = b"",
    catalog: bytes = b"",
) -> bytes:
    """A PDF like `pdf` with more to draw with. `streams` are (data, entries), without data plain dictionaries;
    they become objects 3, 4, and so on.

    `resources` are entries of each page's resources, `catalog` of the catalogue; both name those objects by number.
    """
    tiny = Tiny()
    for data, entries in streams:
        if data is None:
            tiny.add(b"<< %s >>" % entries)
        else:
            tiny.stream(data, entries)
    for content in contents:
        tiny.page(tiny.stream(content), page_entries, resources=resources)
    return tiny.whole(catalog)


def scanned(pages_of_text: Sequence[str | None]) -> bytes:
    """A page of text for each string, a page that is one picture for each None."""
    tiny = Tiny()
    image = tiny.stream(
        b"\x80" * 64, b"/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8"
    )
    for text in pages_of_text:
        content = b"q 612 0 0 792 0 0 cm /Im Do Q" if text is None else line(72, 700, text)
        tiny.page(tiny.stream(content), resources=b"/XObject << /Im %d 0 R >>" % image)
    return tiny.whole()


def recursive_form() -> bytes:
    """A page whose form draws itself: the file that makes PDFium's own process stop in some versions."""
    tiny = Tiny()
    itself = b"/XObject << /X %d 0 R >>" % (len(tiny.objects) + 1)
    tiny.stream(b"/X Do", b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << %s >>" % itself)
    tiny.page(tiny.stream(b"/X Do"), resources=itself)
    return tiny.whole()


def bomb(megabytes: int) -> bytes:
    """A content stream that inflates to `megabytes` of drawing operators."""
    step = b"0 0 m 9 9 l S\n" * 75_000
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(step) for _ in range(megabytes)) + packer.flush()
    tiny = Tiny()
    tiny.page(tiny.stream(packed, b"/Filter /FlateDecode"))
    return tiny.whole()


def no_pages() -> bytes:
    return Tiny().whole()


def locked(text: str, user: bytes, owner: bytes = b"owner") -> bytes:
    """A page of text under 40-bit RC4 (PDF 1.7, 7.6.3, revision 2). An empty `user` password opens without one."""
    identity = b"0123456789abcdef"
    owner_key = hashlib.md5((owner + _PAD)[:32]).digest()[:5]
    owner_entry = _rc4(owner_key, (user + _PAD)[:32])
    permissions = (-4).to_bytes(4, "little", signed=True)
    key = hashlib.md5((user + _PAD)[:32] + owner_entry + permissions + identity).digest()[:5]
    user_entry = _rc4(key, _PAD)
    tiny = Tiny()
    number = len(tiny.objects) + 1
    own = hashlib.md5(key + number.to_bytes(3, "little") + b"\0\0").digest()[:10]
    tiny.page(tiny.stream(_rc4(own, line(72, 700, text))))
    lock = tiny.add(
        b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>"
        % (owner_entry.hex().encode(), user_entry.hex().encode())
    )
    mark = identity.hex().encode()
    return tiny.whole(trailer=b"/Encrypt %d 0 R /ID [<%s> <%s>]" % (lock, mark, mark))


def _rc4(key: bytes, data: bytes) -> bytes:
    box = list(range(256))
    j = 0
    for i in range(256):
        j = (j + box[i] + key[i % len(key)]) % 256
        box[i], box[j] = box[j], box[i]
    out = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + box[i]) % 256
        box[i], box[j] = box[j], box[i]
        out.append(byte ^ box[(box[i] + box[j]) % 256])
    return bytes(out)
