"""An answer, and a whole conversation, as Markdown with footnotes: for a note, a mail, a wiki."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

from crag.core.trace import Trace
from crag.core.types import Answer, Chunk, Citation, Strip, WebPage
from crag.export.html.safe_text import INVISIBLE, link, visible
from crag.export.quoted_rows import QuotedRows, find_rows
from crag.generation.citations import MARK, locate_checks
from crag.generation.places import Place
from crag.messages.answers import (
    brief_text,
    conflict_sentences,
    ending_sentence,
    flag_text,
    footnote_notes,
    marks_text,
    nearest_sentence,
    origin_text,
    state_text,
)
from crag.messages.wording import (
    context_text,
    failure_sentence,
    outcome_sentence,
    scope_text,
    weighed_sentence,
)
from crag.text.addresses import ADDRESS, JOINER, UNFINISHED, break_addresses


def handed_over(trace: Trace) -> list[tuple[Chunk | WebPage, str]]:
    """The sources whose strips a run handed over, in their order, each with the kept words; what lies between two
    strips that do not stand together is written as " … ". Empty of a run that wrote an answer, or did not end well.
    """
    sources, kept = trace.sources, dict[str, tuple[Strip, ...]]()
    for strip in trace.kept() if trace.handed_over else ():
        kept[strip.source_id] = (*kept.get(strip.source_id, ()), strip)
    return [(sources[id], Place(strips, sources).text) for id, strips in kept.items() if id in sources]


_MARKUP = re.compile(r"([\\`*_{}\[\]<>|~&$^#])")
_LEADING = re.compile(r"^(\d{1,9}(?=[.)](?:\s|$))|)([-+=:]|(?<=\d)[.)])")
"""What begins a list, a rule, a heading or a definition at the start of a line."""
_URL_SAFE = "!#$%&'()*+,-./:;=?@_~"


def escape_markdown(text: str) -> str:
    """Any text as one line of Markdown in which nothing is markup, and no reader finds a link."""
    line = " ".join(visible(text).split())
    line = break_addresses(_MARKUP.sub(r"\\\1", line))
    return _LEADING.sub(r"\1\\\2", line)


def turn(trace: Trace, label: str = "") -> str:
    """A run's question and answer with a footnote for each source, ended by a line break.

    `label` stands before the footnotes' numbers, so that those of several runs stay apart.
    """
    blocks = [f"## {escape_markdown(trace.question)}", *_about(trace), *_answer(trace, label)]
    state = trace.answer and f"{state_text(trace)}."
    said = (nearest_sentence(trace), state, outcome_sentence(trace), weighed_sentence(trace))
    blocks += [f"*{escape_markdown(each)}*" for each in said if each]
    if trace.answer and trace.answer.citations:
        blocks.append("\n".join(_footnote(citation, label) for citation in trace.answer.citations))
    return "\n\n".join(blocks) + "\n"


def conversation(traces: Iterable[Trace]) -> str:
    """Several runs one after another under one heading, each with footnotes of its own."""
    turns = [turn(trace, f"{number}-") for number, trace in enumerate(traces, 1)]
    return "\n".join(["# Conversation\n", *turns])


def _about(trace: Trace) -> list[str]:
    """How the question came in, what was asked in its place, and of what."""
    asked = [f"Asked {escape_markdown(said)}"] if (said := origin_text(trace.via, trace.client)) else []
    if trace.context and trace.standalone:
        label, words = context_text(trace.context)
        asked.append(f"{label}: {escape_markdown(words)}")
    return asked + ([f"Asked of: {escape_markdown(scope_text(trace.scope))}"] if trace.scope else [])


def _answer(trace: Trace, label: str) -> list[str]:
    answer = trace.answer
    if answer is None:
        return [f"*{escape_markdown(ending_sentence(trace))}*", *_handed(trace)]
    known = {citation.number for citation in answer.citations}
    marks = "".join(f"[^{label}{each}]" for each in dict.fromkeys(each.citation for each in answer.places))
    blocks = [f"**{escape_markdown(brief_text(answer))}**{marks}"] if answer.places else []
    against = [_link_footnotes(said, known, label) for said in conflict_sentences(answer)]
    return [*filter(None, [*blocks, _paragraphs(trace, answer, known, label), *against])]


def _handed(trace: Trace) -> list[str]:
    """The evidence as a list, source by source; nothing of none."""
    lines = []
    for source, said in handed_over(trace):
        if isinstance(source, WebPage):
            parts = [f"**web** {escape_markdown(source.title)}".rstrip(), _address(source.url)]
        else:
            parts = [escape_markdown(each) for each in (source.source, source.where) if each]
        lines.append(f"- {', '.join(parts)}: “{escape_markdown(said)}”")
    return ["\n".join(lines)] if lines else []


def _paragraphs(trace: Trace, answer: Answer, known: set[int], label: str) -> str:
    """The answer's text: what is wrong with a sentence is said behind it, each mark is a footnote, rows are tables."""
    whole = INVISIBLE.sub(" ", answer.text)
    edits = [(each.start, each.end, f"\n\n{_table(each, answer, label)}\n\n") for each in find_rows(trace)]
    for _, end, check in locate_checks(whole, trace.checks):
        if flag := flag_text(check, known):
            edits.append((end, end, f" *({escape_markdown(flag)})*"))
    pieces, at = [], 0
    for start, end, said in sorted(edits):
        if start >= at:
            pieces += [_lines(whole[at:start], known, label), said]
            at = end
    return _BLANK.sub("\n\n", "".join([*pieces, _lines(whole[at:], known, label)])).strip()


_BREAK = re.compile(r"(\n\s*)")
_BLANK = re.compile(r"\n{3,}")


def _lines(text: str, known: set[int], label: str) -> str:
    """Text whose marks are footnotes, each line and each paragraph one of its own."""
    first, *rest = _BREAK.split(text)
    made = [_link_footnotes(first, known, label)]
    for broken, line in zip(rest[::2], rest[1::2], strict=True):
        made[-1] = made[-1].rstrip()
        made += ["\n\n" if broken.count("\n") > 1 else "  \n", _link_footnotes(line, known, label).lstrip()]
    return "".join(made)


def _table(found: QuotedRows, answer: Answer, label: str) -> str:
    """Quoted rows as a table with their columns' names, the cells that answer bold; the first row has the footnote."""
    lines = [[found.about, *found.names], ["---", *("---:" for _ in found.names)]]
    mark = f"[^{label}{found.citation.number}]"
    for name, cells in found.lines(answer):
        drawn = [f"**{escape_markdown(cell)}**" if answers else escape_markdown(cell) for cell, answers in cells]
        lines.append([f"{escape_markdown(name)}{mark}", *drawn])
        mark = ""
    lines[0] = [escape_markdown(each) for each in lines[0]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _link_footnotes(text: str, known: set[int], label: str) -> str:
    """Text whose marks are footnotes; a number that stands for no source stays text."""
    made, at = [], 0
    for mark in MARK.finditer(text):
        made.append(_escape_keeping_space(text[at : mark.start()]).rstrip())
        for number in map(int, re.findall(r"\d+", mark.group())):
            made.append(f"[^{label}{number}]" if number in known else f" \\[{number}\\]")
        at = mark.end()
    return "".join([*made, _escape_keeping_space(text[at:])])


def _escape_keeping_space(text: str) -> str:
    """Escaped, with the white space at its ends kept as one blank."""
    said = escape_markdown(text)
    before, after = text[:1].isspace(), text[-1:].isspace()
    return f"{' ' * before}{said}{' ' * after}" if said else " " * bool(text)


def _footnote(citation: Citation, label: str) -> str:
    """Where it stands, the words quoted, and the address of a web source."""
    return f"[^{label}{citation.number}]: {place(citation)}: “{escape_markdown(citation.quote)}”"


def place(citation: Citation) -> str:
    """Where what is cited stands, on one line: file and page, or a page of the web, marked as one, and its address."""
    web = citation.origin == "external" or bool(citation.from_web)
    source = ", ".join(filter(None, (escape_markdown(citation.source), escape_markdown(citation.where))))
    parts = [f"**web** {source}" if citation.origin == "external" else source]
    if web and citation.url:
        parts.append(_address(citation.url))
    parts += [escape_markdown(note) for note in footnote_notes(citation)]
    return ", ".join(parts)


def _address(url: str) -> str:
    """A plain http or https address as a link that says itself; any other as text."""
    if (plain := link(url)) is None:
        return escape_markdown(url)
    return f"<{quote(plain.encode('utf-8', 'replace').decode(), safe=_URL_SAFE)}>"


_RULE = "\n\n---\n\n"
"""Stands between an answer and its footnotes."""
_OPENED = re.compile(r"\*\*((?:\\.|[^*\\\n])+)\*\* (?:\[\d+\])+\n\n")
_ESCAPED = re.compile(rf"\\(?=[^\w\s])|{JOINER}")


_ACTIVE = re.compile(rf"(?<=\])(?=[(:])|(?<=<)(?=[^\W\d_]|[/!?])|{ADDRESS}", re.IGNORECASE)
_LOOKS_BACK = len("www")


class Harmless:
    """Text, piece by piece, in which Markdown finds no link, picture or element. Where it is cut makes no difference.

    A backslash parts the characters that would begin one, and word joiners those of a bare address; all else stays as
    it is, marks like [1] too.
    """

    def __init__(self) -> None:
        self._before = self._held = ""

    def __call__(self, piece: str, *, last: bool = False) -> str:
        """The next piece. What may be part of an address waits for the next one, unless this is the `last`."""
        text = self._held + visible(piece)
        open_ = None if last else UNFINISHED.search(text)
        ready = text[: open_.start()] if open_ else text
        self._held = text[len(ready) :]
        whole, at, made = self._before + ready, len(self._before), list[str]()
        for found in _ACTIVE.finditer(whole, at):
            made += [whole[at : found.start()], f"{JOINER}{found[0]}{JOINER}" if found[0] else "\\"]
            at = found.end()
        self._before = whole[-_LOOKS_BACK:]
        return "".join([*made, whole[at:]])


def opening(answer: Answer) -> str:
    """The few words that answer, which stand before the quotes that they are in; empty where there are none."""
    marks = "".join(f"[{each}]" for each in dict.fromkeys(each.citation for each in answer.places))
    return f"**{escape_markdown(brief_text(answer))}** {marks}\n\n" if answer.places else ""


def closing(trace: Trace) -> str:
    """What stands under an answer: its sources by their numbers, and what is doubtful of it. Empty for neither."""
    answer = trace.answer
    if answer is None:
        return ""
    lines = [f"[{each.number}] {place(each)}" for each in answer.citations]
    lines += [f"*{escape_markdown(said)}*" for said in doubt_sentences(trace)]
    return _RULE + "  \n".join(lines) if lines else ""


def extract_answer(message: str) -> str:
    """What a message that a chat sends back answers: the few words that it opens with, or all without its footnotes."""
    opened = _OPENED.match(message)
    said = opened.group(1) if opened else message.partition(_RULE)[0]
    return " ".join(MARK.sub("", _ESCAPED.sub("", said)).split())


def doubt_sentences(trace: Trace) -> list[str]:
    """What is doubtful of a run's answer, for who reads it as text."""
    answer = trace.answer
    if answer is None:
        return []
    said = [failure_sentence(each) for each in trace.failures if each.instead == "quotes"]
    state = f"{state_text(trace)}." if answer.state == "check" else ""
    said += filter(None, (nearest_sentence(trace), state))
    known = {each.number for each in answer.citations}
    for check in trace.checks:
        if flag := flag_text(check, known) or marks_text(check):
            said.append(f"{flag[0].upper()}{flag[1:]}: {check.sentence}")
    return [*said, *conflict_sentences(answer)]
