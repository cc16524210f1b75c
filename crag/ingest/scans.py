"""Pages without text: has them read by text recognition if it is installed, and says what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from crag.core.documents import LOW_RECOGNITION, mean_confidence
from crag.core.errors import CancelledError, DocumentError, EmptyError
from crag.core.ingesting import Page
from crag.core.types import Media
from crag.ingest.sandbox import Frame

Progress = Callable[[int, int, float], None]
"""Called with the page that is being recognised, the number of pages, and about how many seconds are left."""

SECONDS_A_PAGE = 3.0
"""What is said to be needed before anything is known: two cores, a letter page full of text, which took 2.7 to 3.7 s
(benchmarks/results/recognition.md)."""

_INSTALL = "Text recognition is not installed: make run installs it, and so does pip install -r requirements/scans.txt."
_NO_MORE = "Text recognition reads no more pages of a document"
_MOST = "“Most scanned pages” in Settings, Program (CRAG_RECOGNISE_PAGES)"


def installed() -> bool:
    """Whether text recognition can be had here."""
    return find_spec("rapidocr") is not None and find_spec("cv2") is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrecognised:
    """Pages without text that were not looked at, and why: recognition is `missing` or `off`, or it had an `error`.

    "limit": there are more than are read.
    """

    numbers: tuple[int, ...]
    why: Literal["missing", "off", "limit", "error"]
    error: DocumentError | None = None


def recognise(
    media: Media,
    most: int,
    pages: Sequence[Page],
    pictured: Collection[int],
    look: Callable[[Sequence[int]], Iterable[Frame]],
    taken: Callable[[Mapping[str, Any]], None],
    on_page: Progress | None = None,
) -> Unrecognised | None:
    """Reads those of the pages that have no text, `most` of them; `taken` is given each as the child's plain values.

    `look` has the child look at pages by their numbers, and gives what it says.
    `pictured` are the numbers of pages that are a picture with little text over it, a stamp maybe: they are read too.
    What it can't read stays as it is, and is what it returns. Raises CancelledError.
    """
    numbers = tuple(page.number for page in pages if page.scanned or page.number in pictured)
    typed = any(page.text.strip() for page in pages)
    seen = tuple(page.number for page in pages if page.scanned) if typed else numbers
    if not numbers or media not in ("pdf", "image"):
        return None
    if not installed() or not most:
        return Unrecognised(numbers=seen, why="off" if installed() else "missing") if seen else None
    wanted = numbers[:most]
    done: set[int] = set()
    try:
        for raw in _recognised(look(wanted), len(wanted), on_page):
            taken(raw)
            done.add(int(raw["number"]))
    except CancelledError:
        raise
    except DocumentError as error:
        left = tuple(number for number in seen if number not in done)
        return Unrecognised(numbers=left, why="error", error=error) if left else None
    left = tuple(number for number in seen if number not in wanted)
    return Unrecognised(numbers=left, why="limit") if left else None


def _recognised(frames: Iterable[Frame], total: int, on_page: Progress | None) -> Iterator[Mapping[str, Any]]:
    began, read = time.monotonic(), 0
    if on_page is not None:
        on_page(1, total, total * SECONDS_A_PAGE)
    for message, _ in frames:
        if "page" in message:
            yield message["page"]
        elif "recognised" in message:
            read += 1
            if on_page is not None and read < total:
                on_page(read + 1, total, (time.monotonic() - began) / read * (total - read))


# ---- remarks -------------------------------------------------------------------------------------------------------


def notices(pages: Sequence[Page], unread: Unrecognised | None) -> list[str]:
    """What a person should know of pages that are pictures."""
    found = []
    read = [(page.number, sure) for page in pages if (sure := confidence(page)) is not None]
    low = [(number, sure) for number, sure in read if sure < LOW_RECOGNITION]
    if read:
        mean = sum(sure for _, sure in read) / len(read)
        found.append(f"{format_pages([n for n, _ in read])} read by text recognition, with a confidence of {mean:.0%}.")
    if low:
        listed = ", ".join(f"{number} ({sure:.0%})" for number, sure in low)
        found.append(f"Low confidence in what text recognition read on page{'s' * (len(low) > 1)} {listed}.")
    if nothing := _nothing(pages, unread):
        found.append(f"{format_pages(nothing)} {_images(nothing)} in which text recognition found nothing.")
    if unread is not None and unread.numbers:
        found.append(f"{format_pages(unread.numbers)} {_images(unread.numbers)} without text.{_reason(unread)}")
    return found


def empty(
    name: str, pages: Sequence[Page], unread: Unrecognised | None, pictured: Collection[int] = ()
) -> DocumentError | None:
    """The error for a document of which no page can be read because they are pictures; None where they are not."""
    if unread is not None and unread.error is not None:
        return unread.error
    if unread is not None and unread.numbers:
        said = f"{name} is a scan: {format_pages(unread.numbers)} {_images(unread.numbers)} without text."
        return EmptyError(said, _remedy(unread))
    if nothing := [page.number for page in pages if page.scanned or page.number in pictured]:
        return EmptyError(
            f"{name} is a scan: {format_pages(nothing)} {_images(nothing)} in which text recognition found nothing.",
            "If the pages show text, scan them again, upright and at 300 dots an inch, and add the result.",
        )
    return None


def confidence(page: Page) -> float | None:
    """How sure recognition is of a page, 0..1; None where it read nothing of it."""
    return mean_confidence(page.lines)


def format_pages(numbers: Sequence[int]) -> str:
    """Page numbers as people write them: "pages 3, 7-9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    text = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"{'page' if len(numbers) == 1 else 'pages'} {text}"


def _nothing(pages: Sequence[Page], unread: Unrecognised | None) -> list[int]:
    """Pictures that were looked at in vain."""
    left = unread.numbers if unread is not None else ()
    return [page.number for page in pages if page.scanned and page.number not in left]


def _images(numbers: Sequence[int]) -> str:
    return "is an image" if len(numbers) == 1 else "are images"


def _reason(unread: Unrecognised) -> str:
    if unread.error is not None:
        return f" Text recognition ended there: {unread.error.message}"
    return {"missing": f" {_INSTALL}", "limit": f" {_NO_MORE}; the limit is in Settings."}.get(unread.why, "")


def _remedy(unread: Unrecognised) -> str:
    what = {
        "missing": f"{_INSTALL} Then",
        "off": f"Text recognition is off. To turn it on, set {_MOST} above 0, then",
        "limit": f"{_NO_MORE}. Raise {_MOST}, then",
    }
    return f"{what[unread.why]} add the file again."
