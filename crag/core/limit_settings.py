"""How much one run, one file, one workspace and all of them may take."""

from __future__ import annotations

from crag.core.config_groups import SettingsGroup
from crag.core.fields import Range, setting


class LimitSettings(SettingsGroup, title="limits"):
    """What one run and one file may take, and how much happens at once."""

    parallel_calls: int = setting(8, "Calls at once", Range(1, 64, step=1))
    """How many model calls run at the same time."""
    run_calls: int = setting(150, "Calls in a run", Range(1, 5000, step=10))
    """How many outside calls one question may make."""
    run_tokens: int = setting(200_000, "Tokens in a run", Range(1000, 10_000_000, step=10_000, unit="tokens"))
    """How many tokens, in and out, one question may use."""
    run_seconds: int = setting(120, "Seconds in a run", Range(5, 3600, step=10, unit="seconds"))
    """How long one question may wait for outside services in total. Each step before the answer gets at most half of
    the time that is left."""
    runs_at_once: int = setting(8, "Runs at once", Range(1, 64, step=1))
    """How many questions are answered at the same time, for all visitors together. Others wait in a queue and see
    their position."""
    readers: int = setting(2, "Files read at once", Range(1, 32, step=1))
    """How many files are read at the same time, for all visitors together, each in its own process with the memory and
    time below."""
    libraries: int = setting(1_000, "Most libraries", Range(0, 1_000_000, step=100))
    """How many libraries there may be if each browser has its own. Empty ones do not count. Set to 0 for no limit."""
    library_sessions: int = setting(200, "Tabs open in a workspace", Range(0, 100_000, step=10, unit="tabs"))
    """How many browser tabs one workspace, and one browser, may have open at once. A further tab opens as soon as
    another is closed. Set to 0 for no limit."""
    all_sessions: int = setting(500, "Tabs open in all", Range(0, 100_000, step=50, unit="tabs"))
    """How many browser tabs one process of the app serves at once. A further tab opens as soon as another is closed. A
    tab that lost its connection always comes back. Set to 0 for no limit."""
    session_mb: int = setting(500, "Memory of a tab", Range(0, 100_000, step=50, unit="MB"))
    """How much memory one browser tab may use in the app: uploads that are not yet read, which are refused beyond it,
    and what it looked at last, of which the oldest is dropped. Set to 0 for no limit."""
    max_file_mb: int = setting(100, "Largest file", Range(1, 1000, step=10, unit="MB"))
    """Larger files are refused."""
    max_pages: int = setting(2000, "Most pages", Range(1, 20_000, step=100, unit="pages"))
    """Documents with more pages are refused."""
    read_memory_mb: int = setting(1024, "Reader memory", Range(256, 8192, step=128, unit="MB"))
    """How much memory reading a file may take."""
    read_seconds: int = setting(20, "Reader time", Range(2, 600, step=5, unit="seconds"))
    """How many processor seconds reading a file may take, plus a tenth of a second per page."""
    recognise_pages: int = setting(500, "Most scanned pages", Range(0, 20_000, step=50, unit="pages"))
    """How many pages without text are read by text recognition, if it is installed. Set to 0 for none."""
    recognise_memory_mb: int = setting(2048, "Recognition memory", Range(1024, 8192, step=128, unit="MB"))
    """How much memory text recognition may take."""
    recognise_seconds: int = setting(60, "Recognition time", Range(5, 600, step=10, unit="seconds"))
    """How many processor seconds text recognition may take for a page."""


class QuotaSettings(SettingsGroup, title="quotas"):
    """Six quotas, each for one workspace and for all of them together, and how long an unused workspace stays.

    A quota of 0 is no limit.
    """

    library_documents: int = setting(
        50_000, "Documents in a workspace", Range(0, 10_000_000, step=1_000, unit="documents")
    )
    """How many documents one workspace may hold."""
    all_documents: int = setting(0, "Documents in all", Range(0, 100_000_000, step=10_000, unit="documents"))
    """How many documents all workspaces together may hold."""
    library_mb: int = setting(5_000, "Disk of a workspace", Range(0, 10_000_000, step=500, unit="MB"))
    """How much disk space one workspace may take."""
    all_mb: int = setting(50_000, "Disk in all", Range(0, 10_000_000, step=5_000, unit="MB"))
    """How much disk space all workspaces together may take."""
    library_files_hour: int = setting(
        5_000, "Files an hour in a workspace", Range(0, 1_000_000, step=100, unit="files")
    )
    """How many files and web pages may be added to one workspace per hour."""
    all_files_hour: int = setting(0, "Files an hour in all", Range(0, 10_000_000, step=100, unit="files"))
    """How many files and web pages may be added per hour to all workspaces together."""
    library_questions_minute: int = setting(
        600, "Questions a minute in a workspace", Range(0, 1_000_000, step=10, unit="questions")
    )
    """How many questions one workspace may ask per minute."""
    all_questions_minute: int = setting(0, "Questions a minute in all", Range(0, 1_000_000, step=10, unit="questions"))
    """How many questions all workspaces together may ask per minute."""
    library_calls_day: int = setting(
        50_000, "Outside calls a day in a workspace", Range(0, 100_000_000, step=1_000, unit="calls")
    )
    """How many outside calls the questions of one workspace may make per day (UTC). Beyond that, local parts answer."""
    all_calls_day: int = setting(0, "Outside calls a day in all", Range(0, 100_000_000, step=1_000, unit="calls"))
    """How many outside calls all workspaces together may make per day (UTC)."""
    library_dollars_day: float = setting(
        50.0, "Dollars a day in a workspace", Range(0, 1_000_000, step=1.0, unit="$"), allow_inf_nan=False
    )
    """How much the outside calls of one workspace may cost per day (UTC), as far as prices are known."""
    all_dollars_day: float = setting(
        0.0, "Dollars a day in all", Range(0, 1_000_000, step=1.0, unit="$"), allow_inf_nan=False
    )
    """How much the outside calls of all workspaces together may cost per day (UTC), as far as prices are known."""
    empty_days: int = setting(1, "Empty workspaces stay", Range(1, 3650, step=1, unit="days"))
    """After how many days an empty private workspace is removed."""
    idle_days: int = setting(0, "Idle workspaces stay", Range(0, 3650, step=30, unit="days"))
    """After how many days without use a private workspace gets an end date, which each of its pages shows. Using it
    cancels the date. Set to 0 to keep it."""
    warn_days: int = setting(14, "Warning before the end", Range(2, 365, step=1, unit="days"))
    """How many days that end date is ahead at least."""
