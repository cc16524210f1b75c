"""Bytes as text: by their mark, by what a server or the text itself says of them, or by what fits."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence

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
_MOST_BROKEN = 0.05  # of a text in UTF-8
_SAMPLE = 16_384  # bytes, from the first that is no ASCII
_EASTERN = "ąćęłńóśźżáéíýúůčďěňřšťžäöüßőűăâîşţđĺľôŕ"
_LIKELY: Mapping[str, tuple[str, ...]] = {
    "cp1252": ("äöüßéèêëàâçñáíóúìòùîïôûœõãåæøÿ",),
    "cp1254": ("çğıöşüâîûi̇",),
    "cp1250": (_EASTERN,),
    "iso8859_2": (_EASTERN,),
    "cp1251": ("Russian", "Ukrainian", "Bulgarian", "Serbian"),
    "koi8_r": ("Russian",),
    "cp1253": ("Greek",),
    "cp1255": ("Hebrew",),
    "cp1256": ("Arabic", "Farsi"),
    "cp874": ("Thai",),
    "gb18030": ("Chinese",),
    "big5": (),
    "cp932": ("Japanese", "Japanese—", "Japanese——"),
    "euc_jp": ("Japanese", "Japanese—", "Japanese——"),
    "cp949": ("Korean",),
}
"""What an unnamed encoding may be, the likeliest first: with its letters, or languages whose letters are known."""
_LATIN, _RARE = ("cp1252", "cp1250", "cp1254", "iso8859_2"), ("euc_jp", "koi8_r", "iso8859_2")
_COMMON = {
    "gb18030": (0xB0, 0xD7),
    "big5": (0xA4, 0xC6),
    "cp932": (0x88, 0x97),
    "euc_jp": (0xB0, 0xCF),
    "cp949": (0xB0, 0xC8),
}
"""The first byte of the signs that each standard holds to be common, which come first in it."""
_WORD = re.compile(r"[A-Za-z\x80-\U0010ffff]++")
_BLANK = re.compile(r"[^\x00-\x7f] [^\x00-\x7f]")
_SIGNS = frozenset("„“”‚‘’–—…«»€§°¿¡·×。、，：；（）「」・％〜")
_CLOSE, _POOR = 0.1, 0.4
"""An encoding is in doubt where another one fits so nearly as well, or where it fits no better than this."""
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def decode_text(data: bytes, said: bytes = b"") -> str:
    """The text, without its mark. `said`: what the server says of the type. Raises ValueError for binary bytes."""
    if (marked := _decode_marked(data)) is not None:
        return marked
    for source in (said, data[:4096]):
        if (named := _CHARSET.search(source)) and (encoding_of := _encoding(named.group(1))):
            text = data.decode(encoding_of, "replace")
            break
    else:
        text, _ = guess_text(data)
    if "\x00" in text[:4096]:
        raise ValueError("it is binary, not text")
    return text


def _decode_marked(data: bytes) -> str | None:
    """The text of a file that begins with the mark of its encoding; None without one."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").lstrip("\ufeff")
    return None


def guess_text(data: bytes) -> tuple[str, str]:
    """The text of a file that says nothing of its encoding but by its mark, and the encoding if that is in doubt."""
    if (marked := _decode_marked(data)) is not None:
        return marked, ""
    text = data.decode("utf-8", "replace")
    broken, foreign = text.count("\ufffd"), len(text) - len(text.encode("ascii", "ignore"))
    if broken <= _MOST_BROKEN * foreign:  # a file that is cut off may end amid a letter
        return text, ""
    encoding, sure = _likeliest(data)
    return data.decode(encoding, "replace"), "" if sure else encoding


def _likeliest(data: bytes) -> tuple[str, bool]:
    """The encoding in which what is no ASCII looks most like words of a language, and whether no other does as well."""
    first = next(at for at, byte in enumerate(data) if byte > 127)
    sample = data[max(0, data.rfind(b"\n", 0, first)) : first + _SAMPLE]
    fits = {name: _fit(sample.decode(name, "replace"), name, letters) for name, letters in _LIKELY.items()}
    best = max(fits, key=lambda name: fits[name])
    text = sample.decode(best, "replace")
    passed = _LATIN if best == "cp1252" else (best,)  # few letters tell the Latin ones apart, and this is the usual one
    rivals = (name for name in fits if name not in passed and fits[name] > fits[best] - _CLOSE)
    return best, fits[best] > _POOR and all(sample.decode(name, "replace") == text for name in rivals)


def _fit(text: str, encoding: str, letters: Sequence[str]) -> float:
    """How much the signs of a text beyond ASCII are letters of these languages: 1 for its most frequent ones."""
    from charset_normalizer.constant import FREQUENCIES

    known: dict[str, float] = {}
    for each in letters:
        listed = FREQUENCIES.get(each, ())
        for rank, letter in enumerate(listed or each):
            known[letter] = max(known.get(letter, 0.0), 1 - 0.7 * rank / len(listed) if listed else 1.0)
    total = size = 0.0
    for word in dict.fromkeys(_WORD.findall(text)):
        before = " "
        for sign in word:
            if sign > "\x7f":
                size += 1
                total += _weight(sign, encoding, known)
                # In Latin scripts they stand between letters of ASCII, in others among themselves.
                total -= 0.7 * ((before > "\x7f") if encoding in _LATIN else before.isalpha() and before <= "\x7f")
                total -= sign.isupper() * (1.0 if before.islower() else 0.1)
            before = sign
    blanks = encoding == "cp949" and _BLANK.search(text) is not None  # Korean has them, Chinese and Japanese have none
    return total / size - 0.1 * (encoding in _RARE) + 0.05 * blanks if size else 0.0


def _weight(sign: str, encoding: str, known: Mapping[str, float]) -> float:
    if sign.lower() in known and encoding not in _COMMON:
        return known[sign.lower()]
    if sign == "\ufffd" or not sign.isprintable():
        return 0.0 if sign == "\u3000" else -2.0
    if sign in _SIGNS:
        return 0.3
    if encoding not in _COMMON or not sign.isalpha():
        return -0.5
    if encoding in ("cp932", "euc_jp") and "\u3041" <= sign <= "\u30ff":
        return 1.0
    code = sign.encode(encoding, "replace")
    least, most = _COMMON[encoding]
    common = len(code) == 2 and least <= code[0] <= most and (code[1] > 0xA0 or encoding in ("cp932", "big5"))
    return (0.5 if common else -0.3) + 0.5 * (sign in known)


def _encoding(named: bytes) -> str | None:
    """The codec for what a page calls its encoding; None for one that is no help."""
    try:
        return _ENCODINGS.get(codecs.lookup(named.decode("ascii")).name)
    except (LookupError, ValueError):
        return None
