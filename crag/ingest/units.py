"""The unit and scale of amounts, as a line names it: "in millions, except per share data"."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SCALE = r"(?:millions?|thousands?|billions?|000['’]?s|mm)\b"
_IN_BRACKETS = re.compile(
    rf"\(((?:[a-z ,;'’-]*\b(?:in|of)\s++)?(?:US|U\.S\.|C|A|HK)?\s*+[$€£¥]?\s*+{_SCALE}[^()\d]{{0,100}})\)"
    rf"|\(([a-z ,;'’$€£¥-]*\bin\s++[$€£¥]?\s*+{_SCALE}[^()\d]{{0,100}})\)",
    re.IGNORECASE,
)
_WHOLE = re.compile(rf"^[a-z$€£¥(),;'’ -]*\bin\s+{_SCALE}[^.\d]{{0,60}}$", re.IGNORECASE)
_MOST_WHOLE = 60  # characters of a line that is a unit alone


def unit_in(lines: Sequence[str]) -> str:
    """The unit and scale that the last of these lines to name one names, without its brackets; "" if none does."""
    for text in (*reversed(lines), " ".join(lines)):
        found = ""
        for match in _IN_BRACKETS.finditer(text):
            found = next(filter(None, match.groups())).strip()
        if not found and len(text) <= _MOST_WHOLE and _WHOLE.match(text.strip()):
            found = text.strip()
        if found:
            return found
    return ""
