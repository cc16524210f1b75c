"""A folder of saved pages that stands in for the web: searched with BM25, read-only, never leaves the machine."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import stat
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crag.core.errors import WebSearchError
from crag.core.protocols import WebSearch
from crag.core.types import Unread, WebPage
from crag.runtime.provider import WebParts, WebProvider
from crag.runtime.real_files import RealFolder
from crag.text.words import STOP_WORDS, separate_words, words

if TYPE_CHECKING:
    from crag.web.webpage import SavedPage

log = logging.getLogger(__name__)

SUFFIXES = frozenset({".html", ".htm", ".md", ".txt"})
MAX_FILE_BYTES = 5_000_000
MAX_FILES = 2_000
MAX_TERMS = 64
"""Distinct words of a query that are searched for."""
TITLE_WEIGHT = 3.0
"""How much more a word counts in a title than in the text."""

# Characters of scripts without spaces are indexed one by one, or no word inside a sentence could be found.

Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _File:
    """A page file: where it is below the folder, and where its bytes are, which is elsewhere for a link within it."""

    relative: str
    path: Path
    stamp: Stamp
    folder: RealFolder


class FolderWeb:
    """The pages (.html, .htm, .md, .txt) below a folder. Thread-safe; sees files added, changed and removed.

    `problems` says which files the last search left out, and why.
    """

    id = name = "folder"
    leaves = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._index: sqlite3.Connection | None = None
        self._pages: dict[str, tuple[Stamp, SavedPage | None, str]] = {}
        self.problems: tuple[Unread, ...] = ()

    def search(self, query: str, max_results: int) -> list[WebPage]:
        """At most `max_results` pages, best first by BM25; none where no word of the query is on any page.

        Raises WebSearchError where the folder is missing, can't be read, or holds no page.
        """
        with self._lock:
            self._refresh()
            terms = _terms(query)
            if not terms or max_results < 1:
                return []
            found: list[WebPage] = []
            for (relative,) in self._connection().execute(
                "SELECT path FROM page WHERE page MATCH ? ORDER BY bm25(page, 0, ?, 1.0), path LIMIT ?",
                (" OR ".join(f'"{term}"' for term in terms), TITLE_WEIGHT, max_results * 4),
            ):
                page = self._page(relative, query, len(found) + 1)
                if all(other.id != page.id for other in found):
                    found.append(page)
                if len(found) == max_results:
                    break
            return found

    def close(self) -> None:
        """Frees the index; a later search builds it again."""
        with self._lock:
            if self._index is not None:
                self._index.close()
            self._index, self._pages = None, {}

    def _connection(self) -> sqlite3.Connection:
        if self._index is None:
            self._index = sqlite3.connect(":memory:", check_same_thread=False)
            self._index.execute(
                "CREATE VIRTUAL TABLE page USING fts5"
                "(path UNINDEXED, title, body, tokenize='porter unicode61 remove_diacritics 2')"
            )
        return self._index

    def _refresh(self) -> None:
        """Brings index and pages up to the folder as it is now; only new and changed files are read."""
        files, warnings = _list_pages(self._folder)
        connection = self._connection()
        present = {file.relative for file in files}
        for gone in [relative for relative in self._pages if relative not in present]:
            connection.execute("DELETE FROM page WHERE path = ?", (gone,))
            del self._pages[gone]
        for file in files:
            known = self._pages.get(file.relative)
            if known is None or known[0] != file.stamp:
                connection.execute("DELETE FROM page WHERE path = ?", (file.relative,))
                page, problem = _read(file)
                self._pages[file.relative] = (file.stamp, page, problem)
                if page is not None:
                    connection.execute(
                        "INSERT INTO page VALUES (?, ?, ?)",
                        (file.relative, separate_words(page.title), separate_words(page.text)),
                    )
        warnings += [Unread(name=name, why=why) for name, (_, _, why) in sorted(self._pages.items()) if why]
        for warning in warnings:
            if warning not in self.problems:
                log.warning("web folder: left out %s: %s", warning.name, warning.why)
        self.problems = tuple(warnings)
        if not any(page for _, page, _ in self._pages.values()):
            raise WebSearchError(
                f"The web folder {self._folder.name} holds no readable page.",
                "Save HTML, Markdown or text files there, or choose another folder in Settings.",
            )

    def _page(self, relative: str, query: str, rank: int) -> WebPage:
        saved = self._pages[relative][1]
        if saved is None:
            raise WebSearchError(f"The page {relative} vanished while it was searched.", "Ask again.")
        url = saved.url or f"folder:{relative}"
        return WebPage(
            id="web-" + hashlib.sha256(f"{url}\n{saved.text}".encode()).hexdigest()[:24],
            url=url,
            title=saved.title,
            text=saved.text,
            provider=self.name,
            query=query,
            rank=rank,
            published=saved.published,
            fetched=True,
        )


def _list_pages(folder: Path) -> tuple[list[_File], list[Unread]]:
    """All page files below the folder, by path, and what was left out. Raises WebSearchError."""
    warnings: list[Unread] = []
    files: list[_File] = []
    try:
        root = folder.resolve(strict=True)
        real = RealFolder.of(str(root))
        os.scandir(root).close()
    except (OSError, RuntimeError) as error:
        raise WebSearchError(
            f"The web folder {folder.name} can't be read: {_reason(error)}.",
            "Check that it exists and may be read, choose another folder in Settings, or turn the web off.",
        ) from error

    def unreadable(error: OSError) -> None:
        warnings.append(Unread(name=Path(error.filename).name, why=_reason(error)))

    for place, folders, names in os.walk(root, onerror=unreadable, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if path.suffix.lower() not in SUFFIXES or name.startswith("."):
                continue
            relative = path.relative_to(root).as_posix().encode("utf-8", "replace").decode()
            if len(files) == MAX_FILES:
                rest = Unread(name=f"{relative} and all after it", why=f"only {MAX_FILES} pages are read")
                return files, [*warnings, rest]
            found = _find(path, root)
            if isinstance(found, str):
                warnings.append(Unread(name=relative, why=found))
            else:
                files.append(_File(relative, *found, real))
    return files, warnings


def _find(path: Path, root: Path) -> tuple[Path, Stamp] | str:
    """Where the file is, with modification time in nanoseconds and size; or why it is left out."""
    try:
        real = path.resolve(strict=True) if path.is_symlink() else path
        if not real.is_relative_to(root):
            return "a link that leads out of the folder is not followed"
        status = real.lstat()
    except (OSError, RuntimeError) as error:
        return _reason(error)
    if not stat.S_ISREG(status.st_mode):
        return "it is no ordinary file"
    if status.st_size > MAX_FILE_BYTES:
        return f"it is larger than {MAX_FILE_BYTES // 1_000_000} MB"
    return real, (status.st_mtime_ns, status.st_size)


def _read(file: _File) -> tuple[SavedPage | None, str]:
    """The page, or why there is none."""
    from crag.web.webpage import read_page  # the reader of pages, which only a search of the folder needs

    try:
        with file.folder.open(str(file.path)) as opened:
            data = opened.read(MAX_FILE_BYTES)
        named = Path(file.relative)
        return read_page(data, named.suffix.lower(), named.stem), ""
    except OSError as error:
        return None, _reason(error)
    except ValueError as error:
        return None, str(error)


def _terms(query: str) -> list[str]:
    """The distinct words of a query, without stop words unless there is nothing else."""
    found = list(dict.fromkeys(words(query)))
    content_terms = [term for term in found if term not in STOP_WORDS]
    return (content_terms or found)[:MAX_TERMS]


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or type(error).__name__).lower()


def _read_shared(parts: WebParts) -> WebSearch:
    """The pages are read once, for all runs. Raises WebSearchError where there are none."""
    if parts.folder is None:
        raise WebSearchError("No folder of pages is set.", "Name it in Settings, or choose another web provider.")
    return parts.folder


FOLDER = WebProvider(
    name="folder",
    title="Folder",
    phrase="the folder of saved pages",
    about="Pages saved on this machine stand in for the web; nothing leaves it.",
    leaves=False,
    make=_read_shared,
)
