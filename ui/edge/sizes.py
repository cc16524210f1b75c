"""How much a request may bring: small bodies, uploads within Streamlit's limit, all uploads together within ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from starlette.types import Message, Receive

BODY_MB = 1
"""The most that anything but an upload may bring; also what an upload may bring beside its file."""


class TooMuch(Exception):
    """A request is answered with `status` and `line` at once, however much of it is still to come.

    No error of the program, so none of its tree: it never leaves the edge.
    """

    def __init__(self, status: int, line: str) -> None:
        self.status, self.line = status, line
        super().__init__(line)


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
        """So many bytes more have come. Raises TooMuch where they don't fit."""
        self.check(size, session)
        self._coming[session] += size

    def check(self, size: int, session: str = "") -> None:
        """Raises TooMuch where so many bytes more would not fit."""
        own = self._own() if session else 0
        if own and self._stored(session) + self._coming[session] + size > own:
            raise TooMuch(
                413, f"One tab may have {round(own / 2**20):,} MB on the way at once. Add fewer files at a time."
            )
        if self.held + size > self._limit:
            raise TooMuch(503, "The server holds as many uploads as it may. Try again when others have been read.")

    def give_back(self, size: int, session: str = "") -> None:
        """So many bytes are no longer in transit."""
        self._coming[session] -= size
        if self._coming[session] <= 0:
            del self._coming[session]


class Body:
    """One request's body, counted as it comes: what a header says of its size is believed only where it is too much."""

    def __init__(self, limit: int, uploads: Uploads | None = None, session: str = "") -> None:
        """`session`: whose an upload is."""
        self._limit, self._uploads, self._session = limit, uploads, session
        self._come = 0

    def check_length(self, length: str) -> None:
        """Raises TooMuch where the length that a header tells is too much already."""
        if length.isdecimal():
            self._fits(int(length))
            if self._uploads is not None:
                self._uploads.check(int(length), self._session)

    def counted(self, receive: Receive) -> Receive:
        """`receive` that raises TooMuch as soon as too much has come."""

        async def counting() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                size = len(message.get("body", b""))
                self._fits(self._come + size)
                if self._uploads is not None:
                    self._uploads.take(size, self._session)
                self._come += size
            return message

        return counting

    def finish(self) -> None:
        """What has come is no longer in transit: it is kept, or the request has ended, well or badly."""
        if self._uploads is not None:
            self._uploads.give_back(self._come, self._session)
        self._come = 0

    def _fits(self, size: int) -> None:
        if size > self._limit:
            raise TooMuch(413, f"Too large: at most {self._limit // 2**20:,} MB are taken here.")
