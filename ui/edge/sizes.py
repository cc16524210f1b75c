"""How much a request may bring: small bodies, uploads within Streamlit's limit, all uploads together within ours."""

from __future__ import annotations

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
    """All that visitors have sent and that nobody has read yet: in transit, or kept by Streamlit (`stored`)."""

    def __init__(self, limit: int, stored: Callable[[], int]) -> None:
        self._limit, self._stored = limit, stored
        self._coming = 0

    @property
    def held(self) -> int:
        """Bytes that are in transit or kept."""
        return self._stored() + self._coming

    def take(self, size: int) -> None:
        """So many bytes more have come. Raises TooMuch where they don't fit."""
        self.check(size)
        self._coming += size

    def check(self, size: int) -> None:
        """Raises TooMuch where so many bytes more would not fit."""
        if self.held + size > self._limit:
            raise TooMuch(503, "The server holds as many uploads as it may. Try again when others have been read.")

    def give_back(self, size: int) -> None:
        """So many bytes are no longer in transit."""
        self._coming -= size


class Body:
    """One request's body, counted as it comes: what a header says of its size is believed only where it is too much."""

    def __init__(self, limit: int, uploads: Uploads | None = None) -> None:
        self._limit, self._uploads = limit, uploads
        self._come = 0

    def check_length(self, length: str) -> None:
        """Raises TooMuch where the length that a header tells is too much already."""
        if length.isdecimal():
            self._fits(int(length))
            if self._uploads is not None:
                self._uploads.check(int(length))

    def counted(self, receive: Receive) -> Receive:
        """`receive` that raises TooMuch as soon as too much has come."""

        async def counting() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                size = len(message.get("body", b""))
                self._fits(self._come + size)
                if self._uploads is not None:
                    self._uploads.take(size)
                self._come += size
            return message

        return counting

    def finish(self) -> None:
        """The request has ended, well or badly."""
        if self._uploads is not None:
            self._uploads.give_back(self._come)

    def _fits(self, size: int) -> None:
        if size > self._limit:
            raise TooMuch(413, f"Too large: at most {self._limit // 2**20:,} MB are taken here.")
