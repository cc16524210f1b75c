"""What people put on a PDF's page afterwards: the values and ticks of form fields, typed notes and comments.

PDFium's form environment is made without a JavaScript platform, and no action of the document is called: nothing runs.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pypdfium2.raw as pdfium

from crag.ingest.objects import Box, Space, read_string
from crag.ingest.sections import Block, ComposedPage
from crag.ingest.words import Word, clean_text

_MOST_ANNOTATIONS, _MOST_OPTIONS = 5_000, 1_000
"""Of one page, and of one list of choices."""
_UNSEEN = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
_PASSWORD = 1 << 13
_SILENT = frozenset({pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP})
"""Annotations whose contents nobody wrote as a comment: a popup repeats that of the note that it belongs to."""
_TICKS = frozenset({pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON})
_CHOICES = frozenset({pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX})
_OFF = ("", "Off")
_TICKED = ("[ ]", "[x]")
"""What stands for a box, ticked or not."""
_NAME = re.compile(r"[^\W\d_][^\W_]*(?:[ '-][^\W_]+)*")
"""A field's name that a person would understand, not "f1_01[0]"."""
# Points, and shares of the size of letters.
_SIZE, _INSET = 10.0, 2.0
_WIDTH, _LINE = 0.5, 1.2
_BESIDE, _ABOVE = 250.0, 14.0  # a printed label is no further from its field


@dataclass(frozen=True, slots=True)
class Note:
    """A typed note or a comment with who wrote it, as a paragraph, and its place on the page."""

    text: str
    box: Box


class Form:
    """The form of a document, which PDFium needs to tell what its fields hold."""

    def __init__(self, document: Any) -> None:
        self.handle: Any = None
        if pdfium.FPDF_GetFormType(document) != pdfium.FORMTYPE_NONE:
            self._callbacks = pdfium.FPDF_FORMFILLINFO(version=2)  # PDFium keeps a pointer to it
            self.handle = pdfium.FPDFDOC_InitFormFillEnvironment(document, ctypes.byref(self._callbacks))


def read_annotations(form: Form, page: Any, printed: Sequence[Word]) -> tuple[list[Word], list[Note]]:
    """The words that the fields of a loaded PDFium page show, each at its place, and its notes, in the file's order.

    `printed`: the page's own words, among which a field's label may stand.
    """
    found: list[Word | Note] = []
    count = min(pdfium.FPDFPage_GetAnnotCount(page), _MOST_ANNOTATIONS)
    space = Space(page) if count > 0 else None
    for index in range(count):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if annotation and space is not None:
            try:
                found += _read(form, annotation, space, printed)
            finally:
                pdfium.FPDFPage_CloseAnnot(annotation)
    return [each for each in found if isinstance(each, Word)], [each for each in found if isinstance(each, Note)]


def _read(form: Form, annotation: Any, space: Space, printed: Sequence[Word]) -> Iterator[Word | Note]:
    """What an annotation shows: its words as a field, or what it says as a comment."""
    kind = pdfium.FPDFAnnot_GetSubtype(annotation)
    bounds = pdfium.FS_RECTF()
    if kind in _SILENT or pdfium.FPDFAnnot_GetFlags(annotation) & _UNSEEN:
        return
    if not pdfium.FPDFAnnot_GetRect(annotation, ctypes.byref(bounds)):
        return
    box = space.rect(bounds.left, bounds.bottom, bounds.right, bounds.top)
    if kind == pdfium.FPDF_ANNOT_WIDGET:
        yield from _field_words(form.handle, annotation, box, printed) if form.handle else ()
    elif said := _string(annotation, b"Contents"):
        label = "Note" if kind == pdfium.FPDF_ANNOT_FREETEXT else "Comment"
        author = _string(annotation, b"T")
        yield Note(f"{label} by {author}: {said}" if author else f"{label}: {said}", box)


def place_words(printed: Sequence[Word], filled: Sequence[Word]) -> list[Word]:
    """The words of a page with those of its fields, each behind the last printed word that stands before it.

    What is printed left of a value is its label and ends in a colon, as labels of forms without fields to fill do.
    """
    if not filled:
        return list(printed)
    words, after = list(printed), dict[int, list[Word]]()
    for word in filled:
        line = [at for at, each in enumerate(printed) if _same_line(each.box, word.box) and each.box.x < word.box.left]
        above = [at for at, each in enumerate(printed) if each.box.bottom <= word.box.y]
        last = max(line, key=lambda at: printed[at].box.left) if line else max(above, default=-1)
        after.setdefault(last, []).append(word)
        if line and word.text not in _TICKED and printed[last].text[-1].isalnum():
            words[last] = replace(printed[last], text=f"{printed[last].text}:")
    return [*after.get(-1, ()), *(each for at, word in enumerate(words) for each in (word, *after.get(at, ())))]


def write_notes(page: ComposedPage, notes: Sequence[Note]) -> None:
    """Append the notes to the page's text, a paragraph each."""
    for note in notes:
        start = page.write(Block(text=note.text))
        left, top, right, bottom = (round(value, 2) for value in note.box)
        page.lines.append((start, len(page.text), left, top, right, bottom, 1.0, page.number))
    if notes:
        page.scanned = page.pictured = False


def _field_words(form: Any, annotation: Any, box: Box, printed: Sequence[Word]) -> Iterator[Word]:
    """What a field shows, after its name where no label is printed beside it."""
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    value = read_string(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)
    if kind in _TICKS:
        value = _tick(form, annotation, value)
    elif kind in _CHOICES:
        value = ", ".join(_chosen(form, annotation)) or value
    elif kind != pdfium.FPDF_FORMFIELD_TEXTFIELD or (pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD):
        return
    if value:
        name = "" if _is_labelled(box, printed, ticks=kind in _TICKS) else _name(form, annotation, box, printed)
        yield from _laid(f"{name}: {value}" if name else value, box)


def _tick(form: Any, annotation: Any, value: str) -> str:
    """Whether a box is ticked or a button pressed: as it looks, or, without a look, by the `value` of the field.

    Of a group of buttons without looks the first shows the value: nothing says whose it is.
    """
    if state := _string(annotation, b"AS"):
        return _TICKED[state not in _OFF]
    if pdfium.FPDFAnnot_GetFormControlCount(form, annotation) < 2:
        return _TICKED[value not in _OFF]
    first = pdfium.FPDFAnnot_GetFormControlIndex(form, annotation) == 0
    return value if first and value not in _OFF else _TICKED[False]


def _chosen(form: Any, annotation: Any) -> list[str]:
    """The labels of the chosen options."""
    options = range(min(pdfium.FPDFAnnot_GetOptionCount(form, annotation), _MOST_OPTIONS))
    chosen = [at for at in options if pdfium.FPDFAnnot_IsOptionSelected(form, annotation, at)]
    return [read_string(pdfium.FPDFAnnot_GetOptionLabel, form, annotation, at) for at in chosen]


def _is_labelled(box: Box, printed: Sequence[Word], *, ticks: bool) -> bool:
    """Whether something is printed where a field's label stands: left of it, or on either side of what is ticked."""
    for word in (each.box for each in printed if _same_line(each.box, box)):
        gap = word.left - box.right if word.x > box.x else box.left - word.right
        if gap < _BESIDE and (ticks or word.x < box.left):
            return True
    return False


def _name(form: Any, annotation: Any, box: Box, printed: Sequence[Word]) -> str:
    """What a field is called, unless it stands below those words."""
    above = [each for each in printed if each.box.shared(box) > 0 and -_INSET <= box.top - each.box.bottom <= _ABOVE]
    said = read_string(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation).rstrip(" :")
    if said:
        return "" if said.casefold() in " ".join(each.text for each in above).casefold() else said
    own = read_string(pdfium.FPDFAnnot_GetFormFieldName, form, annotation).rpartition(".")[2]
    return own if not above and _NAME.fullmatch(own) else ""


def _same_line(word: Box, box: Box) -> bool:
    return box.top - _INSET <= word.y <= box.bottom + _INSET


def _laid(text: str, box: Box) -> Iterator[Word]:
    """The words of a text in lines from the top of its field; those of a field of one line in its middle."""
    size = min(_SIZE, max(1.0, box.height - _INSET))
    lines = text.splitlines()
    single = len(lines) == 1 and box.height < 3 * _LINE * size
    top = box.y - size / 2 if single else box.top + _INSET
    for line in lines:
        left = box.left + _INSET
        for piece in [line] if line in _TICKED else line.split():
            clean = clean_text(piece)
            width = _WIDTH * size * len(clean)
            if not single and left + width > box.right and left > box.left + _INSET:
                left, top = box.left + _INSET, top + _LINE * size
            if clean:
                right = min(left + width, max(box.right, left + 1.0)) if single else left + width
                yield Word(clean, Box(left, top, right, top + size), 0, -1, -1)
            left += width + _WIDTH * size
        top += _LINE * size


def _string(annotation: Any, key: bytes) -> str:
    return read_string(pdfium.FPDFAnnot_GetStringValue, annotation, key)
