"""Bytes as text: by their mark, by what a server or the text itself says of them, or by what fits."""

from __future__ import annotations

import codecs
import re

_ENCODINGS = {
    **{name: name for name in "utf-8 utf-16-le utf-16-be koi8-r koi8-u big5 gb18030 euc_jp iso2022_jp cp874".split()},
    **{f"cp125{number}": f"cp125{number}" for number in (0, 1, 3, 4, 5, 6, 7, 8)},
    **{f"iso8859-{number}": f"iso8859-{number}" for number in range(2, 17) if number != 12},
    **{"utf-16": "utf-16-le", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "cp932": "cp932"},
    **{"euc_kr": "cp949", "cp949": "cp949"},
}
"""How browsers read what a page calls its encoding. Western European ones are missing: UTF-8 is often called that.

No other is used: some of Python's take minutes for a page.
"""
_CHARSET = re.compile(rb"""charset\s*=\s*["']?([\w:.-]{2,40})""", re.IGNORECASE)
_ASCII = 127
_SAMPLE, _LEAST_FOREIGN = 16_384, 24
"""Bytes that are looked at, and how many of them must be of foreign letters to tell an encoding."""
_INSIDE, _STRANGE = re.compile(r"[^\W\d_][¹³ª¿º¶¼¾][^\W\d_]"), 3
"""Signs within words, and how many of them tell that they are none."""
_LOOKED_FOR = [
    *("cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "cp874"),
    *("gb18030", "big5", "cp932", "euc_jp", "cp949"),
]
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def decode_text(data: bytes, said: bytes = b"") -> str:
    """The text, without its mark. `said`: what the server says of the type. Raises ValueError for binary bytes."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").lstrip("\ufeff")
    for source in (said, data[:4096]):
        if (named := _CHARSET.search(source)) and (encoding_of := _encoding(named.group(1))):
            text = data.decode(encoding_of, "replace")
            break
    else:
        text = guess_encoding(data)
    if "\x00" in text[:4096]:
        raise ValueError("it is binary, not text")
    return text


def guess_encoding(data: bytes) -> str:
    """The text of a file that says nothing of its encoding but by its mark: UTF-8, or what its letters look like."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").lstrip("\ufeff")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode(_likeliest(data), "replace")


def _likeliest(data: bytes) -> str:
    """The encoding in which the first foreign letters make words. Few of them tell nothing: then Western European."""
    first = next(at for at, byte in enumerate(data) if byte > _ASCII)
    sample = data[max(0, first - _SAMPLE // 8) : first + _SAMPLE]
    if sum(byte > _ASCII for byte in sample) < _LEAST_FOREIGN:
        return "cp1252"
    # Imported here: hardly any file needs it.
    from charset_normalizer import from_bytes

    found = from_bytes(sample, cp_isolation=_LOOKED_FOR)
    best = found.best()
    if best is None:
        return "cp1252"
    # Western European is taken before what looks no better; but it has signs where Polish has letters.
    alike = [each for each in found if each.chaos <= best.chaos and each.coherence >= best.coherence]
    western = any("cp1252" in each.could_be_from_charset for each in alike)
    if western and len(_INSIDE.findall(sample.decode("cp1252", "replace"))) >= _STRANGE:
        return "cp1250"
    return "cp1252" if western else best.encoding


def _encoding(named: bytes) -> str | None:
    """The codec for what a page calls its encoding; None for one that is no help."""
    try:
        return _ENCODINGS.get(codecs.lookup(named.decode("ascii")).name)
    except (LookupError, ValueError):
        return None
