"""How much one run, one file, one workspace and all of them may take."""

from __future__ import annotations

from crag.core.config_groups import SettingsGroup
from crag.core.fields import Range, setting


class LimitSettings(SettingsGroup, title="limits"):
    """What one run and one file may take, and how much happens at once."""

    parallel_calls: int = setting(8, "Calls at once", "Model calls that run side by side.", Range(1, 64, step=1))
    run_calls: int = setting(
        150, "Calls in a run", "Outside calls that one question may cost.", Range(1, 5000, step=10)
    )
    run_tokens: int = setting(
        200_000,
        "Tokens in a run",
        "Tokens, in and out, that one question may cost.",
        Range(1000, 10_000_000, step=10_000, unit="tokens"),
    )
    run_seconds: int = setting(
        120,
        "Seconds in a run",
        "How long one question may wait for outside services in all. Each step before the answer takes at most half of "
        "what is left.",
        Range(5, 3600, step=10, unit="seconds"),
    )
    runs_at_once: int = setting(
        8,
        "Runs at once",
        "Questions that are answered side by side, of all visitors together. The others wait in a queue and see their "
        "place in it.",
        Range(1, 64, step=1),
    )
    readers: int = setting(
        2,
        "Files read at once",
        "Files that are read side by side, of all visitors together, each in a process of its own with the memory and "
        "time below.",
        Range(1, 32, step=1),
    )
    libraries: int = setting(
        1_000,
        "Most libraries",
        "How many libraries there may be, where each browser has its own. An empty one takes no place. 0: no limit.",
        Range(0, 1_000_000, step=100),
    )
    library_sessions: int = setting(
        200,
        "Tabs open in a workspace",
        "Browser tabs that may be open on one workspace at once, and from one browser. A tab too many says so, and "
        "opens as soon as another is closed. 0: no limit.",
        Range(0, 100_000, step=10, unit="tabs"),
    )
    all_sessions: int = setting(
        500,
        "Tabs open in all",
        "Browser tabs that one process of the app serves at once. A tab too many says so, and opens as "
        "soon as another is closed. A tab that lost its connection always comes back. 0: no limit.",
        Range(0, 100_000, step=50, unit="tabs"),
    )
    session_mb: int = setting(
        500,
        "Memory of a tab",
        "What one browser tab may hold in the program's memory: files on their way that nobody has read yet, which are "
        "refused beyond it, and what it looked at last, of which the oldest is dropped. 0: no limit.",
        Range(0, 100_000, step=50, unit="MB"),
    )
    max_file_mb: int = setting(100, "Largest file", "Larger files are refused.", Range(1, 1000, step=10, unit="MB"))
    max_pages: int = setting(
        2000, "Most pages", "Documents with more pages are refused.", Range(1, 20_000, step=100, unit="pages")
    )
    read_memory_mb: int = setting(
        1024, "Reader memory", "Memory the reader of a file may take.", Range(256, 8192, step=128, unit="MB")
    )
    read_seconds: int = setting(
        20,
        "Reader time",
        "Processor seconds the reader of a file may take, plus a tenth of a second a page.",
        Range(2, 600, step=5, unit="seconds"),
    )
    recognise_pages: int = setting(
        500,
        "Most scanned pages",
        "Pages of a document without text that are read by text recognition, where it is installed. 0: none.",
        Range(0, 20_000, step=50, unit="pages"),
    )
    recognise_memory_mb: int = setting(
        2048, "Recognition memory", "Memory for text recognition.", Range(1024, 8192, step=128, unit="MB")
    )
    recognise_seconds: int = setting(
        60, "Recognition time", "Processor seconds for a page.", Range(5, 600, step=10, unit="seconds")
    )


class QuotaSettings(SettingsGroup, title="quotas"):
    """Six quotas, each for one workspace and for all of them together, and how long an unused workspace stays.

    A quota of 0 is no limit.
    """

    library_documents: int = setting(
        50_000,
        "Documents in a workspace",
        "A workspace that holds as many takes no more.",
        Range(0, 10_000_000, step=1_000, unit="documents"),
    )
    all_documents: int = setting(
        0,
        "Documents in all",
        "How many documents all workspaces together may hold.",
        Range(0, 100_000_000, step=10_000, unit="documents"),
    )
    library_mb: int = setting(
        5_000,
        "Disk of a workspace",
        "A workspace that takes as much of the disk takes no more.",
        Range(0, 10_000_000, step=500, unit="MB"),
    )
    all_mb: int = setting(
        50_000,
        "Disk in all",
        "What all workspaces together may take of the disk.",
        Range(0, 10_000_000, step=5_000, unit="MB"),
    )
    library_files_hour: int = setting(
        5_000,
        "Files an hour in a workspace",
        "Files and web pages that may be added to one workspace within an hour.",
        Range(0, 1_000_000, step=100, unit="files"),
    )
    all_files_hour: int = setting(
        0,
        "Files an hour in all",
        "Files and web pages that may be added within an hour, to all workspaces together.",
        Range(0, 10_000_000, step=100, unit="files"),
    )
    library_questions_minute: int = setting(
        600,
        "Questions a minute in a workspace",
        "Questions that one workspace may be asked within a minute.",
        Range(0, 1_000_000, step=10, unit="questions"),
    )
    all_questions_minute: int = setting(
        0,
        "Questions a minute in all",
        "Questions that may be asked within a minute, of all workspaces together.",
        Range(0, 1_000_000, step=10, unit="questions"),
    )
    library_calls_day: int = setting(
        50_000,
        "Outside calls a day in a workspace",
        "Calls to outside services that the questions of one workspace may make within a day (UTC). Beyond them the "
        "parts of this machine answer.",
        Range(0, 100_000_000, step=1_000, unit="calls"),
    )
    all_calls_day: int = setting(
        0,
        "Outside calls a day in all",
        "Calls to outside services within a day (UTC), of all workspaces together.",
        Range(0, 100_000_000, step=1_000, unit="calls"),
    )
    library_dollars_day: float = setting(
        50.0,
        "Dollars a day in a workspace",
        "What the outside calls of one workspace may cost within a day (UTC), as far as their prices are known.",
        Range(0, 1_000_000, step=1.0, unit="$"),
        allow_inf_nan=False,
    )
    all_dollars_day: float = setting(
        0.0,
        "Dollars a day in all",
        "What outside calls may cost within a day (UTC), of all workspaces together, as far as their prices are known.",
        Range(0, 1_000_000, step=1.0, unit="$"),
        allow_inf_nan=False,
    )
    empty_days: int = setting(
        1,
        "Empty workspaces stay",
        "How long a private workspace that holds nothing is left before it is removed.",
        Range(1, 3650, step=1, unit="days"),
    )
    idle_days: int = setting(
        0,
        "Idle workspaces stay",
        "A private workspace that nobody has used for so long is given an end date, which each of its pages shows; "
        "using it takes the date away. 0: it stays.",
        Range(0, 3650, step=30, unit="days"),
    )
    warn_days: int = setting(
        14, "Warning before the end", "How far off that end date is at least.", Range(2, 365, step=1, unit="days")
    )
