"""Small files of Outlook: compound files with the streams and storages that a message has."""

import struct
from datetime import UTC, datetime

Tree = dict[str, "bytes | Tree"]
_SECTOR, _SMALL, _CUTOFF = 512, 64, 4096
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_TEXT, _BINARY, _TIME, _NUMBER = 0x001F, 0x0102, 0x0040, 0x0003


def message(
    subject: str,
    sender: tuple[str, str],
    to: list[tuple[str, str]],
    *,
    body: str = "",
    page: bytes = b"",
    sent: datetime | None = None,
    files: list[tuple[str, bytes]] | None = None,
    inner: list[Tree] | None = None,
    embedded: bool = False,
) -> Tree:
    """The storage of a message, with files and other messages attached."""
    tree: Tree = {}
    entries = [
        *_texts(tree, {0x0037: subject, 0x0C1A: sender[0], 0x0C1F: sender[1], 0x1000: body, 0x001A: "IPM.Note"}),
        *_binary(tree, 0x1013, page),
        _entry(0x3FDE, _NUMBER, struct.pack("<II", 65001, 0)),
    ]
    if sent is not None:
        since = int((sent - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10_000_000
        entries.append(_entry(0x0039, _TIME, struct.pack("<Q", since)))
    for number, (name, address) in enumerate(to):
        tree[f"__recip_version1.0_#{number:08X}"] = one = {}
        one["__properties_version1.0"] = bytes(8) + b"".join(_texts(one, {0x3001: name, 0x39FE: address}))
    attached: list[Tree] = []
    for name, data in files or []:
        attached.append(one := {})
        held = [
            *_texts(one, {0x3707: name}),
            *_binary(one, 0x3701, data),
            _entry(0x3705, _NUMBER, struct.pack("<II", 1, 0)),
        ]
        one["__properties_version1.0"] = bytes(8) + b"".join(held)
    for each in inner or []:
        held = [_entry(0x3705, _NUMBER, struct.pack("<II", 5, 0))]
        attached.append({"__substg1.0_3701000D": each, "__properties_version1.0": bytes(8) + b"".join(held)})
    tree.update({f"__attach_version1.0_#{number:08X}": one for number, one in enumerate(attached)})
    head = struct.pack("<8x4I", len(to), len(attached), len(to), len(attached)) + (b"" if embedded else bytes(8))
    tree["__properties_version1.0"] = head + b"".join(entries)
    return tree


def _entry(number: int, kind: int, value: bytes) -> bytes:
    return struct.pack("<HHI", kind, number, 6) + value


def _texts(tree: Tree, texts: dict[int, str]) -> list[bytes]:
    found = []
    for number, text in texts.items():
        if text:
            data = text.encode("utf-16-le")
            tree[f"__substg1.0_{number:04X}001F"] = data
            found.append(_entry(number, _TEXT, struct.pack("<II", len(data) + 2, 0)))
    return found


def _binary(tree: Tree, number: int, data: bytes) -> list[bytes]:
    if not data:
        return []
    tree[f"__substg1.0_{number:04X}0102"] = data
    return [_entry(number, _BINARY, struct.pack("<II", len(data), 0))]


class _Compound:
    """Writes a tree as a compound file of version 3."""

    def __init__(self) -> None:
        self.entries: list[list[object]] = []
        self.sectors: list[bytes] = []
        self.fat: list[int] = []
        self.small, self.small_fat = bytearray(), list[int]()

    def place(self, name: str, data: "bytes | Tree", kind: int) -> int:
        number = len(self.entries)
        entry: list[object] = [name, kind, _FREE, _FREE, 0, 0]  # name, type, sibling, child, start, size
        self.entries.append(entry)
        if isinstance(data, dict):
            after = _FREE
            for child in sorted(data, reverse=True):
                placed = self.place(child, data[child], 1 if isinstance(data[child], dict) else 2)
                self.entries[placed][2], after = after, placed
            entry[3] = after
        elif len(data) < _CUTOFF:
            entry[4], entry[5] = (len(self.small) // _SMALL if data else _END), len(data)
            count = -(-len(data) // _SMALL)
            first = len(self.small_fat)
            self.small_fat += [first + at + 1 for at in range(count - 1)] + [_END] * bool(count)
            self.small += data.ljust(count * _SMALL, b"\0")
        else:
            entry[4], entry[5] = self.chain(data), len(data)
        return number

    def chain(self, data: bytes) -> int:
        first, count = len(self.sectors), -(-len(data) // _SECTOR)
        self.sectors += [data[at * _SECTOR :][:_SECTOR].ljust(_SECTOR, b"\0") for at in range(count)]
        self.fat += [first + at + 1 for at in range(count - 1)] + [_END] * bool(count)
        return first if count else _END

    def written(self) -> bytes:
        self.entries[0][4], self.entries[0][5] = self.chain(bytes(self.small)), len(self.small)
        small = self.chain(struct.pack(f"<{len(self.small_fat)}I", *self.small_fat))
        smalls = -(-4 * len(self.small_fat) // _SECTOR)
        listed = b"".join(map(self.entry, self.entries))
        directory = self.chain(listed)
        tables = 1
        while (len(self.fat) + tables) * 4 > tables * _SECTOR:
            tables += 1
        places = range(len(self.sectors), len(self.sectors) + tables)
        fat = [*self.fat, *[_FAT] * tables]
        fat += [_FREE] * (tables * _SECTOR // 4 - len(fat))
        head = struct.pack(
            "<8s16xHHHHH6xIIIIIIIII",
            *(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6, 0, tables, directory, 0, _CUTOFF),
            *(small, smalls, _END, 0),
        )
        head += struct.pack("<109I", *places, *[_FREE] * (109 - tables))
        return head + b"".join(self.sectors) + struct.pack(f"<{len(fat)}I", *fat)

    def entry(self, entry: list[object]) -> bytes:
        name, kind, sibling, child, start, size = entry
        coded = (str(name) + "\0").encode("utf-16-le")
        head = struct.pack("<64sHBB", coded, len(coded), kind, 1)
        return head + struct.pack("<III", _FREE, sibling, child) + bytes(36) + struct.pack("<IQ", start, size)


def compound(tree: Tree) -> bytes:
    """The file that holds a tree."""
    made = _Compound()
    made.place("Root Entry", tree, 5)
    return made.written()


def outlook_message() -> bytes:
    """A mail with a page as its text, a file of some size and a mail in it."""
    sent = datetime(2024, 2, 9, 13, 45, tzinfo=UTC)
    inner = message("Key", ("Olaf", "olaf@example.org"), [], body="The key is under pot 4.", sent=sent, embedded=True)
    page = "<html><body><p>The kiln is free from <b>Thursday</b> — 1,060 °C.</p></body></html>".encode()
    return compound(
        message(
            *("Kiln", ("Rosa Lind", "rosa@example.org"), [("Pia", "pia@example.org"), ("Ove", "ove@example.org")]),
            page=page,
            sent=sent,
            files=[("glazes.csv", b"Glaze,Grams\n" + b"".join(b"Blue %d,%d\n" % (at, at) for at in range(600)))],
            inner=[inner],
        )
    )
