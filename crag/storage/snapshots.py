"""Versions of a library's documents: kept whole in a file each, compared, and rolled back to without embedding again.

A snapshot holds documents, files, chunks, vectors, labels and track records, but no runs and evaluations: those stay as
they are when the documents go back.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
from filelock import FileLock, Timeout
from sqlalchemy import Connection, func, select, update

from crag.core.errors import InputError, ModelMismatchError, NotFoundError, RoomError, StorageError
from crag.core.protocols import Embedder
from crag.index.stamp import sync
from crag.storage import store
from crag.storage.documents import content_hash, insert_content, insert_file, read_content, remove, reserved
from crag.storage.records import Records
from crag.storage.sqlite import connect, driver, own_folder, read_transaction, translate_errors
from crag.storage.tables import LIBRARY, chunks, documents, files, labels, tracks, vectors
from crag.storage.tables import meta as about

MOST_SNAPSHOTS = 10
"""Of one library, those included that a rollback takes before it."""
BEFORE_ROLLBACK = "before-rollback-"
"""Begins the name of a snapshot that a rollback took."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_TABLES = (documents, files, chunks, vectors, labels, tracks)
_WAIT = 60.0
"""Seconds that one waits for another snapshot or rollback of the same library."""
_TRIES = 3
"""Snapshots of the state before a rollback, while others add documents."""
_CHUNK_BYTES = 2_048
"""About what a chunk takes besides its vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One version. `content` is the `Documents.content_hash` of its documents, `state` adds fields and labels.

    `taken_at` is ISO 8601, UTC; `size` is the file's in bytes. `problem`: why it can't be used; then the rest is empty.
    """

    name: str
    taken_at: str = ""
    documents: int = 0
    chunks: int = 0
    content: str = ""
    state: str = ""
    size: int = 0
    problem: str = ""


Kind = Literal["added", "gone", "content", "chunks", "fields"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChange:
    """A document that differs between two versions, with its number of chunks in each; 0 where it is not there.

    "content": a document of this name holds something else. "chunks": the same one was cut or read otherwise. "fields":
    its name, title or given fields differ.
    """

    name: str
    kind: Kind
    before: int
    now: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledBack:
    """What a rollback did. `before` is the snapshot that holds the documents as they were until then."""

    before: Snapshot
    brought: int
    removed: int
    described: int


@dataclass(frozen=True, slots=True)
class _State:
    """A stored document: its number, name and number of chunks, a hash of these and one of its fields."""

    number: int
    name: str
    chunks: int
    cut: str
    fields: str


class Snapshots:
    """The versions of one library, in a folder beside it. Thread-safe, across processes too: one change at a time."""

    def __init__(
        self,
        folder: Path,
        database: Records,
        embedder: Embedder,
        forget: Callable[[], None],
        may_grow: Callable[..., None] | None = None,
    ) -> None:
        """`forget` is called after documents went, so that the chunk index forgets the words, too."""
        self._folder, self._database, self._embedder = folder, database, embedder
        self._forget, self._may_grow = forget, may_grow

    def all(self) -> list[Snapshot]:
        """The latest first; a file that can't be read is listed with its problem."""
        found = [self._about(path) for path in self._files()]
        return sorted(found, key=lambda each: (each.taken_at, each.name), reverse=True)

    def get(self, name: str) -> Snapshot:
        """Raises NotFoundError."""
        return self._about(self._path(name))

    def take(self, name: str = "") -> Snapshot:
        """Keep the documents as they are at this moment, while others read and write; "" names it by the time.

        Raises InputError for a bad or taken name, RoomError where there are MOST_SNAPSHOTS, and StorageError, after
        which nothing of it is left.
        """
        with self._turn():
            return self._take(name or f"{datetime.now(UTC):%Y%m%d-%H%M%S}")

    def delete(self, name: str) -> None:
        """Raises NotFoundError."""
        with self._turn(), self._translated():
            self._path(name).unlink()

    def compare(self, first: str, second: str = "") -> list[DocumentChange]:
        """How the documents of the second, by default those in the library now, differ from the first's, by name.

        Raises NotFoundError, and StorageError for a file that is damaged or cut off.
        """
        with self._opened(first) as connection:
            one = _states(connection)
        if not second:
            with self._database.read() as connection:
                return _compare(one, _states(connection))
        with self._opened(second) as connection:
            return _compare(one, _states(connection))

    def roll_back(self, name: str) -> RolledBack:
        """Put the documents back as they were, all or nothing; those that did not change keep what they have.

        The state before it is kept as a snapshot first, unless one has it already. Runs, evaluations and the labels of
        unchanged documents stay. Raises NotFoundError, StorageError for a damaged file, ModelMismatchError for vectors
        of another model, and RoomError; in each case nothing changed.
        """
        with self._turn(), self._opened(name) as snapshot:
            wanted, used = _states(snapshot), store.model_name(self._embedder)
            if wanted and (stored := store.meta(snapshot, "model")) != used:
                raise ModelMismatchError(
                    f"The vectors of snapshot {name} were made by {stored}; the model in use is {used}.",
                    "Go back to that model, or add the documents again.",
                )
            for _ in range(_TRIES):
                before = self._keep_present()
                with self._database.write(more=_bytes(snapshot)) as connection:
                    now = _states(connection)
                    if _hash_state(connection, now) != before.state:
                        continue  # somebody added a document meanwhile, and no snapshot has it
                    store.ensure_model(connection, self._embedder)
                    done = _apply(connection, snapshot, now, wanted)
                self._database.reserve(reserved(max((each.chunks for each in wanted.values()), default=0)))
                self._forget()
                return RolledBack(before=before, brought=done[0], removed=done[1], described=done[2])
        raise StorageError("Others keep changing the documents, so nothing was rolled back.", "Try again later.")

    # One file

    def _keep_present(self) -> Snapshot:
        """A snapshot of the documents as they are: one that is there already, or a new one. Raises RoomError."""
        with self._database.read() as connection:
            state = _hash_state(connection, _states(connection))
        same = [each for each in self.all() if each.state == state]
        return same[0] if same else self._take(f"{BEFORE_ROLLBACK}{datetime.now(UTC):%Y%m%d-%H%M%S%f}")

    def _take(self, name: str) -> Snapshot:
        taken = self._files()
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{name[:80]} can't name a snapshot.", "Use up to 60 letters, digits, dots, hyphens and underscores."
            )
        if any(path.stem.casefold() == name.casefold() for path in taken):
            raise InputError(f"There is a snapshot {name} already.", "Choose another name, or delete that one.")
        if len(taken) >= MOST_SNAPSHOTS:
            raise RoomError(f"There are {len(taken)} snapshots, which is the most.", "Delete one that is not needed.")
        draft = self._folder / f".{secrets.token_hex(8)}.part"
        with self._translated():
            try:
                os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
                self._write(draft, name)
                draft.replace(self._folder / f"{name}.db")
                sync(self._folder)
            finally:
                draft.unlink(missing_ok=True)
        return self.get(name)

    def _write(self, draft: Path, name: str) -> None:
        with self._database.read() as source, closing(connect(draft)) as into:
            if self._may_grow is not None:
                self._may_grow(_bytes(source), makes=False)
            LIBRARY.prepare(into, draft)
            driver(into).execute("BEGIN IMMEDIATE")
            with into.begin():
                for table in _TABLES:
                    for _ in store.copy_table(source, into, table):
                        pass
                values = {
                    "snapshot": name,
                    "taken at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                    "content": content_hash(into),
                }
                values |= {"state": _hash_state(into, _states(into))}
                values |= {key: store.meta(source, key) for key in ("model", "dimension")}
                values |= {"documents": str(store.count(into, documents)), "chunks": str(store.count(into, chunks))}
                store.put(into, about, [{"key": key, "value": value} for key, value in values.items()])

    def _about(self, path: Path) -> Snapshot:
        size = path.stat().st_size
        try:
            with _opened(path) as connection, translate_errors(path):
                values = {row.key: row.value for row in connection.execute(select(about.c.key, about.c.value))}
            return Snapshot(
                name=path.stem,
                taken_at=values["taken at"],
                documents=int(values["documents"]),
                chunks=int(values["chunks"]),
                content=values["content"],
                state=values["state"],
                size=size,
            )
        except (StorageError, KeyError, ValueError):
            return Snapshot(name=path.stem, size=size, problem=_damaged(path.stem).message)

    @contextmanager
    def _opened(self, name: str) -> Iterator[Connection]:
        """A snapshot that was read whole and is as it was written. Raises NotFoundError and StorageError."""
        path = self._path(name)
        with _opened(path) as connection:
            try:
                with translate_errors(path):
                    whole = not store.first_problem(connection)
                    state = _hash_state(connection, _states(connection)) if whole else ""
                    whole = whole and state == store.meta(connection, "state")
            except StorageError as error:
                raise _damaged(name) from error
            if not whole:
                raise _damaged(name)
            yield connection

    def _files(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return [path for path in self._folder.glob("*.db") if _NAME.fullmatch(path.stem) and not path.is_symlink()]

    def _path(self, name: str) -> Path:
        for path in self._files():
            if path.stem == name:
                return path
        raise NotFoundError(f"There is no snapshot {name[:80]} of this library.", "List those that there are.")

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """The right to add, delete and roll back. Drafts of killed programs are removed."""
        with self._translated():
            own_folder(self._folder)
            turn = FileLock(self._folder / ".turn", timeout=_WAIT, mode=0o600, thread_local=False)
            try:
                turn.acquire()
            except Timeout as error:
                raise StorageError(
                    "Another snapshot or rollback of this library is under way.", "Try again when it has ended."
                ) from error
        try:
            for left in self._folder.glob(".*.part*"):
                with suppress(OSError):
                    left.unlink()
            yield
        finally:
            turn.release()

    def _translated(self) -> Any:
        return translate_errors(self._folder)  # beside library.db, so that the library is named


@contextmanager
def _opened(path: Path) -> Iterator[Connection]:
    """Raises StorageError for a file that is no snapshot."""
    with closing(_connect(path)) as connection, read_transaction(connection):
        yield connection


def _connect(path: Path) -> Connection:
    connection = None
    try:
        with translate_errors(path):
            connection = connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
            if not LIBRARY.inspect(driver(connection), path):
                return connection
    except StorageError as error:
        if connection is not None:
            connection.close()
        raise _damaged(path.stem) from error
    connection.close()
    raise _damaged(path.stem)


def _damaged(name: str) -> StorageError:
    return StorageError(
        f"The snapshot {name} is damaged or cut off, or another version made it: it can't be used.",
        "Delete it. The library is as it was.",
    )


def _bytes(connection: Connection) -> int:
    """About how many bytes the documents take."""
    held = connection.scalar(select(func.sum(func.length(files.c.bytes)))) or 0
    each = _CHUNK_BYTES + 4 * int(store.meta(connection, "dimension") or 0)
    return int(held) + each * store.count(connection, chunks)


# ---- comparing -----------------------------------------------------------------------------------------------------


def _states(connection: Connection) -> dict[str, _State]:
    """By document id, in the order they were added."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    cut = select(chunks.c.document, chunks.c.id, chunks.c.text).order_by(chunks.c.id)
    for document, id, text in connection.execute(cut):
        found[document].append(f"{id} {_digest(text)}")
    d = documents.c
    states = {}
    for number, id, name, title, record, given in connection.execute(
        select(d.number, d.id, d.name, d.title, d.record, d.meta).order_by(d.number)
    ):
        fields = json.dumps([name, title, json.loads(record), given], sort_keys=True)
        own = found[number]
        states[id] = _State(number, name, len(own), _digest("\n".join(own)), _digest(fields))
    return states


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _hash_state(connection: Connection, states: Mapping[str, _State]) -> str:
    """Of all that a rollback could lose: documents with their fields, and labels."""
    c = labels.c
    rated = connection.execute(select(c.chunk, c.question, c.label).order_by(c.chunk, c.question))
    listed = [*((id, each.cut, each.fields) for id, each in sorted(states.items())), *map(tuple, rated)]
    return _digest(json.dumps(listed))


def _compare(one: Mapping[str, _State], other: Mapping[str, _State]) -> list[DocumentChange]:
    found = []
    gone: defaultdict[str, list[_State]] = defaultdict(list)
    for id, each in one.items():
        after = other.get(id)
        if after is None:
            gone[each.name].append(each)
        elif after.cut != each.cut:
            found.append(DocumentChange(name=after.name, kind="chunks", before=each.chunks, now=after.chunks))
        elif after.fields != each.fields:
            found.append(DocumentChange(name=after.name, kind="fields", before=each.chunks, now=after.chunks))
    for id, each in other.items():
        if id not in one:
            before = gone[each.name].pop(0).chunks if gone.get(each.name) else None
            kind: Kind = "added" if before is None else "content"
            found.append(DocumentChange(name=each.name, kind=kind, before=before or 0, now=each.chunks))
    left = [each for same in gone.values() for each in same]
    found += [DocumentChange(name=each.name, kind="gone", before=each.chunks, now=0) for each in left]
    return sorted(found, key=lambda each: (each.name.casefold(), each.kind))


# ---- rolling back --------------------------------------------------------------------------------------------------


def _apply(
    connection: Connection, snapshot: Connection, now: Mapping[str, _State], wanted: Mapping[str, _State]
) -> tuple[int, int, int]:
    """In the caller's transaction; how many documents came, went and were described."""
    kept = {id for id, each in now.items() if id in wanted and wanted[id].cut == each.cut}
    for id, each in now.items():
        if id not in kept:
            remove(connection, each.number)
            store.bump(connection, "deleted", each.number)
    described = 0
    for id in kept:
        if now[id].fields != wanted[id].fields:
            row = _document(snapshot, wanted[id].number)
            connection.execute(update(documents).where(documents.c.id == id).values(row))
            store.bump(connection, "described", now[id].number)
            described += 1
    for id, each in wanted.items():
        if id not in kept:
            store.bump(connection, "added", _bring(connection, snapshot, each.number))
    return len(wanted) - len(kept), len(now) - len(kept), described


def _document(snapshot: Connection, number: int) -> dict[str, Any]:
    row = snapshot.execute(select(documents).where(documents.c.number == number)).mappings().one()
    return {name: value for name, value in row.items() if name != "number"}


def _bring(connection: Connection, snapshot: Connection, number: int) -> int:
    """Copy a document with all that hangs on it; its number in the library."""
    content, found = read_content(snapshot, number)
    kept = np.frombuffer(found, "<f4").reshape(len(content["chunks"]), -1)
    added = insert_content(connection, content, kept)
    insert_file(connection, added, snapshot.scalars(select(files.c.bytes).where(files.c.document == number)).one())
    return added
