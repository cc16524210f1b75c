"""How a run came in, and what became of one that another program answers, in words: for every place that tells of runs.

What a program calls itself is its own word, and is told as such.
"""

from __future__ import annotations

from collections.abc import Iterable

from crag.core.trace import Trace

__all__ = ["FAR", "OWN", "handed_sentence", "lacking_sentence", "origin_text", "origin_word", "origins_text"]

FAR = "which can't be searched again from here"
"""Of another store than the library."""

OWN = ("", "app")
"""How the runs of the app came in, and those that earlier builds stored: nothing is said of them."""

_ORIGINS = {
    "agent": ("agent", "through an agent", "the agent that asked"),
    "mcp": ("MCP", "through MCP", "the program that asked through MCP"),
    "http": ("HTTP", "through HTTP", "the program that asked through HTTP"),
    "cli": ("command line", "from the command line", "whoever asked"),
    "python": ("Python", "from Python", "the program that asked"),
}
"""Of each way: a word, a part of a sentence, and who it was that asked."""
_QUOTES = str.maketrans("“”", '""')
"""In a name: they would end it where it does not end."""
_UNKNOWN = ("another program", "through another program", "the program that asked")


def origin_word(via: str) -> str:
    """How a run came in, in a word or two; empty for the app's own."""
    return "" if via in OWN else _ORIGINS.get(via, _UNKNOWN)[0]


def origin_text(via: str, client: str = "") -> str:
    """The same as a part of a sentence, with what the program calls itself: "through MCP (calls itself “notes”)"."""
    if via in OWN:
        return ""
    said = _ORIGINS.get(via, _UNKNOWN)[1]
    return f"{said} (calls itself “{client.translate(_QUOTES)}”)" if client else said


def origins_text(vias: Iterable[str]) -> str:
    """The ways in which several runs came in, each once: "through an agent and from Python". Nothing of the app's."""
    said = list(dict.fromkeys(filter(None, map(origin_text, vias))))
    return " and ".join(filter(None, (", ".join(said[:-1]), *said[-1:])))


def handed_sentence(trace: Trace) -> str:
    """That the evidence of a run was handed to who asked, for its own answer; empty of any other run."""
    if not trace.handed_over:
        return ""
    who = _ORIGINS.get(trace.via, _UNKNOWN)[2]
    if not trace.kept():
        return f"Nothing found was good enough to be handed to {who}, which writes the answer itself."
    return f"The evidence was handed to {who}, which writes the answer itself."


def lacking_sentence(trace: Trace) -> str:
    """What can't be had from here of a run that searched another store; empty of one that searched the library."""
    if not trace.elsewhere:
        return ""
    return f"This run searched another store than the library, {FAR}."
