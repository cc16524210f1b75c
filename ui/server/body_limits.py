"""How much a request may bring: small bodies, uploads within Streamlit's limit, all uploads together within ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from crag.runtime.slow_clients import RefusedError

BODY_MB = 1
"""The most that anything but an upload may bring; also what an upload may bring beside its file."""


class Uploads:
    """All that visitors have sent and that nobody has read yet: in transit, or kept by Streamlit (`stored`).

    `stored` is asked by session, with "" for all of them; `own` says how much one session may hold, 0 for no limit.
    """

    def __init__(self, limit: int, stored: Callable[[str], int], own: Callable[[], int] = lambda: 0) -> None:
        self._limit, self._stored, self._own = limit, stored, own
        self._coming: Counter[str] = Counter()

    @property
    def held(self) -> int:
        """Bytes that are in transit or kept."""
        return self._stored("") + self._coming.total()

    def take(self, size: int, session: str = "") -> None:
        """Count `size` more bytes that have come. Raises RefusedError where they don't fit."""
        self.check(size, session)
        self._coming[session] += size

    def check(self, size: int, session: str = "") -> None:
        """Raises RefusedError where `size` more bytes do not fit."""
        own = self._own() if session else 0
        if own and self._stored(session) + self._coming[session] + size > own:
            cause = f"One tab may upload {round(own / 2**20):,} MB at once."
            raise RefusedError(413, "too_large", cause, "Add fewer files at a time.")
        if self.held + size > self._limit:
            cause = "The server's upload space is full."
            raise RefusedError(503, "busy", cause, "Try again in a moment.")

    def give_back(self, size: int, session: str = "") -> None:
        """So many bytes are no longer in transit."""
        self._coming[session] -= size
        if self._coming[session] <= 0:
            del self._coming[session]


class Body:
    """One request's body, counted among the uploads as it comes if it is one."""

    def __init__(self, uploads: Uploads | None = None, session: str = "") -> None:
        """`session`: whose an upload is."""
        self._uploads, self._session = uploads, session
        self._come = 0

    @property
    def size(self) -> int:
        """Bytes that have come so far and are in transit."""
        return self._come

    def announce(self, length: str) -> None:
        """Raises RefusedError where a length that a header gives would not fit."""
        if self._uploads is not None and length.isdecimal():
            self._uploads.check(int(length[:20]), self._session)

    def hold(self, size: int) -> bool:
        """Count `size` more bytes that have come. Raises RefusedError where they don't fit."""
        if self._uploads is not None:
            self._uploads.take(size, self._session)
            self._come += size
        return True

    def finish(self) -> None:
        """What has come is no longer in transit: it is kept, or the request has ended, well or badly."""
        if self._uploads is not None:
            self._uploads.give_back(self._come, self._session)
        self._come = 0
