"""The bytes of a page as text: by its mark, by what its server or the page says, or by what fits."""

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
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def decoded(data: bytes, said: bytes = b"") -> str:
    """The text, without its mark. `said`: what the server says of the type. Raises ValueError for binary bytes."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").lstrip("\ufeff")
    for told in (said, data[:4096]):
        if (named := _CHARSET.search(told)) and (encoding_of := _encoding(named.group(1))):
            text = data.decode(encoding_of, "replace")
            break
    else:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("cp1252", "replace")
    if "\x00" in text[:4096]:
        raise ValueError("it is binary, not text")
    return text


def _encoding(named: bytes) -> str | None:
    """The codec for what a page calls its encoding; None for one that is no help."""
    try:
        return _ENCODINGS.get(codecs.lookup(named.decode("ascii")).name)
    except (LookupError, ValueError):
        return None
