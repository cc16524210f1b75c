"""The one error tree. Every message says what failed; every remedy says what the person can do.

CragError
├── InputError             what the person gave can't be used
│   ├── QuestionError      an empty or over-long question
│   ├── DocumentError      a file that can't be read as a document
│   │   ├── UnknownMediaError  the bytes are nothing that is read here
│   │   ├── EncryptedError a password is needed
│   │   ├── DamagedError   broken, truncated or hostile: the reader gave up
│   │   ├── EmptyError     no pages, or no text on any page
│   │   ├── LimitError     over the limits on size, pages, memory or time
│   │   └── PageError      a web address whose page can't be had
│   │       ├── GoneError  the server says that there is no such page
│   │       └── SignInError  only those who sign in see it
│   ├── FilterError        a filter over documents' fields that can't be read, or asks for what there is not
│   └── SettingsError      a setting out of its range or combination
├── LibraryError           the stored library can't do what was asked
│   ├── EmptyLibraryError  a question before any document
│   ├── ModelMismatchError the vectors were made by another embedding model
│   ├── StorageError       disk full, read-only or damaged
│   ├── IndexUnavailableError  the chunk index can't be reached or read
│   ├── RoomError          no more may be stored here, by a limit that was set
│   └── NotFoundError      no such document, chunk or run
├── ModelError             an embedded model file is missing or damaged
├── ProviderError          an outside service or a web folder failed
│   ├── KeyRejectedError   no key, or one that the service does not accept
│   ├── UnreachableError   no connection, no reply in time, or cut off in the middle
│   ├── BusyError          too many requests, or the service is overloaded
│   ├── ReplyError         the reply is not what was asked for
│   ├── BudgetError        the run may make no more calls
│   │   └── DayLimitError  the day's limit of dollars is reached
│   ├── CircuitOpenError   it failed in several runs, and is left alone for a while
│   ├── ModelFileError     a model file of this machine can't be run
│   ├── RetrieverError     a retriever or vector store of another program failed
│   ├── WebSearchError     the web provider failed
│   └── NotApprovedError   the person said no to the query
├── AccessError            who asks may not do or see this
├── QuotaError             more was asked than may be in a minute
├── UnexpectedError        a part of a run raised what it must not
├── CutOffError            the program ended in the middle of the run
└── CancelledError         the person stopped the run
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar, Literal

PROGRAM = "crag" if Path((sys.argv or [""])[0]).stem == "crag" else "python -m crag"
"""How the person called the command line, for what names a command of it."""

Reason = Literal[
    "input",
    "library",
    "model",
    "provider",
    "key",
    "unreachable",
    "resting",
    "busy",
    "reply",
    "budget",
    "limit",
    "web",
    "not approved",
    "stopped",
    "cut off",
    "other",
]
"""What kind of failure it was, for code to go by; each class has one."""


class CragError(Exception):
    """Root of all errors this project raises on purpose.

    `message` says what failed; `remedy` says what to do next. `str()` gives both. `cause` is the message, or what it
    says of `who`, the id of a model, which is named when it is shown.
    """

    default_remedy: ClassVar[str] = "Try again; if it fails the same way, report it with the message above."
    reason: ClassVar[Reason] = "other"

    def __init_subclass__(cls, reason: Reason | None = None, remedy: str = "", **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.reason, cls.default_remedy = reason or cls.reason, remedy or cls.default_remedy

    def __init__(self, cause: str, remedy: str | None = None, *, who: str = "") -> None:
        self.cause, self.who = cause, who
        self.message = f"{who} {cause}" if who else cause
        self.remedy = remedy or self.default_remedy
        super().__init__(f"{self.message} {self.remedy}")


class InputError(CragError, reason="input"):
    """What the person gave can't be used."""


class QuestionError(InputError, remedy="Ask a question of 1 to 2,000 characters."):
    """An empty or over-long question."""


class DocumentError(InputError, remedy="Open the file in its own program to check it, then try another copy."):
    """A file that can't be read as a document."""


class UnknownMediaError(DocumentError, remedy="Save the document as PDF, DOCX or text, and add that file."):
    """The bytes are nothing that is read here, whatever the name says."""


class EncryptedError(DocumentError, remedy="Remove the password (save a copy without one) and add that file."):
    """The file needs a password."""


class DamagedError(DocumentError):
    """Broken, truncated or hostile: the reader gave up or was stopped."""


class EmptyError(DocumentError, remedy="Open the file in its own program to check it, and add a copy that shows text."):
    """No pages, or no text on any page."""


class LimitError(DocumentError, remedy="Split the document, or raise the limit in Settings."):
    """Over the limits on size, pages, memory or time."""


class PageError(DocumentError, remedy="Open the address in a browser to check it."):
    """A web address whose page can't be had as a document."""


class GoneError(PageError):
    """The server says that there is no such page, or none any more."""


class SignInError(PageError, remedy="Sign in with a browser, save the page or print it to PDF, and add that file."):
    """Only those who sign in see the page."""


class FilterError(InputError, remedy='Write it like {"date": {">=": "2024"}}, or as conditions like date >= 2024.'):
    """A filter over documents' fields can't be read, or asks for what no document has."""


class SettingsError(InputError, remedy="Correct the setting named above."):
    """A setting is out of its range, or two settings contradict each other."""


class LibraryError(CragError, reason="library"):
    """The stored library can't do what was asked."""


class EmptyLibraryError(
    LibraryError, remedy=f"Add files (Documents page, or: {PROGRAM} index FILE), or load the sample library."
):
    """A question before any document."""


class ModelMismatchError(
    LibraryError, remedy=f"Re-index the library (Documents page, or: {PROGRAM} reindex), or go back to that model."
):
    """The stored vectors were made by another embedding model."""


class StorageError(
    LibraryError, remedy="Free disk space, check the folder's permissions, or set CRAG_DATA to another folder."
):
    """The disk is full, the folder is read-only, or the library file is damaged."""


class IndexUnavailableError(LibraryError, remedy="Try again later; everything stored is intact."):
    """The chunk index can't be reached or read. It is a cache: nothing of the library is lost with it."""


class RoomError(
    LibraryError,
    reason="limit",
    remedy="Delete what is no longer needed, or ask your administrator to raise the limit.",
):
    """No more may be stored here: a limit of the program is reached, not one of the disk."""


class NotFoundError(LibraryError, remedy="It may have been deleted: reload the list."):
    """No such document, chunk or run."""


class ModelError(CragError, reason="model", remedy="Restore the files under crag/models from the repository."):
    """An embedded model file is missing or damaged."""


class ProviderError(CragError, reason="provider", remedy="Check the provider in Settings."):
    """An outside service, or the folder that stands in for one, failed."""


class KeyRejectedError(ProviderError, reason="key", remedy="Enter a valid key in Settings."):
    """No key, or one that the service does not accept."""


class UnreachableError(
    ProviderError, reason="unreachable", remedy="Check that the server runs and that its address in Settings is right."
):
    """No connection, no reply in time, or a reply that was cut off."""


class BusyError(ProviderError, reason="busy", remedy="Wait a little, or choose another model or provider in Settings."):
    """Too many requests, no credit left, or the service is overloaded."""


class ReplyError(ProviderError, reason="reply", remedy="A larger model may follow the format; choose one in Settings."):
    """The reply is not what was asked for: malformed, out of range, refused or empty."""


class BudgetError(
    ProviderError, reason="budget", remedy="Raise the limits of a run in Settings, or retrieve fewer chunks."
):
    """The run may make no more outside calls."""


class DayLimitError(BudgetError, reason="limit"):
    """The day's limit of dollars for outside calls is reached."""


class CircuitOpenError(
    ProviderError, reason="resting", remedy="Nothing needs to be done: it is asked again by itself."
):
    """A service failed in one run after another, so it is left alone for a while instead of being waited for."""


class ModelFileError(ProviderError, remedy="Choose another model file in Settings."):
    """A model file of this machine can't be loaded."""


class RetrieverError(ProviderError, remedy="Check that it can be reached and takes the filter it is given."):
    """A retriever or vector store of another program, searched in place of the library, failed."""


class WebSearchError(ProviderError, reason="web", remedy="Check the web provider in Settings, or turn it off."):
    """The web provider failed."""


class NotApprovedError(ProviderError, reason="not approved", remedy="Ask again to approve it."):
    """The person said no to the query, so nothing was sent."""


class AccessError(CragError, remedy="Ask your administrator for the role that may."):
    """Who asks may not do this, or see it."""


class QuotaError(CragError, reason="limit", remedy="Try again later, or ask your administrator to raise the limit."):
    """More was asked than may be in a minute. `retry_after`: seconds until one may ask again."""

    def __init__(self, cause: str, remedy: str | None = None, *, retry_after: int) -> None:
        super().__init__(cause, remedy)
        self.retry_after = retry_after


class CancelledError(CragError, reason="stopped", remedy="Ask again when ready."):
    """The person stopped the run."""


class UnexpectedError(CragError, remedy="The log has the details. Ask again; if it fails the same way, report it."):
    """A part of a run raised what it must not: a defect of this program, or of a part that was given to it."""


class CutOffError(CragError, reason="cut off", remedy="Ask again; nothing that was stored before is lost."):
    """The program ended, or was ended, in the middle of the run."""
