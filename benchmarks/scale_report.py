"""The page of benchmarks.scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

OURS = "embedded"
LARGE = 1_000_000
Row = Mapping[str, Any]

COLUMNS: dict[str, Callable[[Row], str]] = {
    "search p50": lambda row: _time(row["search"]["p50"]),
    "p95": lambda row: _time(row["search"]["p95"]),
    "processor p50": lambda row: _time(row["search"]["processor p50"]),
    "recall@10": lambda row: f"{row['search']['recall']:.3f}",
    "add and find": lambda row: _time(row["add"]["seconds"]),
    "open to first": lambda row: _time(row["search"]["open"]),
    "memory loaded": lambda row: f"{row['search']['memory']['loaded']:,.0f} MB",
    "of it not files": lambda row: f"{row['search']['memory']['anonymous']:,.0f} MB",
    "peak searching": lambda row: f"{row['search']['memory']['peak']:,.0f} MB",
    "peak adding": lambda row: f"{row['add']['memory']['peak']:,.0f} MB",
    "disk": lambda row: f"{row['disk']:,.0f} MB",
    "build": lambda row: _time(row["build"]["seconds"]),
    "load": lambda row: f"{row['search']['load']}",
}


def report(results: Mapping[str, Any]) -> str:
    """The results as Markdown."""
    rows = results["rows"]
    whole = [row for row in rows if "failed" not in row]
    machine = results["machine"]
    lines = [
        "# Scale",
        "",
        f"Made by `python -m benchmarks.scale`{'' if results['whole'] else ' (a part of it)'}: "
        f"{results['questions']} real questions on made chunks, {machine['cores']} cores ({machine['processor']}), "
        f"Python {machine['python']}. Load of the machine when it began "
        f"{machine['load_before'][0]}, when it ended {machine['load_after'][0]} (which is also the benchmark's own); "
        "in the table, before the searches of that row.",
        "",
        "A search asks an index for 400 candidates by vector and by words, embedding the question aside; the whole",
        "library also ranks them and reads ten. Recall@10: the share of the ten chunks of the highest cosine that are",
        "among what a search brings. Add and find: a document of 1,000 chunks, embedding aside, to the first search",
        "that finds it. Memory is all of the process that is resident, memory-mapped files counted, with Python and",
        f"its libraries ({_before(whole)} before anything is opened): loaded after the first search, not files after",
        "the last. Opening is without the start of Python, and with the files in the system's memory. Building is",
        "without the making of the chunks.",
        "",
        *_verdict_lines(whole),
    ]
    for size in sorted({row["size"] for row in rows}):
        lines += ["", f"## {size:,} chunks", "", *_table([row for row in rows if row["size"] == size])]
    lines += ["", *_ratios(whole), *_likeness(results["chunks"])]
    return "\n".join(lines) + "\n"


def verdicts(rows: Sequence[Row]) -> list[tuple[str, str, bool]]:
    """Goal, figure, and whether it is met, of the embedded index; nothing where its figures are not all there."""
    ours = {row["size"]: row for row in rows if row["side"] == OURS}
    if LARGE not in ours:
        return []
    search, add = ours[LARGE]["search"], ours[LARGE]["add"]
    peak = max(search["memory"]["peak"], add["memory"]["peak"])
    return [
        ("search p50 at most 15 ms", _time(search["p50"]), search["p50"] <= 0.015),
        ("search p95 at most 25 ms", _time(search["p95"]), search["p95"] <= 0.025),
        ("recall@10 at least 0.98", f"{search['recall']:.3f}", search["recall"] >= 0.98),
        ("add 1,000 chunks and find them within 1.5 s", _time(add["seconds"]), add["seconds"] <= 1.5),
        ("memory at most 1.1 GB, searching and adding", f"{peak:,.0f} MB", peak <= 1126),
        ("open to the first search at most 5 s", _time(search["open"]), search["open"] <= 5),
    ]


def _verdict_lines(rows: Sequence[Row]) -> list[str]:
    found = verdicts(rows)
    if not found:
        return ["The goals are for the embedded index at 1,000,000 chunks, which is not among what was measured."]
    return [
        "| goal at 1,000,000 chunks, the embedded index | measured | |",
        "|---|---|---|",
        *(f"| {goal} | {figure} | {'met' if met else 'missed'} |" for goal, figure, met in found),
    ]


def _table(rows: Sequence[Row]) -> list[str]:
    lines = [f"| | {' | '.join(COLUMNS)} |", f"|---|{'---:|' * len(COLUMNS)}"]
    for row in rows:
        cells = [f"failed: {row['failed']}"] if "failed" in row else [cell(row) for cell in COLUMNS.values()]
        lines.append(f"| {row['label']} | {' | '.join(cells)} |")
    return lines


def _ratios(rows: Sequence[Row]) -> list[str]:
    """The largest size of each side against its smallest."""
    lines = []
    for side in dict.fromkeys(row["side"] for row in rows):
        own = sorted((row for row in rows if row["side"] == side), key=lambda row: row["size"])
        small, large = own[0], own[-1]
        if small is large:
            continue
        parts = (
            large["search"]["p50"] / small["search"]["p50"],
            large["search"]["p95"] / small["search"]["p95"],
            large["add"]["seconds"] / small["add"]["seconds"],
            large["search"]["open"] / small["search"]["open"],
        )
        cells = " | ".join(f"{part:.1f}" for part in parts)
        lines.append(f"| {large['label']} | {large['size']:,} : {small['size']:,} | {cells} |")
    if not lines:
        return []
    head = [
        "## How it grows",
        "",
        "| | chunks | search p50 | p95 | add and find | open |",
        "|---|---|---:|---:|---:|---:|",
    ]
    return [*head, *lines, ""]


def _likeness(chunks: Mapping[str, Any]) -> list[str]:
    lines = [
        "## The chunks",
        "",
        f"Made of {chunks['real']:,} real chunks of {chunks['documents']} documents, embedded with {chunks['model']}.",
        f"Cosines at {chunks['real']:,} chunks each, with the nearest, the tenth and the hundredth; the median, and in",
        "brackets the percentiles 10 and 90. Real chunks are not among the made ones.",
        "",
        "| | chunk to chunk: 1 | 10 | 100 | question to chunk: 1 | 10 | 100 |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, found in chunks["nearness"].items():
        cells = [f"{mid:.2f} ({low:.2f}–{high:.2f})" for part in found.values() for low, mid, high in part]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    words = chunks["words"]
    heads = list(words["real"])
    lines += ["", f"| | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    lines += [f"| {name} | {' | '.join(f'{found[head]:,}' for head in heads)} |" for name, found in words.items()]
    return lines


def _before(rows: Sequence[Row]) -> str:
    return f"{max((row['search']['memory']['before'] for row in rows), default=0):,.0f} MB"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
