"""An Office file before it is parsed: a container whose parts are counted and weighed.

A container says how large each of its parts is when unpacked, and Python's reader of it never gives more than that, so
what is said is what has to be looked at.
"""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from crag.ingest.media import FileError
from crag.ingest.sections import ComposedPage

_MOST_PARTS = 20_000
_SHARE = 4
"""Of the memory that the reader may take, one part in so many may be what is unpacked: a parsed one takes more."""
_LOCKED = 0x1
_NO_MEMORY = 2
"""What lxml's errors say where libxml2 got no memory."""


@dataclass(frozen=True, slots=True)
class Container:
    """The names of a file's parts, and what stands beside its text: `notes`, as `crag.ingest.reader` tells them."""

    names: Collection[str]
    notes: dict[str, Any]


def opened(data: bytes, job: Mapping[str, Any], streamed: str = "") -> Container:
    """What the container holds. Parts whose names begin with `streamed` are read bit by bit, however large they are.

    Raises FileError for one that is damaged, locked, or would not fit into the reader's memory.
    """
    with faults(), zipfile.ZipFile(BytesIO(data)) as file:
        parts = file.infolist()
    if any(part.flag_bits & _LOCKED for part in parts):
        raise FileError("encrypted")
    weight = sum(part.file_size for part in parts if not (streamed and part.filename.startswith(streamed)))
    if len(parts) > _MOST_PARTS:
        raise FileError("unpacked", f"{len(parts):,} parts")
    if weight > int(job["memory_mb"]) * 1024 * 1024 // _SHARE:
        raise FileError("unpacked", f"{weight // 1024 // 1024:,} MB")
    names = {part.filename for part in parts}
    macros = any(name.endswith("vbaProject.bin") for name in names)
    return Container(names, {"macros": 1} if macros else {})


@contextmanager
def faults() -> Iterator[None]:
    """Whatever a library stumbles over is the file's fault, but for want of memory."""
    try:
        yield
    except (FileError, MemoryError):
        raise
    except Exception as error:
        if getattr(error, "code", None) == _NO_MEMORY:
            raise MemoryError from error
        raise FileError("damaged", type(error).__name__) from error


def messages(
    found: Iterable[ComposedPage],
    job: Mapping[str, Any],
    title: str,
    notes: Mapping[str, Any],
    published: str = "",
) -> Iterator[dict[str, Any] | ComposedPage]:
    """What a reader yields of these pages. Raises FileError for none, and for more than are read."""
    pages = list(found)
    if not pages:
        raise FileError("no text")
    if len(pages) > int(job["max_pages"]):
        raise FileError("pages", str(len(pages)))
    opening = next((text for _, text in pages[0].headings), "")
    pages[0].largest = [(opening, 1.0)] if opening else []
    yield {"pages": len(pages), "title": title, "notes": dict(notes), "published": published}
    yield from pages
