"""What is remarked of an answer's figures, and of sources that do not agree, as words: for screen, shell and export."""

from __future__ import annotations

from collections.abc import Sequence

from crag.core.types import Disagreement, FigureCheck, SentenceCheck

__all__ = ["disagreement_sentence", "figure_sentence", "figures_sentences", "remarkable"]


def remarkable(checks: Sequence[SentenceCheck]) -> list[FigureCheck]:
    """The figures of all sentences that do not simply stand in what is cited, in order."""
    return [figure for check in checks for figure in check.figures if figure.state != "stands"]


def figure_sentence(figure: FigureCheck) -> str:
    """That a figure stands nowhere, or how it is worked out; empty where it stands. Without the full stop."""
    if figure.state == "missing":
        said = f"“{figure.text}”" if figure.kind == "name" else figure.text
        return f"{said} does not stand in the source"
    return f"computed: {figure.how} = {figure.text}" if figure.state == "computed" else ""


def figures_sentences(checks: Sequence[SentenceCheck]) -> list[str]:
    """What is remarked of each figure, each once."""
    return list(dict.fromkeys(figure_sentence(figure) for figure in remarkable(checks)))


def disagreement_sentence(disagreement: Disagreement) -> str:
    """That sources disagree, each value with its citation, and which is newer, where all say how old they are."""
    said = [f"{each.value} [{each.citation}]" for each in disagreement.values]
    listed = f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else "".join(said)
    return f"The sources disagree on “{disagreement.subject}”: {listed}.{_newest(disagreement)}"


def _newest(disagreement: Disagreement) -> str:
    """Which value is of the newest source. Dates are compared as far as all of them are known."""
    dates = [each.dated for each in disagreement.values]
    exact = min(map(len, dates), default=0)
    known = sorted({date[:exact] for date in dates})
    if not exact or len(known) < 2:
        return ""
    newest = [each for each in disagreement.values if each.dated[:exact] == known[-1]]
    said = ", ".join(f"[{each.citation}]" for each in newest)
    return f" {said} is newer ({newest[0].dated})." if len(newest) == 1 else f" {said} are newer ({newest[0].dated})."
