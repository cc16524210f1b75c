"""How much one run, one file, one workspace and all of them may take."""

from __future__ import annotations

from crag.core.config_groups import SettingsGroup
from crag.core.fields import Range, setting


class LimitSettings(SettingsGroup, title="limits"):
    """What one run and one file may take, and how much happens at once."""

    parallel_calls: int = setting(8, "Calls at once", Range(1, 64, step=1))
    """Model calls that run side by side."""
    run_calls: int = setting(150, "Calls in a run", Range(1, 5000, step=10))
    """Outside calls that one question may cost."""
    run_tokens: int = setting(200_000, "Tokens in a run", Range(1000, 10_000_000, step=10_000, unit="tokens"))
    """Tokens, in and out, that one question may cost."""
    run_seconds: int = setting(120, "Seconds in a run", Range(5, 3600, step=10, unit="seconds"))
    """How long one question may wait for outside services in all. Each step before the answer takes at most half of
    what is left."""
    runs_at_once: int = setting(8, "Runs at once", Range(1, 64, step=1))
    """Questions that are answered side by side, of all visitors together. The others wait in a queue and see their
    place in it."""
    readers: int = setting(2, "Files read at once", Range(1, 32, step=1))
    """Files that are read side by side, of all visitors together, each in a process of its own with the memory and time
    below."""
    libraries: int = setting(1_000, "Most libraries", Range(0, 1_000_000, step=100))
    """How many libraries there may be, where each browser has its own. An empty one takes no place. 0: no limit."""
    library_sessions: int = setting(200, "Tabs open in a workspace", Range(0, 100_000, step=10, unit="tabs"))
    """Browser tabs that may be open on one workspace at once, and from one browser. A tab too many says so, and opens
    as soon as another is closed. 0: no limit."""
    all_sessions: int = setting(500, "Tabs open in all", Range(0, 100_000, step=50, unit="tabs"))
    """Browser tabs that one process of the app serves at once. A tab too many says so, and opens as soon as another is
    closed. A tab that lost its connection always comes back. 0: no limit."""
    session_mb: int = setting(500, "Memory of a tab", Range(0, 100_000, step=50, unit="MB"))
    """What one browser tab may hold in the program's memory: files on their way that nobody has read yet, which are
    refused beyond it, and what it looked at last, of which the oldest is dropped. 0: no limit."""
    max_file_mb: int = setting(100, "Largest file", Range(1, 1000, step=10, unit="MB"))
    """Larger files are refused."""
    max_pages: int = setting(2000, "Most pages", Range(1, 20_000, step=100, unit="pages"))
    """Documents with more pages are refused."""
    read_memory_mb: int = setting(1024, "Reader memory", Range(256, 8192, step=128, unit="MB"))
    """Memory the reader of a file may take."""
    read_seconds: int = setting(20, "Reader time", Range(2, 600, step=5, unit="seconds"))
    """Processor seconds the reader of a file may take, plus a tenth of a second a page."""
    recognise_pages: int = setting(500, "Most scanned pages", Range(0, 20_000, step=50, unit="pages"))
    """Pages of a document without text that are read by text recognition, where it is installed. 0: none."""
    recognise_memory_mb: int = setting(2048, "Recognition memory", Range(1024, 8192, step=128, unit="MB"))
    """Memory for text recognition."""
    recognise_seconds: int = setting(60, "Recognition time", Range(5, 600, step=10, unit="seconds"))
    """Processor seconds for a page."""


class QuotaSettings(SettingsGroup, title="quotas"):
    """Six quotas, each for one workspace and for all of them together, and how long an unused workspace stays.

    A quota of 0 is no limit.
    """

    library_documents: int = setting(
        50_000, "Documents in a workspace", Range(0, 10_000_000, step=1_000, unit="documents")
    )
    """A workspace that holds as many takes no more."""
    all_documents: int = setting(0, "Documents in all", Range(0, 100_000_000, step=10_000, unit="documents"))
    """How many documents all workspaces together may hold."""
    library_mb: int = setting(5_000, "Disk of a workspace", Range(0, 10_000_000, step=500, unit="MB"))
    """A workspace that takes as much of the disk takes no more."""
    all_mb: int = setting(50_000, "Disk in all", Range(0, 10_000_000, step=5_000, unit="MB"))
    """What all workspaces together may take of the disk."""
    library_files_hour: int = setting(
        5_000, "Files an hour in a workspace", Range(0, 1_000_000, step=100, unit="files")
    )
    """Files and web pages that may be added to one workspace within an hour."""
    all_files_hour: int = setting(0, "Files an hour in all", Range(0, 10_000_000, step=100, unit="files"))
    """Files and web pages that may be added within an hour, to all workspaces together."""
    library_questions_minute: int = setting(
        600, "Questions a minute in a workspace", Range(0, 1_000_000, step=10, unit="questions")
    )
    """Questions that one workspace may be asked within a minute."""
    all_questions_minute: int = setting(0, "Questions a minute in all", Range(0, 1_000_000, step=10, unit="questions"))
    """Questions that may be asked within a minute, of all workspaces together."""
    library_calls_day: int = setting(
        50_000, "Outside calls a day in a workspace", Range(0, 100_000_000, step=1_000, unit="calls")
    )
    """Calls to outside services that the questions of one workspace may make within a day (UTC). Beyond them the parts
    of this machine answer."""
    all_calls_day: int = setting(0, "Outside calls a day in all", Range(0, 100_000_000, step=1_000, unit="calls"))
    """Calls to outside services within a day (UTC), of all workspaces together."""
    library_dollars_day: float = setting(
        50.0, "Dollars a day in a workspace", Range(0, 1_000_000, step=1.0, unit="$"), allow_inf_nan=False
    )
    """What the outside calls of one workspace may cost within a day (UTC), as far as their prices are known."""
    all_dollars_day: float = setting(
        0.0, "Dollars a day in all", Range(0, 1_000_000, step=1.0, unit="$"), allow_inf_nan=False
    )
    """What outside calls may cost within a day (UTC), of all workspaces together, as far as their prices are known."""
    empty_days: int = setting(1, "Empty workspaces stay", Range(1, 3650, step=1, unit="days"))
    """How long a private workspace that holds nothing is left before it is removed."""
    idle_days: int = setting(0, "Idle workspaces stay", Range(0, 3650, step=30, unit="days"))
    """A private workspace that nobody has used for so long is given an end date, which each of its pages shows; using
    it takes the date away. 0: it stays."""
    warn_days: int = setting(14, "Warning before the end", Range(2, 365, step=1, unit="days"))
    """How far off that end date is at least."""
