"""Pictures of pages for tests of text recognition: drawn with Pillow's own font, and lines as an engine tells them."""

import io
import math
from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from crag.ingest.recognition import Line

DPI = 150
needs_recognition = pytest.mark.skipif(
    find_spec("rapidocr") is None, reason="text recognition is not installed (requirements/scans.txt)"
)


def drawn(
    texts: Sequence[str], *, turn: int = 0, width: int = 850, height: int = 500, size: int = 26, kind: str = "PNG"
) -> bytes:
    """A page at 150 dots an inch with a line for each text, turned counter-clockwise by so many degrees."""
    page = Image.new("RGB", (width, height), "white")
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(size)
    for place, text in enumerate(texts):
        pen.text((60, 50 + 2 * size * place), text, fill="black", font=font)
    buffer = io.BytesIO()
    page.rotate(turn, expand=turn % 90 == 0, fillcolor="white", resample=Image.Resampling.BICUBIC).save(
        buffer, kind, dpi=(DPI, DPI)
    )
    return buffer.getvalue()


def line_of(
    text: str, left: float, top: float, *, height: float = 12.0, turn: int = 0, confidence: float = 0.98
) -> Line:
    """A line as an engine would tell it, upright or turned by quarters; each character is half as wide as high."""
    length = height / 2 * len(text)
    along, down = [(1, 0), (0, -1), (-1, 0), (0, 1)][turn], [(0, 1), (1, 0), (0, -1), (-1, 0)][turn]
    steps = [(0.0, 0.0), (length, 0.0), (length, height), (0.0, height)]
    corners = [(left + x * along[0] + y * down[0], top + x * along[1] + y * down[1]) for x, y in steps]
    words, at = [], 0
    for word in text.split():
        at = text.index(word, at)
        words.append((word, at / len(text), (at + len(word)) / len(text)))
        at += len(word)
    return Line(np.array(corners, np.float32), turn, tuple(words), confidence)


def skewed(line: Line, degrees: float, width: float, height: float) -> Line:
    """The line on a page that is turned clockwise about its middle."""
    angle = math.radians(degrees)
    about = np.array([width / 2, height / 2])
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    return Line(((line.corners - about) @ turn + about).astype(np.float32), line.turn, line.words, line.confidence)
