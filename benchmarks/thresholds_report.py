"""The threshold sweep's figures as a page."""

from __future__ import annotations

from typing import Any

from benchmarks.pages import figure, share, table
from benchmarks.thresholds_sweep import COLLAPSE, LIKELY

Figures = dict[str, Any]

ACTIONS = ("CORRECT", "AMBIGUOUS", "INCORRECT")


def report(results: Figures) -> str:
    """Markdown."""
    parts = [_head(results), _worths(results), _grid(results)]
    parts += [_named(results, name) for name in results["named"]]
    parts += [_calibration(results), _filter(results), _top_k(results), _floor(results)]
    return "\n\n".join(parts) + "\n"


def _head(results: Figures) -> str:
    best, defaults = results["best"], results["named"]["defaults"]
    lines = [
        "# Thresholds",
        "",
        f"Made by `python -m benchmarks.thresholds`: evaluator `{results['evaluator']}`, files {results['version']}.",
        "",
        "Only data that may choose settings, and none that the evaluator was fitted on. Worth of an action: 1 if it",
        "is the right one (CORRECT where a retrieved text answers, INCORRECT where none does),",
        f"{results['ambiguous_worth']:g} if it is AMBIGUOUS, 0 if it is the wrong one, less what its web search costs",
        "(INCORRECT 0.1, AMBIGUOUS 0.15). Mean over questions, then over sets, each of equal weight. A score under the",
        f"lower threshold by no more than {results['ambiguity_margin']:g} is acted on as AMBIGUOUS, and counts so.",
        "",
        f"**Best pair: upper {best['upper']:g}, lower {best['lower']:g}**, worth "
        f"{figure(results['named']['best']['utility'])}; the defaults "
        f"({defaults['upper']:g}, {defaults['lower']:g}) are worth {figure(defaults['utility'])}.",
        "",
        table(
            ["set", "questions", "answerable", "counts"],
            [
                [title, str(each["questions"]), str(each["answerable"]), "yes" if each["counts"] else "no"]
                for title, each in results["sets"].items()
            ],
        ),
        "",
        *(f"- **{title}**: {each['about']}" for title, each in results["sets"].items()),
    ]
    if results["limit"]:
        lines += ["", f"**A part of the data: {results['limit']} questions a set. These are no results.**"]
    return "\n".join(lines)


def _worths(results: Figures) -> str:
    rows = [
        [
            figure(row["worth"], 2),
            *(figure(row[key]) for key in ("upper", "lower", "utility")),
            share(row["most_ambiguous"]),
            *(figure((row["sound"] or {}).get(key)) for key in ("upper", "lower", "utility")),
        ]
        for row in results["by_worth"]
    ]
    lines = [
        "## What AMBIGUOUS is worth decides the band",
        "",
        "With a calibrated score p, CORRECT is worth p, INCORRECT 0.9 − p and AMBIGUOUS its worth − 0.15. The better",
        "of the first two is never under 0.45: at a worth of 0.6 or less AMBIGUOUS never pays and the thresholds meet;",
        "above, the band it earns runs from 1.05 − worth to worth − 0.15.",
        f"The last three columns: the best pair fit for defaults, with CORRECT only from {LIKELY} and under "
        f"{100 * COLLAPSE:.0f} %",
        "AMBIGUOUS on every set.",
        "",
        table(
            [
                *("worth of AMBIGUOUS", "best upper", "best lower", "utility", "most AMBIGUOUS on a set"),
                *("fit: upper", "fit: lower", "fit: utility"),
            ],
            rows,
        ),
    ]
    return "\n".join(lines)


def _grid(results: Figures) -> str:
    found = {(round(each["upper"], 3), round(each["lower"], 3)): each["utility"] for each in results["grid"]}
    steps = [step / 10 for step in range(1, 10)]
    rows = [
        [f"upper {upper:g}", *(figure(found.get((upper, lower))) for lower in [0.0, *steps])]
        for upper in [*steps, 0.96]
    ]
    head = ["", *(f"lower {lower:g}" for lower in [0.0, *steps])]
    return "\n".join(["## Mean worth", "", table(head, rows)])


def _named(results: Figures, name: str) -> str:
    each = results["named"][name]
    rows = [
        [
            title,
            *_shares(one["answerable"]),
            *_shares(one["unanswerable"]),
            share(one["ambiguous"]),
            figure(one["utility"]),
        ]
        for title, one in each["sets"].items()
    ]
    head = ["set", *(f"answerable: {action}" for action in ACTIONS), *(f"others: {action}" for action in ACTIONS)]
    lines = [
        f"## Actions: {name} ({each['upper']:g} / {each['lower']:g})",
        "",
        f"Mean worth {figure(each['utility'])}.",
        "",
        table([*head, "AMBIGUOUS of all", "worth"], rows),
    ]
    return "\n".join(lines)


def _shares(counts: dict[str, int]) -> list[str]:
    total = sum(counts.values())
    return [share(counts[action] / total) if total else "–" for action in ACTIONS]


def _calibration(results: Figures) -> str:
    sets = {title: each["by_best_score"] for title, each in results["sets"].items() if each["counts"]}
    rows = [
        [f"{place / 10:.1f} to {(place + 1) / 10:.1f}"]
        + [f"{bins[place][1]} of {bins[place][0]}" if bins[place][0] else "–" for bins in sets.values()]
        for place in range(10)
    ]
    text = "How many questions are answerable, by the best score of their texts."
    return "\n".join(["## Best score and answerable", "", text, "", table(["best score", *sets], rows)])


def _filter(results: Figures) -> str:
    keys = ("recall", "questions", "text_kept", "other_text_kept")
    rows = [[figure(row["filter"], 2), *(share(row[key]) for key in keys)] for row in results["strip_filter"]["rows"]]
    lines = [
        "## Strip filter",
        "",
        f"The default is {results['strip_filter']['default']:g}. NQ, TriviaQA and multi-hop QA, without a limit on how",
        "many strips are kept; means over the sets. An answer strip holds an accepted answer as whole words, in a text",
        "that is marked to hold one. Questions: those that keep at least one such strip, of those that have one.",
        "",
        table(["filter", "answer strips kept", "questions", "text kept, answering texts", "text kept, others"], rows),
    ]
    return "\n".join(lines)


def _top_k(results: Figures) -> str:
    rows = [
        [str(row["top_k"] or "all"), share(row["questions"]), figure(row["strips"], 1), share(row["text_kept"])]
        for row in results["strip_top_k"]["rows"]
    ]
    lines = [
        "## Strips kept",
        "",
        f"The default is {results['strip_top_k']['default']}. The same sets, all texts of a question together as in",
        f"the app, with the filter at {results['strip_filter']['default']:g}.",
        "",
        table(["at most", "questions that keep an answer strip", "strips kept", "text kept"], rows),
    ]
    return "\n".join(lines)


def _floor(results: Figures) -> str:
    rows = results["min_answer_score"]["rows"]
    titles = list(rows[0]["sets"])
    shown = [
        [figure(row["floor"], 2)]
        + [
            f"{share(row['sets'][title]['answerable'])} / {share(row['sets'][title]['unanswerable'])}"
            for title in titles
        ]
        for row in rows
    ]
    lines = [
        "## Minimum answer score",
        "",
        f"The default is {results['min_answer_score']['default']:g}. Share of questions whose best strip lies under",
        "it, so that the answer would be that the documents do not say: of answerable questions / of the others.",
        "",
        table(["floor", *titles], shown),
    ]
    return "\n".join(lines)
