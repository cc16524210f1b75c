"""The PopQA benchmark's figures as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.pages import figure, share, table
from benchmarks.popqa_figures import FATES

Figures = dict[str, Any]

ABOUT = {
    "given": "A question's internal passages are what was retrieved, as in the paper. They are what the paper's code "
    "had already refined, so plain RAG is given refined text here, a third of what is usually retrieved.",
    "searched": "All questions' internal passages lie in one library, without titles, as the paper's text has none; "
    "the product's search retrieves ten. What belongs to other questions comes along, and may hold an accepted answer "
    "by chance (a country, a sport): plain RAG keeps such text, and counts it.",
    "retrieved": "The 215 questions whose raw retrieved passages are in the data: five each, with their titles, best "
    "first (the data's ranks rise towards the best, as its title labels show).",
}
HEAD = """# PopQA with the paper's knowledge

Made by `python -m benchmarks.popqa`: evaluator files {version}, no language model. 819 long-tail questions with the
internal text and the web passages of the paper's authors. Every question runs through the product's graph under every
strategy; the web finds the question's own passages, whatever the query, so rewriting makes no difference to it.

*Answer kept*: the evidence that a run keeps, documents and web, holds an accepted answer (`crag.analysis.metrics`). It
says
nothing of whether the text means it. *From its own*: the same of the question's own passages and web pages alone; it
differs only where a library holds other questions' passages. *Words*: of the evidence kept. In brackets: 95 %
intervals, by bootstrap over questions.

The questions are halved by a hash of their ids. What was looked into was looked into on *dev*; the *held-out* half was
only ever run as it is reported. The data is marked as test, so no default was chosen by either
half: those rest on [thresholds](thresholds.md). The evaluator was trained on other PopQA questions (none long-tail)."""


def report(results: Mapping[str, Any]) -> str:
    """Markdown: the goals first, then every condition."""
    conditions = results["conditions"]
    parts = [HEAD.format(version=results["version"]), _goals(conditions)]
    for name, found in conditions.items():
        parts += [f"## {name.capitalize()}", ABOUT[name], *_parts(found["parts"])]
    return "\n\n".join(parts) + "\n"


# ---- goals ---------------------------------------------------------------------------------------------------------


def goals(conditions: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Figures, str]]:
    """Condition, half, whom `balanced` is held against, the differences, and the verdict.

    Met: more answers kept, and no more words. A lead whose interval includes zero is said to be perhaps chance.
    """
    for name, found in conditions.items():
        for part, figures in found["parts"].items():
            for other, less in figures["balanced_less"].items():
                answers, words = less["evidence_answer"], less["evidence_words"]
                if answers["value"] <= 0:
                    verdict = "**missed**: not ahead"
                elif words["value"] > 0:
                    verdict = "**missed**: more text"
                else:
                    verdict = "met, perhaps by chance" if answers["includes_zero"] else "met"
                yield name, part, other, less, verdict


def _goals(conditions: Mapping[str, Any]) -> str:
    rows = [
        (
            f"{name}, {part}: against `{other}`",
            _difference(less["evidence_answer"], 100, "points"),
            _difference(less["evidence_words"], 1, "words"),
            _difference(less["searches"], 1, "", 2),
            verdict,
        )
        for name, part, other, less, verdict in goals(conditions)
    ]
    head = ("`balanced`", "answers kept", "words", "searches a question", "verdict")
    text = "The goal: `balanced` ahead of `paper` and of plain RAG on answers kept, at no more text."
    return f"## Goal\n\n{text}\n\n{table(head, rows)}"


def _difference(found: Figures, times: float, unit: str, places: int = 1) -> str:
    if found["value"] is None:
        return "–"
    interval = ""
    if found["low"] is not None:
        interval = f" ({found['low'] * times:+.{places}f} to {found['high'] * times:+.{places}f})"
    return f"{found['value'] * times:+.{places}f} {unit}".rstrip() + interval


# ---- tables --------------------------------------------------------------------------------------------------------


def _parts(parts: Mapping[str, Figures]) -> Iterator[str]:
    for part, figures in parts.items():
        most = figures["ceilings"]
        yield (
            f"**{part.capitalize()}**, {figures['questions']} questions. An accepted answer is in the question's "
            f"internal passages for {share(most['internal'])}, in its web passages for {share(most['web'])}, "
            f"in either for {share(most['either'])}."
        )
        yield _strategies(figures["strategies"])
        yield _fates(figures["strategies"])


def _strategies(strategies: Mapping[str, Figures]) -> str:
    head = (
        *(
            "strategy",
            "answer kept",
            "from its own",
            "words",
            "searches",
            "retries",
            "CORRECT",
            "AMBIGUOUS",
            "INCORRECT",
        ),
        *("answer says it", "abstained"),
    )
    return table(head, [_strategy(name, each) for name, each in strategies.items()])


def _strategy(name: str, found: Figures) -> tuple[str, ...]:
    kept, actions = found["evidence_answer"], found["actions"]
    graded = actions["none"] < 1
    return (
        f"`{name}`",
        f"{figure(kept['value'])} ({figure(kept['low'])}–{figure(kept['high'])})",
        figure(found["own"]),
        figure(found["evidence_words"]["value"], 0),
        figure(found["searches"]["value"], 2),
        figure(found["library_rewrites"]["value"], 2),
        *(share(actions[action]) if graded else "–" for action in ("CORRECT", "AMBIGUOUS", "INCORRECT")),
        figure(found["answer_holds"]["value"]),
        share(found["abstained"]["value"]),
    )


def _fates(strategies: Mapping[str, Figures]) -> str:
    rows = [
        (f"`{name}`", *(share(strategies[name]["fates"][each]) for each in FATES))
        for name in ("balanced", "paper", "plain-rag")
        if name in strategies
    ]
    return f"Where the answer went, of all questions (the first reason that applies):\n\n{table(('', *FATES), rows)}"
