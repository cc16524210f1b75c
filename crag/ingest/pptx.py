"""PowerPoint presentations: a page a slide, as it is shown: titles, text, tables, the figures of charts, notes."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from pptx.package import Package
from pptx.shapes.graphfrm import GraphicFrame
from pptx.shapes.group import GroupShape

from crag.ingest.drawings import POINTS, read_drawing
from crag.ingest.files import check_container, in_common_form, translate_errors
from crag.ingest.grid import GridCell
from crag.ingest.properties import office_properties, parse
from crag.ingest.sections import Block, ComposedPage, messages, write_table

_HIDDEN = ("1", "true")
_DRAWN = ".//c:chart/@r:id | .//*[local-name()='relIds']/@r:dm"


def read(data: bytes, job: dict[str, Any]) -> Iterator[dict[str, Any] | ComposedPage]:
    """A page a slide that is shown, and one for its notes. Raises FileError."""
    names, notes = check_container(data, job)
    with translate_errors():
        data = in_common_form(data)
        package = Package.open(BytesIO(data))
        presentation = package.main_document_part.presentation
        size = (presentation.slide_width or 0, presentation.slide_height or 0)
        pages: list[ComposedPage] = []
        hidden = 0
        for number, slide in enumerate(presentation.slides, 1):
            if slide._element.get("show") in ("0", "false"):
                hidden += 1
                continue
            page = ComposedPage(len(pages) + 1, 0.0, 0.0, place=f"slide {number}")
            for block in _shapes(slide.shapes, size, page, slide.shapes.title):
                if block.text.strip():
                    page.write(block)
            pages.append(page)
            spoken = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
            if spoken is not None and spoken.text.strip():
                pages.append(ComposedPage(len(pages) + 1, 0.0, 0.0, place=f"notes of slide {number}"))
                pages[-1].write(Block(text=_clean(spoken.text)))
        if about := office_properties(data):
            about["slides"] = str(len(presentation.slides))
        comments = sum(name.startswith("ppt/comments/") for name in names)
        pages = pages if any(page.text or page.unseen for page in pages) else []
        notes |= {"hidden slides": hidden, "comments": comments}
    yield from messages(pages, job, about.get("title", ""), notes, properties=about)


def _shapes(shapes: Any, size: tuple[int, int], page: ComposedPage, title: Any) -> Iterator[Block]:
    """The title, then what stands on the slide from top to bottom. What lies beside it or is hidden is counted."""
    ordered = sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0))
    if title is not None:
        yield Block(text=_clean(title.text), heading=True)
    for shape in ordered:
        if title is not None and shape.shape_id == title.shape_id:
            continue
        unseen = _hidden(shape) or _beside(shape, size)
        for block in _shape(shape, size, page):
            if unseen:
                page.unseen += len(block.text.split())
            else:
                yield block


def _shape(shape: Any, size: tuple[int, int], page: ComposedPage) -> Iterator[Block]:
    if isinstance(shape, GroupShape):
        # Within a group, places are the group's own: only the whole group can lie beside the slide.
        yield from _shapes(shape.shapes, (0, 0), page, None)
    elif getattr(shape, "has_table", False):
        yield from write_table(_cells(shape.table))
    elif isinstance(shape, GraphicFrame):
        for name in shape._element.xpath(_DRAWN):
            yield from read_drawing(parse(shape.part.related_part(name).blob))
    elif shape.has_text_frame:
        points = ((each, _clean(each.text)) for each in shape.text_frame.paragraphs)
        lines = [f"{POINTS[min(each.level, len(POINTS) - 1)]}{text}" if text else "" for each, text in points]
        yield Block(text="\n".join(lines).strip())


def _cells(table: Any) -> Iterator[GridCell]:
    for row, each in enumerate(table.rows):
        for column, cell in enumerate(each.cells):
            if not cell.is_spanned:
                yield GridCell(
                    row=row,
                    column=column,
                    text=_clean(cell.text),
                    rows=cell.span_height if cell.is_merge_origin else 1,
                    columns=cell.span_width if cell.is_merge_origin else 1,
                    header=True if table.first_row and not row else None,
                )


def _hidden(shape: Any) -> bool:
    return any(each in _HIDDEN for each in shape._element.xpath("./*/p:cNvPr/@hidden"))


def _beside(shape: Any, size: tuple[int, int]) -> bool:
    """Whether a shape lies wholly outside the slide; one without a place, or in a group, does not."""
    width, height = size
    if not width or None in (shape.left, shape.top, shape.width, shape.height):
        return False
    return bool(
        shape.left >= width or shape.top >= height or shape.left + shape.width < 0 or shape.top + shape.height < 0
    )


def _clean(text: str) -> str:
    return text.replace("\v", "\n").strip()
