"""How much one run, one file and all libraries may take: limits, each a setting of the process."""

from __future__ import annotations

from pydantic import BaseModel

from crag.core.fields import setting

__all__ = ["LimitSettings"]


class LimitSettings(BaseModel):
    """Part of `AppConfig`."""

    parallel_calls: int = setting(
        8, "Calls at once", "Model calls that run side by side.", group="limits", step=1, ge=1, le=64
    )
    run_calls: int = setting(
        150, "Calls in a run", "Outside calls that one question may cost.", group="limits", step=10, ge=1, le=5000
    )
    run_tokens: int = setting(
        200_000,
        "Tokens in a run",
        "Tokens, in and out, that one question may cost.",
        group="limits",
        unit="tokens",
        step=10_000,
        ge=1000,
        le=10_000_000,
    )
    run_seconds: int = setting(
        120,
        "Seconds in a run",
        "How long one question may wait for outside services in all. Each step before the answer takes at most half of "
        "what is left.",
        group="limits",
        unit="seconds",
        step=10,
        ge=5,
        le=3600,
    )
    runs_at_once: int = setting(
        8,
        "Runs at once",
        "Questions that are answered side by side, of all visitors together. The others wait in a queue and see their "
        "place in it.",
        group="limits",
        step=1,
        ge=1,
        le=64,
    )
    readers: int = setting(
        2,
        "Files read at once",
        "Files that are read side by side, of all visitors together, each in a process of its own with the memory and "
        "time below.",
        group="limits",
        step=1,
        ge=1,
        le=32,
    )
    library_mb: int = setting(
        5_000,
        "Largest library",
        "A library that takes as much of the disk takes no more. 0: no limit.",
        group="limits",
        unit="MB",
        step=500,
        ge=0,
        le=10_000_000,
    )
    all_mb: int = setting(
        50_000,
        "All libraries",
        "What all libraries of the data folder together may take of the disk. 0: no limit.",
        group="limits",
        unit="MB",
        step=5_000,
        ge=0,
        le=10_000_000,
    )
    libraries: int = setting(
        1_000,
        "Most libraries",
        "How many libraries there may be, where each browser has its own. An empty one takes no place. 0: no limit.",
        group="limits",
        step=100,
        ge=0,
        le=1_000_000,
    )
    max_file_mb: int = setting(
        100, "Largest file", "Larger files are refused.", group="limits", unit="MB", step=10, ge=1, le=1000
    )
    max_pages: int = setting(
        2000,
        "Most pages",
        "Documents with more pages are refused.",
        group="limits",
        unit="pages",
        step=100,
        ge=1,
        le=20_000,
    )
    read_memory_mb: int = setting(
        1024,
        "Reader memory",
        "Memory the reader of a file may take.",
        group="limits",
        unit="MB",
        step=128,
        ge=256,
        le=8192,
    )
    read_seconds: int = setting(
        20,
        "Reader time",
        "Processor seconds the reader of a file may take, plus a tenth of a second a page.",
        group="limits",
        unit="seconds",
        step=5,
        ge=2,
        le=600,
    )
    recognise_pages: int = setting(
        500,
        "Most scanned pages",
        "Pages of a document without text that are read by text recognition, where it is installed. 0: none.",
        group="limits",
        unit="pages",
        step=50,
        ge=0,
        le=20_000,
    )
    recognise_memory_mb: int = setting(
        2048,
        "Recognition memory",
        "Memory for text recognition.",
        group="limits",
        unit="MB",
        step=128,
        ge=1024,
        le=8192,
    )
    recognise_seconds: int = setting(
        60, "Recognition time", "Processor seconds for a page.", group="limits", unit="seconds", step=10, ge=5, le=600
    )
