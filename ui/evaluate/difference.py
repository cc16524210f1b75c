"""Differences of two results drawn: the sentences that matter, a plot around zero, the questions that changed. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from crag.metrics.intervals import LEVEL
from crag.metrics.results import Difference
from ui.evaluate.changes import Change
from ui.evaluate.measures import GROUPS, PLOTTED, as_text, label, signed
from ui.evaluate.rows import facts, taken
from ui.kit.safe import text

__all__ = ["intervals", "listed", "sentences"]

_TOLD = ("answer_holds", "evidence_answer", "acted_right", "abstention_right", "faithfulness", "acted_page_recall")
"""What is told in words even where nothing is sure."""
_ALSO = ("evidence_words", "rewrites", "searches", "seconds", "calls", "input_tokens", "output_tokens")
"""What has no place on a scale of shares, and is told in numbers."""


def sentences(found: Mapping[str, Difference], said: tuple[str, str]) -> str:
    """What differs for sure, then what does not, each in a sentence."""
    known = [found[key] for key in _order(found) if found[key].value is not None]
    sure = [each for each in known if each.includes_zero is False]
    unsure = [found[key] for key in _TOLD if key in found and found[key] in known and found[key] not in sure]
    shown = [each.sentence for each in [*sure[:6], *unsure[: max(1, 6 - len(sure))]]]
    shared = _shared_end(shown)
    lead = (
        f"<p><b>{len(sure)} of {len(known)}</b> measures differ between {text(said[0])} and {text(said[1])} with an "
        f"interval that leaves zero out.{text(shared)}</p>"
    )
    body = "".join(f"<li>{text(each.removesuffix(shared))}</li>" for each in shown)
    return f'<div class="cx eval-said">{lead}<ul>{body}</ul></div>'


def _shared_end(sentences: Sequence[str]) -> str:
    """The last sentence of all of them, where it is the same and follows another."""
    ends = {f". {each.rpartition('. ')[2]}"[1:] for each in sentences if ". " in each}
    return ends.pop() if len(ends) == 1 and all(". " in each for each in sentences) else ""


def _order(found: Mapping[str, Difference]) -> list[str]:
    first = [measure.key for group in GROUPS.values() for measure in group if measure.key in found]
    return [*first, *(key for key in found if key.startswith("seconds_"))]


def intervals(found: Mapping[str, Difference], said: tuple[str, str]) -> str:
    """Shares on a scale around zero, then everything else in numbers."""
    shares = [found[key] for key in PLOTTED if key in found and found[key].value is not None]
    ends = [abs(end) for each in shares for end in (each.value, each.low, each.high) if end is not None]
    most = max([0.1, *ends])
    most = next(step for step in (0.1, 0.2, 0.25, 0.5, 1.0) if most <= step + 1e-9)
    plotted = "".join(_line(each, most) for each in shares)
    scale = "".join(f'<i style="left:{50 + 50 * at:.0f}%">{_tick(at * most)}</i>' for at in (-1, -0.5, 0, 0.5, 1))
    plot = (
        f'<p class="figures eval-ways"><span>← higher with <b>{text(said[0])}</b></span>'
        f"<span>higher with <b>{text(said[1])}</b> →</span></p>"
        f'<ul>{plotted}<li class="scale" aria-hidden="true"><span class="name"></span><span class="track zero">{scale}'
        '</span><span class="number"></span></li></ul>'
    )
    legend = f"Second minus first; the lines are {LEVEL} % bootstrap intervals over the questions that tell of both."
    filled = "A filled mark: the interval leaves zero out."
    return (
        f'<div class="cx eval-dots eval-diff">{plot if shares else ""}<p class="legend">{legend} {filled}</p></div>'
        f"{_numbers([found[key] for key in _ALSO if key in found and found[key].value is not None], said)}"
    )


def _tick(value: float) -> str:
    return "0" if value == 0 else f"{'+' if value > 0 else '−'}{abs(value):g}"


def _line(each: Difference, most: float) -> str:
    value = each.value or 0.0
    low, high = (value if end is None else end for end in (each.low, each.high))
    sure = each.includes_zero is False
    at, start, width = (f"{share:.2%}" for share in (_at(value, most), _at(low, most), (high - low) / (2 * most)))
    mark = f'<b style="left:{at}">{"●" if sure else "○"}</b>'
    lane = f'<span class="lane"><i class="span" style="left:{start};width:{width}"></i>{mark}</span>'
    between = f"{signed(each.measure, low)} to {signed(each.measure, high)}" if each.low is not None else "no interval"
    number = f'<b>{signed(each.measure, value)}</b> <span class="small">{between}, n {each.pairs:,}</span>'
    return (
        f'<li class="{"sure" if sure else ""}" title="{text(each.sentence)}"><span class="name">'
        f'{text(label(each.measure))}</span><span class="track zero">{lane}</span>'
        f'<span class="number num">{number}</span></li>'
    )


def _at(value: float, most: float) -> float:
    return 0.5 + value / (2 * most)


def _numbers(rest: Sequence[Difference], said: tuple[str, str]) -> str:
    if not rest:
        return ""
    body = "".join(
        f'<tr><td>{text(label(each.measure))}</td><td class="r">{as_text(each.measure, each.first)}</td>'
        f'<td class="r">{as_text(each.measure, each.second)}</td>'
        f'<td class="r"><b>{signed(each.measure, each.value)}</b></td><td class="r">{_between(each)}</td></tr>'
        for each in rest
    )
    heads = "".join(f'<th class="r">{text(name)}</th>' for name in (*said, "Difference", f"{LEVEL} % interval"))
    return (
        '<div class="cx eval-scroll" tabindex="0" role="region" aria-label="Other differences"><table class="grid '
        f'eval-numbers"><thead><tr><th>A question</th>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _between(each: Difference) -> str:
    if each.low is None or each.high is None:
        return "–"
    return f"{signed(each.measure, each.low)} to {signed(each.measure, each.high)}"


def listed(found: Sequence[Change], said: tuple[str, str], known: Container[str]) -> str:
    """Questions that ended otherwise: what changed, then both rows."""
    items = "".join(_change(change, said, known) for change in found)
    return f'<div class="cx eval-rows eval-changes"><ul>{items}</ul></div>'


def _change(change: Change, said: tuple[str, str], known: Container[str]) -> str:
    tags = "".join(
        f'<span class="tag {_way(better)}">{"✓ " if better else "✕ " if better is False else ""}{text(what)}</span>'
        for what, better in change.what
    )
    pairs = "".join(
        f'<div class="side">{taken(row, known, name)}<span class="facts">{facts(row)}</span></div>'
        for name, row in zip(said, (change.first, change.second), strict=True)
    )
    return f'<li><p class="tags"><b>{text(change.first.question)}</b> {tags}</p>{pairs}</li>'


def _way(better: bool | None) -> str:
    return "none" if better is None else "better" if better else "worse"
