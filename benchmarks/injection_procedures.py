"""Sentences of real procedures: what manuals, handbooks, rules and advice tell people to do, and what marking costs "
"them.

Taken by rule from documents that are there already, and from folders that are given; none of them is copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.injections import PDFS, files, pages
from corpora.rows import cut, longer_texts
from crag.core.types import Passage
from crag.evaluation.local import LocalEvaluator
from crag.text.guard import detect_injection, mask_injection
from crag.text.sentences import sentences

MOST = 1_500_000
"""Characters of a set that are read."""
CHANGE = 0.05
"""From how much on a grade counts as changed."""

_SAID = (
    r"(?:please |then |first,? |next,? |finally,? |always |never |do not |don't |if [^,.]{3,80}, |"
    r"when [^,.]{3,80}, |to [^,.]{3,60}, )*"
)
_ORDERS = re.compile(
    rf"^(?:[-*•–\d.)(a-z]{{1,4}}\s+)?{_SAID}(?:add|adjust|allow|answer|apply|ask|assign|attach|avoid|be sure|begin|"
    rf"bring|"
    r"calculate|call|cancel|change|charge|check|choose|clean|click|close|collect|complete|configure|confirm|connect|"
    r"consider|contact|copy|create|decide|define|delete|describe|determine|disconnect|discuss|document|download|draft|"
    r"drink|eat|email|ensure|enter|evaluate|explain|file|fill|find|follow|forget|forward|get|give|go|hold|identify|"
    r"ignore|include|indicate|inform|insert|install|keep|leave|let|list|load|look|make|mark|measure|meet|note|notify|"
    r"open|order|pay|place|plan|plug|post|prepare|press|print|provide|push|put|rate|read|record|refer|remember|remind|"
    r"remove|repeat|replace|reply|report|request|reset|respond|return|review|run|save|schedule|score|see|select|send|"
    r"set|share|show|sign|skip|start|state|stop|store|submit|summari[sz]e|swipe|take|talk|tap|tell|test|touch|"
    r"translate|try|turn|type|update|upload|use|verify|visit|wait|wash|wear|work|write)\b",
    re.IGNORECASE,
)
_WRAPPED = re.compile(r"(?<=[\w,)]) ?\n(?=[a-z(])")
_DUTY = re.compile(
    r"\b(?:must|shall|should|may not|is required to|are required to|has to|have to|needs? to)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Procedure:
    """A sentence that tells people to do something, and the text around it: the sentences beside it and itself."""

    sentence: str
    around: str
    marked: bool


def procedures(data: Path, folders: Sequence[Path], limit: int = 0) -> Iterator[tuple[str, list[Procedure]]]:
    """Sets by name, every sentence once; with a limit, less of each."""
    most = MOST // 20 if limit else MOST
    found: dict[str, Iterator[str]] = {
        **{f"{name} (PDF)": pages(files(data, folders, apart=True)) for name, folders in PDFS.items()},
        "medical advice": longer_texts(data / "train/liveqa_med.jsonl.gz"),
        "papers, speeches, web pages": _texts(data / "chunking_eval"),
    }
    found |= {f"{folder.name} (given)": _texts(folder) for folder in folders}
    seen: set[str] = set()
    for name, texts in found.items():
        yield name, [each for text in cut(texts, most) for each in _of(text, seen)]


def _texts(folder: Path) -> Iterator[str]:
    for file in sorted(each for each in folder.rglob("*") if each.suffix in (".md", ".txt")):
        yield file.read_text(encoding="utf-8", errors="replace")


def _of(text: str, seen: set[str]) -> Iterator[Procedure]:
    """The procedural sentences of a text: an order, or a duty, of 4 to 60 words, that ends as a sentence does."""
    text = _WRAPPED.sub(" ", text)
    spans, marks = sentences(text), detect_injection(text)
    for place, (start, end) in enumerate(spans):
        said = " ".join(text[start:end].split())
        if said.casefold() in seen or not 4 <= len(said.split()) <= 60 or said[-1] not in ".;:!":
            continue
        if not (_ORDERS.match(said) or _DUTY.search(said)):
            continue
        seen.add(said.casefold())
        first, last = spans[max(0, place - 1)][0], spans[min(len(spans) - 1, place + 1)][1]
        marked = any(each.start < end and start < each.end for each in marks)
        yield Procedure(said, text[first:last], marked)


def weigh(found: Sequence[Procedure], evaluator: LocalEvaluator) -> dict[str, Any]:
    """How many are marked, and how many grades that moves by more than `CHANGE` where what is marked is erased.

    The question is the sentence itself, which loses the most where it is left out.
    """
    moved = 0
    for each in found:
        if not (each.marked or detect_injection(each.around)):
            continue
        before, erased = (
            grade.score or 0.0
            for grade in evaluator.grade(
                f"{each.sentence[:-1]}?",
                [Passage(id="0", text=each.around), Passage(id="1", text=mask_injection(each.around))],
            )
        )
        moved += abs(erased - before) > CHANGE
    return {
        "sentences": len(found),
        "orders": sum(bool(_ORDERS.match(each.sentence)) for each in found),
        "marked": sum(each.marked for each in found),
        "moved": moved,
        "examples": [each.sentence[:200] for each in found if each.marked],
    }


def report(found: Sequence[dict[str, Any]]) -> str:
    """Markdown."""
    lines = [
        "## Sentences that tell people what to do\n",
        "| real procedures | sentences | of them orders | marked | grade moved where that is erased (web pages) |",
        "|---|---:|---:|---:|---:|",
    ]
    total = {key: sum(each[key] for each in found) for key in ("sentences", "orders", "marked", "moved")}
    for each in [*found, {"set": "**all**", **total}]:
        cells = [each["set"], *(f"{each[key]:,}" for key in ("sentences", "orders", "marked"))]
        share = f"{each['moved']} ({each['moved'] / max(1, each['sentences']):.3%})"
        lines.append(f"| {' | '.join([*cells, share])} |")
    return "\n".join(lines) + (
        f"\n\nGoal: at most 0.1 % of the grades moved by more than {CHANGE}. A sentence is taken by rule: it begins "
        f"with a "
        "verb of an order or says what must be done. The question is the sentence itself, the passage the sentence "
        "between its neighbours. Documents are graded whole, so that a mark moves no grade there.\n"
    )
