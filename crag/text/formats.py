"""Numbers, names and times as text: the one set of helpers for messages, errors, charts and tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def count(number: int, noun: str, plural: str = "s") -> str:
    """A number with its noun, as "1 chunk" or "1,200 chunks"."""
    return f"{number:,} {noun}" + ("" if number == 1 else plural)


def join_names(names: Sequence[str], last: str = "and") -> str:
    """Names in a sentence: "a", "a and b", "a, b and c"."""
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def one_line(text: str, most: int) -> str:
    """A text on one line of at most `most` characters, without control characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())[:most]


def money(dollars: float, about: str = "") -> str:
    """An amount of dollars: $0, under $0.0001, $0.0004, $0.012, $0.12, $1,234.50. `about` marks an estimate."""
    if dollars <= 0:
        return f"{about}$0"
    if dollars < 0.0001:
        return "under $0.0001"
    places = 4 if dollars < 0.01 else 3 if dollars < 0.1 else 2
    return f"{about}${dollars:,.{places}f}"


def format_score(score: float, *limits: float) -> str:
    """A score 0..1 with two decimals, and on its side of each limit: 0.196 under a threshold of 0.20 reads "0.19"."""
    shown = round(score, 2)
    if any((shown < limit) != (score < limit) for limit in limits):
        shown += 0.01 if shown < score else -0.01
    return f"{shown:.2f}"


def format_size(size: int) -> str:
    """Bytes in kB, MB or GB, as "3 kB", "1.2 MB" or "4.5 GB"."""
    if size < 1_000_000:
        return f"{max(1, round(size / 1000)):,} kB"
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.{int(size < 1e8)}f} MB"


def format_duration(seconds: float) -> str:
    """A time span: 3 ms, 1.2 s, 2 min 5 s."""
    if seconds < 0.0095:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else "<1 ms"
    if seconds < 1:
        return f"{round(seconds * 1000, -1 if seconds >= 0.1 else 0):.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def iso_now() -> str:
    """This moment to the second, in UTC, as records hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def format_day(iso: str) -> str:
    """The day of an ISO 8601 date or time, as "21 Nov"."""
    return f"{int(iso[8:10])} {MONTHS[int(iso[5:7]) - 1]}"
