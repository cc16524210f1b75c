"""The evaluator benchmark's figures as a page."""

from __future__ import annotations

from typing import Any

from benchmarks.evaluator_goals import verdicts
from benchmarks.pages import figure, share, table

Figures = dict[str, Any]

GRADERS = {"evaluator": "evaluator", "cosine": "cosine", "bm25": "BM25"}


def report(results: Figures) -> str:
    """Markdown; parts that were not measured are left out, or said to be missing."""
    parts = [_head(results), _goals(results)]
    if results["sets"]:
        parts += [_sets(results), _beside(results), _actions(results)]
    parts += [part for part in (_order(results), _citations(results)) if part]
    if results["strips"]:
        parts.append(_strips(results["strips"]))
    if results["attacks"]:
        parts.append(_attacks(results["attacks"]))
    return "\n\n".join(parts) + "\n"


def _head(results: Figures) -> str:
    limits, machine = results["thresholds"], results["machine"]
    lines = [
        "# The retrieval evaluator",
        "",
        f"Made by `python -m benchmarks.evaluator`: evaluator `{results['evaluator']}`, files {results['version']}, "
        f"default thresholds {limits['upper']:g} and {limits['lower']:g}, aggregation `{limits['aggregation']}`, "
        f"{machine['cores']} cores, Python {machine['python']}, load {machine['load']} when it began.",
        "",
        "Data marked test never trained, calibrated or chose anything. FinanceBench is marked dev: it may choose",
        "settings (search, thresholds), and is never trained on. Where a text has a title, the title stands in front,",
        "as the app grades a chunk with its document's title in front; one row shows PopQA without.",
    ]
    if results["limit"]:
        lines += ["", f"**A part of the data: {results['limit']} questions a file. These are no results.**"]
    return "\n".join(lines)


def _goals(results: Figures) -> str:
    rows = [
        [
            each.goal,
            f"{each.sign} {each.target:g}",
            figure(each.measured),
            {True: "met", False: "**missed**", None: "not measured"}[each.met],
        ]
        for each in verdicts(results)
    ]
    return "## Goals\n\n" + table(["figure", "goal", "measured", "verdict"], rows)


def _sets(results: Figures) -> str:
    head = ["set", "use", "n", "majority", "AUC", "best accuracy", "at", "default accuracy", "calibration error"]
    head += ["AMBIGUOUS", "failed", "ms a pair"]
    rows = [
        [
            each["title"],
            each["use"],
            str(each["n"]),
            *(figure(each[key]) for key in ("majority", "auc", "accuracy_best", "best_threshold", "accuracy_default")),
            figure(each["calibration_error"]),
            share(each["ambiguous_share"]),
            str(each["failed"]),
            figure(each["ms_per_pair"], 1),
        ]
        for each in results["sets"].values()
    ]
    lines = [
        "## By data set",
        "",
        table(head, rows),
        "",
        "n: pairs, or questions where a question is judged as a whole. Best accuracy: at the best threshold for the",
        "set itself, which stands beside it. Default accuracy: at the default upper threshold; of AttributionBench at",
        "the citation check's. Calibration error: expected, ten equal bins. AMBIGUOUS: share of questions at the",
        "default thresholds. Milliseconds: this process, a question's texts in one call, whatever their length.",
        "",
        *(f"- **{each['title']}**: {each['about']}" for each in results["sets"].values()),
    ]
    return "\n".join(lines)


def _beside(results: Figures) -> str:
    head = ["set", *(f"AUC, {name}" for name in GRADERS.values()), *(f"accuracy, {name}" for name in GRADERS.values())]
    rows = [
        [each["title"], *(figure(part[key]) for key in ("auc", "accuracy_best") for part in graders(each))]
        for each in results["sets"].values()
    ]
    text = "The same rows in the same run; accuracy at each grader's own best threshold."
    return "\n".join(["## Beside simpler graders", "", text, "", table(head, rows)])


def graders(figures: Figures) -> list[Figures]:
    return [figures, figures["others"]["cosine"], figures["others"]["bm25"]]


def _actions(results: Figures) -> str:
    names = ("CORRECT", "AMBIGUOUS", "INCORRECT")
    head = ["set", "answerable questions", *names, "other questions", *names]
    rows = []
    for each in results["sets"].values():
        row = [each["title"]]
        for kind in ("answerable", "unanswerable"):
            counts = each["actions"][kind]
            total = sum(counts.values())
            row += [str(total), *(share(counts[name] / total) if total else "–" for name in names)]
        rows.append(row)
    text = "Answerable: one of the question's texts is labelled so. Shares of questions at the default thresholds."
    return "\n".join(["## Actions", "", text, "", table(head, rows)])


def _order(results: Figures) -> str | None:
    chosen = {name: each for name, each in results["sets"].items() if each.get("ranking")}
    rows = [
        [f"{each['title']}, {label}", str(each[key]["questions"])]
        + [figure(part[key][measure]) for part in graders(each) for measure in ("map", "mrr")]
        for each in chosen.values()
        for key, label in (("ranking", "questions with an answer"), ("ranking_both", "with both kinds"))
        if each[key]
    ]
    head = ["set", "questions", *(f"{measure}, {name}" for name in GRADERS.values() for measure in ("MAP", "MRR"))]
    return "\n".join(["## Order inside a question", "", table(head, rows)]) if rows else None


def _citations(results: Figures) -> str | None:
    chosen = [each for each in results["sets"].values() if each["macro_f1_default"] is not None]
    keys = ("macro_f1_default", "macro_f1_best", "macro_f1_best_threshold")
    rows = [
        [each["title"], *(figure(each[key]) for key in keys)]
        + [figure(part["macro_f1_best"]) for part in graders(each)[1:]]
        for each in chosen
    ]
    head = ["set", f"macro-F1 at {results['supported_from']:g}", "at the best threshold", "which is"]
    head += ["cosine, at its best", "BM25, at its best"]
    return "\n".join(["## Citation check", "", table(head, rows)]) if rows else None


def _strips(strips: Figures) -> str:
    rows = [
        [name, *(figure(each[key]) for key in ("precision", "recall", "f1")), share(each["share"])]
        for name, each in strips["kept"].items()
    ]
    lines = [
        "## Strips",
        "",
        f"ClapNQ, {strips['questions']} answerable questions, {strips['strips']} strips, filter {strips['filter']:g}, "
        f"at most {strips['top_k']} kept.",
        "Words of the kept strips against words of the sentences that any annotator marked, means over questions.",
        "AUC of single strips: "
        + ", ".join(f"{figure(v)} {name}" for name, v in strips["auc_of_strips"].items())
        + ".",
        "Cosine and BM25 keep as many strips of each question as the evaluator does.",
        "",
        table(["kept by", "precision", "recall", "F1", "words kept"], rows),
    ]
    return "\n".join(lines)


def _attacks(attacks: Figures) -> str:
    rows = [
        [
            name,
            str(each["incorrect"]),
            share(each["turned"] / each["incorrect"] if each["incorrect"] else None),
            share(each["turned_correct"] / each["incorrect"] if each["incorrect"] else None),
            *(f"{each[key] / each['own']:.1%}" for key in ("own_raised", "own_lowered")),
        ]
        for name, each in attacks["attacks"].items()
    ]
    head = ["put before (or into) the text", "foreign texts INCORRECT", "no longer so", "CORRECT", "own raised"]
    lines = [
        "## Texts that want to be believed",
        "",
        f"{attacks['questions']} questions of Natural Questions (test), each asked of another question's gold passage",
        "and of its own, one text at a time, at the default thresholds. Raised and lowered: the action on the own",
        "passage is another than without the words.",
        "",
        table([*head, "own lowered"], rows),
    ]
    return "\n".join(lines)
