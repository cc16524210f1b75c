"""What is remarked of an answer's figures, and of sources that do not agree, as words: for screen, shell and export."""

from __future__ import annotations

from collections.abc import Sequence

from crag.core.types import Disagreement, FigureCheck, SentenceCheck

__all__ = ["disagreement_parts", "disagreement_sentence", "figure_sentence", "figures_sentences", "remarkable"]


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
    return "".join(f" [{part}]" if isinstance(part, int) else part for part in disagreement_parts(disagreement))


def disagreement_parts(disagreement: Disagreement) -> list[str | int]:
    """The same in parts: words, and the numbers of citations."""
    values = disagreement.values
    parts: list[str | int] = [f"The sources disagree on “{disagreement.subject}”: "]
    for place, each in enumerate(values):
        before = "" if not place else " and " if place == len(values) - 1 else ", "
        parts += [f"{before}{each.value}", each.citation]
    return [*parts, ".", *_newest(disagreement)]


def _newest(disagreement: Disagreement) -> list[str | int]:
    """Which value is of the newest source. Dates are compared as far as all of them are known."""
    exact = min((len(each.dated) for each in disagreement.values), default=0)
    known = sorted({each.dated[:exact] for each in disagreement.values})
    if not exact or len(known) < 2:
        return []
    newest = [each for each in disagreement.values if each.dated[:exact] == known[-1]]
    return [*(each.citation for each in newest), f" {'is' if len(newest) == 1 else 'are'} newer ({newest[0].dated})."]
