"""The one error tree. Every message says what failed; every remedy says what the person can do.

CragError
├── InputError             what the person gave can't be used
│   ├── QuestionError      an empty or over-long question
│   ├── DocumentError      a file that can't be read as a document
│   │   ├── NotAPdfError   the bytes are no PDF
│   │   ├── EncryptedError a password is needed
│   │   ├── DamagedError   broken, truncated or hostile: the reader gave up
│   │   ├── EmptyError     no pages, or no text on any page
│   │   └── LimitError     over the limits on size, pages, memory or time
│   └── SettingsError      a setting out of its range or combination
├── LibraryError           the stored library can't do what was asked
│   ├── EmptyLibraryError  a question before any document
│   ├── ModelMismatchError the vectors were made by another embedding model
│   ├── StorageError       disk full, read-only or damaged
│   ├── RoomError          no more may be stored here, by a limit that was set
│   └── NotFoundError      no such document, chunk or run
├── ModelError             an embedded model file is missing or damaged
├── ProviderError          an outside service or a web folder failed
│   ├── KeyRejectedError   no key, or one that the service does not accept
│   ├── UnreachableError   no connection, no reply in time, or cut off in the middle
│   ├── BusyError          too many requests, or the service is overloaded
│   ├── ReplyError         the reply is not what was asked for
│   ├── BudgetError        the run may make no more calls
│   ├── WebSearchError     the web provider failed
│   └── NotApprovedError   the person said no to the query
└── CancelledError         the person stopped the run
"""

from __future__ import annotations

from typing import ClassVar, Literal

__all__ = [
    "BudgetError",
    "BusyError",
    "CancelledError",
    "CragError",
    "DamagedError",
    "DocumentError",
    "EmptyError",
    "EmptyLibraryError",
    "EncryptedError",
    "InputError",
    "KeyRejectedError",
    "LibraryError",
    "LimitError",
    "ModelError",
    "ModelMismatchError",
    "NotAPdfError",
    "NotApprovedError",
    "NotFoundError",
    "ProviderError",
    "QuestionError",
    "Reason",
    "ReplyError",
    "RoomError",
    "SettingsError",
    "StorageError",
    "UnreachableError",
    "WebSearchError",
]


Reason = Literal[
    "input",
    "library",
    "model",
    "provider",
    "key",
    "unreachable",
    "busy",
    "reply",
    "budget",
    "web",
    "not approved",
    "stopped",
    "other",
]
"""What kind of failure it was, for code to go by; each class has one."""


class CragError(Exception):
    """Root of all errors this project raises on purpose.

    `message` says what failed; `remedy` says what to do next. `str()` gives both. `cause` is the message, or what it
    says of `who`, the id of a model, which is named when it is shown.
    """

    default_remedy = "Try again; if it fails the same way, report it with the message above."
    reason: ClassVar[Reason] = "other"

    def __init__(self, cause: str, remedy: str | None = None, *, who: str = "") -> None:
        self.cause, self.who = cause, who
        self.message = f"{who} {cause}" if who else cause
        self.remedy = remedy or self.default_remedy
        super().__init__(f"{self.message} {self.remedy}")


class InputError(CragError):
    """What the person gave can't be used."""

    reason = "input"


class QuestionError(InputError):
    """An empty or over-long question."""

    default_remedy = "Ask a question of 1 to 2,000 characters."


class DocumentError(InputError):
    """A file that can't be read as a document."""

    default_remedy = "Open the file in a PDF viewer to check it, then try another copy."


class NotAPdfError(DocumentError):
    """The bytes are no PDF, whatever the name says."""

    default_remedy = "Export the document as PDF and add that file."


class EncryptedError(DocumentError):
    """The PDF needs a password."""

    default_remedy = "Remove the password (print or export to a new PDF) and add that file."


class DamagedError(DocumentError):
    """Broken, truncated or hostile: the reader gave up or was stopped."""


class EmptyError(DocumentError):
    """No pages, or no text on any page."""

    default_remedy = "If the pages are scans, run text recognition (OCR) first and add the result."


class LimitError(DocumentError):
    """Over the limits on size, pages, memory or time."""

    default_remedy = "Split the document, or raise the limit in Settings."


class SettingsError(InputError):
    """A setting is out of its range, or two settings contradict each other."""

    default_remedy = "Correct the setting named above."


class LibraryError(CragError):
    """The stored library can't do what was asked."""

    reason = "library"


class EmptyLibraryError(LibraryError):
    """A question before any document."""

    default_remedy = "Add a PDF on the Documents page, or load the sample library."


class ModelMismatchError(LibraryError):
    """The stored vectors were made by another embedding model."""

    default_remedy = "Re-index the library (Documents page, or: python -m crag reindex), or go back to that model."


class StorageError(LibraryError):
    """The disk is full, the folder is read-only, or the library file is damaged."""

    default_remedy = "Free disk space, check the folder's permissions, or set CRAG_DATA to another folder."


class RoomError(LibraryError):
    """No more may be stored here: a limit of the program is reached, not one of the disk."""

    default_remedy = "Delete what is no longer needed, or ask who runs this program to raise the limit."


class NotFoundError(LibraryError):
    """No such document, chunk or run."""

    default_remedy = "It may have been deleted: reload the list."


class ModelError(CragError):
    """An embedded model file is missing or damaged."""

    reason = "model"
    default_remedy = "Restore the files under crag/models from the repository."


class ProviderError(CragError):
    """An outside service, or the folder that stands in for one, failed."""

    reason: ClassVar[Reason] = "provider"
    default_remedy = "Check the provider in Settings."


class KeyRejectedError(ProviderError):
    """No key, or one that the service does not accept."""

    reason = "key"
    default_remedy = "Enter a valid key in Settings."


class UnreachableError(ProviderError):
    """No connection, no reply in time, or a reply that was cut off."""

    reason = "unreachable"
    default_remedy = "Check that the server runs and that its address in Settings is right."


class BusyError(ProviderError):
    """Too many requests, no credit left, or the service is overloaded."""

    reason = "busy"
    default_remedy = "Wait a little, or choose another model or provider in Settings."


class ReplyError(ProviderError):
    """The reply is not what was asked for: malformed, out of range, refused or empty."""

    reason = "reply"
    default_remedy = "A larger model may follow the format; choose one in Settings."


class BudgetError(ProviderError):
    """The run may make no more outside calls."""

    reason = "budget"
    default_remedy = "Raise the limits of a run in Settings, or retrieve fewer chunks."


class WebSearchError(ProviderError):
    """The web provider failed."""

    reason = "web"
    default_remedy = "Check the web provider in Settings, or turn it off."


class NotApprovedError(ProviderError):
    """The person said no to the query, so nothing was sent."""

    default_remedy = "Ask again to approve it."
    reason = "not approved"


class CancelledError(CragError):
    """The person stopped the run."""

    reason = "stopped"
    default_remedy = "Ask again when ready."
