"""What a model's reply says, without what it is wrapped in: tags, JSON, a list of its sources behind it."""

from __future__ import annotations

import json
import re

from crag.generation.citations import MARK

_TEMPLATE = re.compile(r"<\|[^|<>\n]{1,40}\|>")
"""A token of a chat's template that a server let through."""
_ROLE = re.compile(r"\A\s*+(?:assistant|model)[^\S\n]*+(?::|\n)\s*+", re.IGNORECASE)
_MORE = r"(?:\s[^<>\n]{0,200})?/?>"
"""The attributes and the end of a tag."""
_BREAK = re.compile(rf"</?(?:p|div|br|ul|ol|table|tr|h[1-6]|blockquote|html|body){_MORE}", re.IGNORECASE)
_ITEM = re.compile(rf"<li{_MORE}", re.IGNORECASE)
_CELL = re.compile(r"</t[dh]>\s?(?=<t[dh])", re.IGNORECASE)
_INLINE = re.compile(
    rf"</?(?:b|i|u|em|strong|sup|sub|span|a|code|mark|cite|li|td|th|thead|tbody|pre){_MORE}", re.IGNORECASE
)
_FENCED = re.compile(r"\s*```[a-z]*\n(.*?)\n?```\s*", re.DOTALL | re.IGNORECASE)
_VALUE = re.compile(r'(?<!\\)"((?:[^"\\]|\\.)*+)"\s*[,}\]]')
_FORMULA = re.compile(r"\$(?=[^$\n]{0,80}\\)([^$\n]{1,80})\$")
_LABEL = re.compile(r"(?:sources?|references?|citations?|footnotes?)", re.IGNORECASE)
_DEFINED = re.compile(rf"\s*(?:[-*]\s*)?{MARK.pattern}\s*+(:?)")


def unwrap(reply: str) -> str:
    """The text of a reply: of JSON its longest value, of HTML its words, without a list of sources at its end."""
    text = _TEMPLATE.sub("", reply)
    if (fenced := _FENCED.fullmatch(text)) is not None:
        text = fenced[1]
    text = _ROLE.sub("", text)
    text = _of_json(text) if text.lstrip().startswith("{") else text
    if "</" in text and "`" not in text:  # who writes of tags themselves, quotes them
        text = _BREAK.sub("\n", _ITEM.sub("\n- ", _CELL.sub(" | ", text)))
        text = re.sub(r"\n{3,}", "\n\n", _INLINE.sub("", text)).strip()
    text = _FORMULA.sub(lambda found: found[1].replace("\\", ""), text) if "\\" in text else text
    return _without_sources(text)


def _of_json(text: str) -> str:
    """The longest text value of an object, with the marks outside of it where it has none; the text where none is."""
    values = [found[1] for found in _VALUE.finditer(text)]
    longest = max(values, key=len, default="")
    try:
        said = str(json.loads(f'"{longest}"', strict=False))
    except ValueError:
        said = longest
    marks = "" if MARK.search(said) else "".join(found[0] for found in MARK.finditer(text.replace(longest, "")))
    return f"{said} {marks}".strip() if said else text


def _without_sources(text: str) -> str:
    """The text without lines at its end that only say what the numbers stand for."""
    lines = text.split("\n")
    kept, defined = len(lines), False
    while kept > 1:
        line = lines[kept - 1].strip()
        found = _DEFINED.match(line)
        bare = MARK.sub("", line).strip(" \t*_#:,;.-")
        if _LABEL.fullmatch(bare):
            return "\n".join(lines[: kept - 1]).rstrip()
        if line and found is None:
            break
        defined = defined or bool(found and found[found.lastindex or 0] == ":")
        kept -= 1
    return "\n".join(lines[:kept]).rstrip() if defined else text
