"""The page of the faithfulness benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from benchmarks.pages import machine

Figures = Mapping[str, Any]


def report(found: Figures) -> str:
    """All parts that were measured, as Markdown."""
    made = f"{datetime.now(UTC).date()}, {machine()}"
    parts = [f"# Faithfulness\n\n`python -m benchmarks.faithfulness`, {made}."]
    if "bench" in found:
        parts.append(_bench(found["bench"]))
    if "figures" in found:
        parts.append(_figures(found["figures"]))
    parts += [_stripped(name, fates) for name, fates in found.get("stripped", {}).items()]
    return "\n\n".join(parts) + "\n"


def _bench(bench: Figures) -> str:
    sets = list(bench["claims"])
    rows = [[f"{name} ({bench['claims'][name]})" for name in sets]]
    table = [f"| macro-F1 | {' | '.join(rows[0])} |", f"|---|{'---|' * len(sets)}"]
    table += [f"| {judge} | {' | '.join(f'{f1[name]:.3f}' for name in sets)} |" for judge, f1 in bench["f1"].items()]
    notes = [
        f"| {note} | {count} | {supported / count:.0%} |"
        for note, (count, supported) in bench["notes"].items()
        if count
    ]
    moved, right = bench["moved"]
    return "\n".join(
        [
            "## AttributionBench",
            "",
            *table,
            "",
            "The joint check is the app's without a language model: word for word, figures and the local evaluator, at",
            "the thresholds it ships with. Cosine and overlap are given the threshold that is best on the set itself.",
            "The set is marked test: no threshold or rule of joining was chosen on it. But what counts as a figure",
            "that stands was worked out on, among others, half of its supported claims",
            "(`benchmarks.faithfulness_figures`).",
            f"The joint check differs from the local evaluator on {moved} claims; people say it is right on {right}.",
            "",
            "| decided by | claims | supported, say people |",
            "|---|---|---|",
            *notes,
        ]
    )


def _figures(figures: Figures) -> str:
    table = [
        "| set | true sentences | flagged | figures in them | flagged | altered | flagged |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, each in figures.items():
        altered, flagged = sum(each["altered"].values()), sum(each["altered_flagged"].values())
        cells = [
            each["sentences"],
            _share(each["sentences_flagged"], each["sentences"]),
            each["figures"],
            _share(each["figures_flagged"], each["figures"]),
            altered,
            _share(flagged, altered),
        ]
        table.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return "\n".join(
        [
            "## Figures altered by rule",
            "",
            "The half of each set that no rule was made on (`benchmarks.faithfulness_figures`).",
            "",
            *table,
        ]
    )


def _stripped(name: str, fates: Figures) -> str:
    def count(fate: str) -> int:
        return int(fates.get(fate, 0))

    table = [
        "| the citation was | sentences | its own strip again | another strip | nothing shown |",
        "|---|---|---|---|---|",
    ]
    for kind in ("supported", "not supported"):
        counts = [count(f"{kind}: {fate}") for fate in ("own strip", "another strip", "nothing shown")]
        total = sum(counts)
        table.append(f"| {kind} | {total} | {' | '.join(f'{each} ({_share(each, total)})' for each in counts)} |")
    return "\n".join(
        [
            f"## Citations taken away and found again: {name}",
            "",
            f"{count('answers')} answers, {count('no answer')} times none, {count('failed')} failed calls; "
            f"{count('sentences')} sentences. Those that cited, by what the check said of their citation,",
            "and what was found for them once all marks were taken out:",
            "",
            *table,
            "",
            f"Of the sentences that cited nothing by themselves, {count('attributed')} got their source, "
            f"{count('nothing shown')} were flagged, {count('claims nothing')} claim nothing.",
        ]
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "–"
