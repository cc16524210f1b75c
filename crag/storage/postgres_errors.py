"""The one place where errors of a PostgreSQL server become ours, each with its cure. No password is in any of them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from crag.core.errors import StorageError

_log = logging.getLogger(__name__)
_ADDRESS = "Check that the server runs and that CRAG_DATABASE_URL names its host, port and database."
_LET_IN = "Check the user, the password and the database in CRAG_DATABASE_URL."
_FREE = "Make room on the database server, then try again; everything already stored is intact."
_BUSY = "Wait until the others are done, then try again."
_RIGHTS = "Ask who runs the database to GRANT CREATE ON DATABASE to the user in CRAG_DATABASE_URL."
_AGAIN = "Try again; what was confirmed is stored, and what was not is absent."
_READ_ONLY = "CRAG_DATABASE_URL must name the server that is written to, not one that follows it."
_DAMAGED = "Restore a backup of the database, or ask who runs it."

# By the class (two characters) or the whole of what PostgreSQL calls SQLSTATE, the whole first.
_CAUSES = {
    "53100": ("has no room left on its disk.", _FREE),
    "53200": ("is out of memory.", _AGAIN),
    "53300": ("takes no more connections.", _BUSY),
    "54": ("can't store as much in one place.", _FREE),
    "55P03": ("keeps the library locked for another program.", _BUSY),
    "25006": ("takes no writes.", _READ_ONLY),
    "42501": ("does not allow it.", _RIGHTS),
    "28": ("did not let the program in.", _LET_IN),
    "3D000": ("has no database of that name.", _LET_IN),
    "40": ("was asked for the same by another program at once.", _AGAIN),
    "57": ("broke off.", _AGAIN),
    "08": ("went away in the middle.", _AGAIN),
    "XX": ("reports damage.", _DAMAGED),
}

# A connection that fails has no SQLSTATE: only the server's own words.
_REFUSALS = {
    "authentication failed": "28",
    "no password supplied": "28",
    "no pg_hba.conf entry": "28",
    "role ": "28",
    "permission denied for database": "28",
    "does not exist": "3D000",
    "too many clients": "53300",
    "remaining connection slots": "53300",
}


@contextmanager
def translate_errors(place: str, password: str) -> Iterator[None]:
    """Raises StorageError, with a remedy for each cause, in place of what the server or its driver raised.

    `place` names the server; `password` is left out of the log, whatever the driver says.
    """
    try:
        yield
    except DBAPIError as error:
        said = str(error.orig or error)
        _log.info("%s: %s", place, said.replace(password, "…") if password else said)
        what, remedy = _cause(error)
        # Not `from error`: the driver's own words may hold what it was given.
        raise StorageError(f"The database server {place} {what}", remedy) from None
    except PoolTimeout as error:
        _log.info("%s: %s", place, error)
        raise StorageError(f"All connections to the database server {place} are in use.", _BUSY) from error


def _cause(error: DBAPIError) -> tuple[str, str]:
    state = str(getattr(error.orig, "sqlstate", None) or "")
    if not state:
        said = str(error.orig)
        state = next((code for words, code in _REFUSALS.items() if words in said), "")
    if found := _CAUSES.get(state) or _CAUSES.get(state[:2]):
        return found
    if error.connection_invalidated:
        return _CAUSES["08"]
    if not state:
        return "can't be reached.", _ADDRESS
    # A constraint that was not met, or a mistake of ours: its name helps who reads the report.
    return f"refused ({state}: {type(error.orig).__name__}).", _AGAIN
