"""A folder and the documents that came from it: what is new, changed, moved or gone, and the library kept in step."""

from __future__ import annotations

import os
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from crag.core.errors import CancelledError, InputError
from crag.core.ingesting import DocumentRefreshed, IngestEnd, ParsedDocument
from crag.core.types import Document
from crag.ingest.files import ENDINGS, file_id, read_file, safe_name
from crag.pipeline.indexing import Load, Original
from crag.runtime.real_files import RealFolder
from crag.storage.library import Library

FileState = Literal["new", "changed", "moved", "gone", "duplicate", "unreadable", "too large", "unchanged"]
"""What a file of a folder is to the library.

"changed": a document came from it, and it holds something else now. "moved": it holds what a document holds whose own
file is no more, or is not known. "gone": a document came from it, and nothing in the folder holds that any more.
"duplicate": it holds what a document holds that came from another file.
"""
Skipped = Literal["hidden", "link", "other kind"]
"""Why a file is no document: its name begins with a dot; it is a symbolic link; its ending is not read here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFile:
    """One file: its absolute `path`, `size` in bytes, when it was `modified` (nanoseconds since the epoch).

    `document`: the one that it is about, as the library has it; None for a new file. `problem`: why it can't be read.
    `folder`: the one that was compared.
    """

    path: str
    state: FileState
    size: int = 0
    modified: int = 0
    document: Document | None = None
    problem: str = ""
    folder: RealFolder | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderComparison:
    """A folder beside a library: `files` by their paths, and how many others were `skipped`, by the reason."""

    folder: str
    files: Sequence[FolderFile]
    skipped: Mapping[Skipped, int]

    def of(self, *states: FileState) -> list[FolderFile]:
        """The files in these states."""
        return [each for each in self.files if each.state in states]

    def name(self, file: FolderFile) -> str:
        """The file's path within the folder."""
        return os.path.relpath(file.path, self.folder)


@dataclass(slots=True)
class _Scan:
    """What a folder holds: its files by path, how many it skips, and why folders in it can't be read."""

    folder: RealFolder
    files: dict[str, os.stat_result]
    skipped: Counter[Skipped]
    unread: dict[str, str]

    def hides(self, path: str) -> bool:
        """Whether a path may be there, in a folder that can't be read."""
        return any(path.startswith(os.path.join(folder, "")) for folder in self.unread)


def compare_folder(
    library: Library, folder: Path, max_mb: int, cancel: threading.Event | None = None
) -> FolderComparison:
    """Compare a folder with the documents that came from it. Nothing is changed.

    Files are read only where time or size differ from those of their document, and a document has just their size.
    Links below the folder are not followed, now or when files are read. Raises InputError where the folder can't be
    read, or holds nothing although documents came from it: then no file counts as gone. Raises CancelledError,
    StorageError.
    """
    root = os.path.abspath(folder.expanduser())
    stop = cancel or threading.Event()
    scan = _scan(root, stop)
    documents = library.documents.all()
    home = os.path.join(root, "")
    from_here = sum(each.path.startswith(home) for each in documents)
    if from_here and not scan.files and not scan.unread:
        raise InputError(
            f"The folder {root} holds no document, and {from_here:,} came from it. Nothing counts as gone.",
            "Check that its drive is connected. To remove documents, delete them in the library.",
        )
    holding = _find_contents(documents, scan, stop)
    files = _compare_documents(documents, home, holding, scan)
    found = {each.path for each in files if each.state != "gone"}
    held = {path: each for each in documents for path in holding.get(each.id, ())}
    for path in scan.files.keys() - found:
        files.append(_file("duplicate" if path in held else "new", path, scan, held.get(path)))
    files += [FolderFile(path=path, state="unreadable", problem=problem) for path, problem in scan.unread.items()]
    files = [replace(_judge(each, max_mb), folder=scan.folder) for each in files]
    files.sort(key=lambda file: (file.path, file.state))
    return FolderComparison(folder=root, files=files, skipped=dict(scan.skipped))


def _scan(root: str, stop: threading.Event) -> _Scan:
    """Raises InputError where the folder itself can't be read, or is another one at the end."""
    try:
        scan = _Scan(RealFolder.of(root), {}, Counter(), {})
        pending = [root]
        while pending:
            if stop.is_set():
                raise _stopped()
            place = pending.pop()
            try:
                with scan.folder.entries(place) as entries:
                    pending += [path for each in entries if _enter(each, path := os.path.join(place, each.name), scan)]
            except OSError as error:
                if place == root:
                    raise
                scan.unread[place] = error.strerror or "unreadable"
        scan.folder.check()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it can't be used"
        raise InputError(
            f"The folder {root} can't be read: {why}. Nothing counts as gone.",
            "Check the path, and that its drive is connected.",
        ) from error
    return scan


def _stopped() -> CancelledError:
    return CancelledError("Comparing the folder was stopped; nothing was changed.")


def _enter(entry: os.DirEntry[str], path: str, scan: _Scan) -> bool:
    """Whether what is at this path is a folder to look into; of a file, note what it is."""
    if entry.name.startswith("."):
        scan.skipped["hidden"] += 1
    elif entry.is_symlink():
        scan.skipped["link"] += 1
    elif entry.is_dir(follow_symlinks=False):
        return True
    elif os.path.splitext(entry.name)[1][1:].lower() not in ENDINGS or not entry.is_file(follow_symlinks=False):
        scan.skipped["other kind"] += 1
    else:
        with suppress(FileNotFoundError):  # it went since the folder was listed
            scan.files[path] = entry.stat(follow_symlinks=False)
    return False


def _find_contents(documents: Sequence[Document], scan: _Scan, stop: threading.Event) -> dict[str, list[str]]:
    """The files that hold just what a document holds, by the document's id. Raises CancelledError."""
    stamps = {(each.path, each.size, each.modified): each.id for each in documents}
    sizes, ids = {each.size for each in documents}, {each.id for each in documents}
    holding: dict[str, list[str]] = defaultdict(list)
    for path, about in sorted(scan.files.items()):
        if stop.is_set():
            raise _stopped()
        id = stamps.get((path, about.st_size, about.st_mtime_ns), "")
        if not id and about.st_size in sizes:
            with suppress(OSError):  # it is tried once more where it is added, and the reason said
                id = file_id(path, about.st_mtime_ns, scan.folder)
        if id in ids:
            holding[id].append(path)
    return holding


def _compare_documents(
    documents: Sequence[Document], home: str, holding: Mapping[str, list[str]], scan: _Scan
) -> list[FolderFile]:
    """Where each document is now that came from this folder or that a file of it holds, the latest first."""
    files: list[FolderFile] = []
    taken = {path for paths in holding.values() for path in paths}
    for document in reversed(documents):
        path, paths = document.path, holding.get(document.id, [])
        here = path.startswith(home)
        if path in paths:
            files.append(_file("unchanged", path, scan, document))
        elif paths and (here or not path or not os.path.lexists(path)):
            same_name = [each for each in paths if os.path.basename(each) == os.path.basename(path)]
            files.append(_file("moved", (same_name or paths)[0], scan, document))
        elif paths or not here:
            continue  # its own file is elsewhere
        elif path in scan.files and path not in taken:
            taken.add(path)
            files.append(_file("changed", path, scan, document))
        elif path in scan.files or not (os.path.lexists(path) or scan.hides(path)):
            files.append(FolderFile(path=path, state="gone", size=document.size, document=document))
    return files


def _file(state: FileState, path: str, scan: _Scan, document: Document | None) -> FolderFile:
    about = scan.files[path]
    return FolderFile(path=path, state=state, size=about.st_size, modified=about.st_mtime_ns, document=document)


def _judge(file: FolderFile, max_mb: int) -> FolderFile:
    """The file, or that it can't be read."""
    if file.state not in ("new", "changed"):
        return file
    if file.size > max_mb * 1024 * 1024:
        return replace(file, state="too large", problem=f"larger than {max_mb} MB")
    return file if os.access(file.path, os.R_OK) else replace(file, state="unreadable", problem="permission denied")


def sync_files(library: Library, files: Sequence[FolderFile], max_mb: int) -> Iterator[tuple[str, Load]]:
    """What an Indexer takes to bring a library in step with these files of a comparison, in their order.

    New and changed ones are read, moved ones get their new path and name, and documents of gone ones are deleted: give
    those only that a person agreed to.
    """
    for file in files:
        name = safe_name(os.path.basename(file.path))
        match file.state:
            case "new" | "changed":
                yield name, partial(_load, file, max_mb)
            case "moved" if file.document is not None:
                yield name, partial(_move, library, file, file.document)
            case "gone" if file.document is not None:
                yield name, partial(_remove, library, file, file.document)
            case "unchanged" if file.document is not None and file.modified != file.document.modified:
                library.documents.note(file.document.id, path=file.path, modified=file.modified)
            case _:
                pass


def _load(file: FolderFile, max_mb: int) -> Original:
    modified, data = read_file(Path(file.path), max_mb, file.folder)
    return FileOriginal(data=data, path=file.path, modified=modified, before=file.document)


def _move(library: Library, file: FolderFile, document: Document) -> IngestEnd:
    """Its document gets the path, and the name where it had that of the old file. Nothing is embedded."""
    name = safe_name(os.path.basename(file.path))
    renamed = {"name": name} if document.name == safe_name(os.path.basename(document.path)) else {}
    noted = library.documents.note(document.id, path=file.path, modified=file.modified, **renamed)
    message = (
        f"It was at {document.path}." if document.path else f"It is {document.name}, which was added without a path."
    )
    return DocumentRefreshed(name=name, document=noted, found="moved", message=message)


def _remove(library: Library, file: FolderFile, document: Document) -> IngestEnd:
    """Its document is deleted, unless the file is back with what it held. Raises OSError where that can't be known."""
    with suppress(FileNotFoundError):
        if file_id(file.path, os.lstat(file.path).st_mtime_ns, file.folder) == document.id:
            return DocumentRefreshed(name=document.name, document=document, found="unchanged")
    library.documents.delete(document.id)
    return DocumentRefreshed(name=document.name, document=document, found="removed")


@dataclass(kw_only=True)
class FileOriginal(Original):
    """A file of this machine, with its path and when it was changed last, in nanoseconds."""

    path: str
    modified: int

    def described(self, document: Document, parsed: ParsedDocument) -> Document:
        return replace(document, path=self.path, modified=self.modified)
