"""Text recognition: the lines of text in a picture of a page, by models that come with their package.

Runs inside the reader's child process. Nothing is fetched: every model is named by its file. This is the only file that
knows the recognition engine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Points = NDArray[np.float32]
Find = Callable[[Image.Image, float], "Found"]
"""Reads a picture within this many processor seconds."""

_DETECTED = 0.7  # the picture's share of pixels a side in which lines are looked for; it costs half the time
_LEAST_SIDE, _MOST_SIDE = 960, 2600  # pixels of the longer side there
_LONG = 1.5  # a line's length, in heights, from which its direction is known
_ASKED = 12  # lines of a direction that vote on whether it is upside down
_SEEN = 4  # heights of a line that are looked at for that
_COMPARED = 4  # lines that are read both ways where the votes say so
_AT_ONCE = 8  # lines between two looks at the clock
_LEAST_CONFIDENCE = 0.5  # what is read with less is a stain, not a word
_MOST_CONFIDENCE = 0.999  # 1 is what the file says itself
_APART = 0.95  # of a line's height: wider white space parts words though no space was read
_MOST_STRETCHED = 80  # a line's length in heights; a longer one is a rule across the page
_THREADS = 2


@dataclass(frozen=True, slots=True)
class Line:
    """One line as read. `corners` in pixels, in the order of reading: its first corner is where the text begins, above.

    `words` are (text, start, end), the last two as shares of the line's length. `turn` counts quarter turns of the
    text, counter-clockwise as displayed. `confidence` 0..1, below 1.
    """

    corners: Points
    turn: int
    words: tuple[tuple[str, float, float], ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class Found:
    """The lines of a page; `cut`: there was no time for the rest."""

    lines: tuple[Line, ...]
    cut: bool = False


def recogniser() -> Find:
    """The engine with its models loaded. Raises what the package raises where it is damaged."""
    # onnxruntime reports its use to its maker unless this is set before it is imported.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import cv2
    import rapidocr

    cv2.setNumThreads(_THREADS)
    models = Path(rapidocr.__file__).parent / "models"
    engine = rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.return_word_box": True,
            "Global.max_side_len": _MOST_SIDE,
            "Det.model_path": str(models / "PP-OCRv6_det_small.onnx"),
            "Det.limit_type": "max",
            "Det.limit_side_len": _MOST_SIDE,
            "Cls.model_path": str(models / "ch_ppocr_mobile_v2.0_cls_mobile.onnx"),
            "Rec.model_path": str(models / "PP-OCRv6_rec_small.onnx"),
            "Rec.rec_batch_num": 1,  # lines side by side are hardly faster and take twice the memory
            "EngineConfig.onnxruntime.intra_op_num_threads": min(_THREADS, os.cpu_count() or 1),
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )
    return _Reading(engine).find


class _Reading:
    """Finds lines, tells their direction, reads them."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def find(self, picture: Image.Image, seconds: float) -> Found:
        """The lines of a picture in red, green and blue. Raises MemoryError where there is too little for it."""
        import cv2
        from rapidocr.inference_engine.onnxruntime import ONNXRuntimeError

        try:
            return self._find(picture, seconds)
        except (ONNXRuntimeError, cv2.error) as error:
            if any(word in str(error).lower() for word in ("alloc", "memory")):
                raise MemoryError from error
            raise

    def _find(self, picture: Image.Image, seconds: float) -> Found:
        ends = time.process_time() + seconds
        pixels = np.ascontiguousarray(np.asarray(picture)[:, :, ::-1])
        groups = self._directions(pixels, self._quads(pixels))
        lies = groups[0][0] if groups else 0
        if lies % 2:  # lines are found best where they run across
            pixels = np.ascontiguousarray(np.rot90(pixels, -lies))
            groups = self._directions(pixels, self._quads(pixels))
        turned = [(quad, turn) for turn, group in groups for quad in group]
        lines: list[Line] = []
        while turned and time.process_time() <= ends:
            lines += self._read(pixels, turned[:_AT_ONCE])
            del turned[:_AT_ONCE]
        if lies % 2:
            lines = [_laid_down(line, lies, *picture.size) for line in lines]
        return Found(tuple(lines), cut=bool(turned))

    def _quads(self, pixels: NDArray[np.uint8]) -> list[Points]:
        """Where lines lie: corners from the top left on, clockwise as displayed, top to bottom."""
        import cv2

        longer = max(pixels.shape[:2])
        side = min(max(_DETECTED * longer, _LEAST_SIDE), _MOST_SIDE)
        scale = min(1.0, side / longer)
        small = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else pixels
        found = self._engine(small, use_det=True, use_cls=False, use_rec=False).boxes
        if found is None:
            return []
        quads = [_order_corners(quad) for quad in np.asarray(found, np.float32) / scale]
        return [quad for quad in quads if max(_sides(quad)) <= _MOST_STRETCHED * min(_sides(quad))]

    def _directions(self, pixels: NDArray[np.uint8], quads: Sequence[Points]) -> list[tuple[int, list[Points]]]:
        """The lines by quarter turns: across or upright by their shape, the way round by a vote of the longest.

        What is too short to tell goes with the longer part of the page.
        """
        across = [quad for quad in quads if _sides(quad)[0] > _LONG * _sides(quad)[1]]
        upright = [quad for quad in quads if _sides(quad)[1] > _LONG * _sides(quad)[0]]
        lying = sum(_sides(quad)[1] for quad in upright) > sum(_sides(quad)[0] for quad in across)
        groups = []
        for is_upright, group in ((lying, upright if lying else across), (not lying, across if lying else upright)):
            if group:
                turn = 1 if is_upright else 0
                groups.append((turn + 2 if self._upside_down(pixels, group, turn) else turn, group))
        grouped = {id(quad) for _, group in groups for quad in group}
        short = [quad for quad in quads if id(quad) not in grouped]
        if short:
            turn = groups[0][0] if groups else 0
            groups.append((turn, short))
        return groups

    def _upside_down(self, pixels: NDArray[np.uint8], quads: Sequence[Points], turn: int) -> bool:
        """By the votes of a model that looks at the lines; what it says is upside down must read better so, too."""
        longest = sorted(quads, key=lambda quad: -max(_sides(quad)))[:_ASKED]
        cuts = [_cut_out(pixels, np.roll(quad, turn, axis=0)) for quad in longest]
        # The model sees four heights of a line; a whole one would be squeezed until nobody could tell.
        shown = [np.ascontiguousarray(cut[:, : _SEEN * cut.shape[0]]) for cut in cuts]
        _, said = self._engine.cls_and_rotate(shown)
        if sum(score if label == "180" else -score for label, score in said.cls_res) <= 0:
            return False
        some = cuts[:_COMPARED]
        upright, turned = (self._engine.recognize_txt(each) for each in (some, [_upended(cut) for cut in some]))
        return float(sum(turned.scores)) > float(sum(upright.scores))

    def _read(self, pixels: NDArray[np.uint8], turned: Sequence[tuple[Points, int]]) -> list[Line]:
        corners = [np.roll(quad, turn, axis=0) for quad, turn in turned]
        said = self._engine.recognize_txt([_cut_out(pixels, each) for each in corners])
        lines = []
        for each, (_, turn), text, score, about in zip(
            corners, turned, said.txts, said.scores, said.word_results, strict=True
        ):
            length, height = _sides(each)
            words = words_of(
                text, [column for run in about.word_cols for column in run], about.line_txt_len, length / height
            )
            if words and score >= _LEAST_CONFIDENCE:
                lines.append(Line(each, turn, words, round(min(float(score), _MOST_CONFIDENCE), 3)))
        return lines


def words_of(text: str, columns: Sequence[int], total: float, stretched: float) -> tuple[tuple[str, float, float], ...]:
    """The words of a line and where they stand in it, as shares of its length.

    `columns` says where each character that is no space was read, of `total`; `stretched` is the line's length in
    heights.
    """
    if total <= 0 or len(columns) != sum(not character.isspace() for character in text):
        return ()
    places = [(column + 0.5) / total for column in columns]
    steps = sorted(after - before for before, after in pairwise(places))
    half = min(steps[len(steps) // 2] if steps else 1.0, 0.6 / stretched) / 2
    runs: list[list[tuple[str, float]]] = []
    at, parted = 0, True
    for character in text:
        if character.isspace():
            parted = True
            continue
        place = places[at]
        at += 1
        if parted or (place - runs[-1][-1][1]) * stretched > _APART + 2 * half * stretched:
            runs.append([])
        runs[-1].append((character, place))
        parted = False
    return tuple(
        ("".join(character for character, _ in run), max(0.0, run[0][1] - half), min(1.0, run[-1][1] + half))
        for run in runs
    )


def _order_corners(quad: Points) -> Points:
    """The corners from the upper left on, clockwise as displayed: of one that leans, they come in another order."""
    across, down = (quad - quad.mean(axis=0)).T
    clockwise = quad[np.argsort(np.arctan2(down, across))]
    sides = np.roll(clockwise, -1, axis=0) - clockwise
    return np.roll(clockwise, -int(np.argmax(sides[:, 0] - np.abs(sides[:, 1]))), axis=0)


def _sides(corners: Points) -> tuple[float, float]:
    """The lengths of the first side and of the next, at least one pixel."""
    return (
        max(1.0, float(np.linalg.norm(corners[1] - corners[0]))),
        max(1.0, float(np.linalg.norm(corners[3] - corners[0]))),
    )


def _laid_down(line: Line, turns: int, width: int, height: int) -> Line:
    """A line of a picture that was turned clockwise so often, as it lies in the picture before, of this size."""
    x, y = line.corners[:, 0], line.corners[:, 1]
    back = (y, height - x) if turns == 1 else (width - y, x)
    return replace(line, corners=np.stack(back, axis=1), turn=(line.turn + turns) % 4)


def _upended(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(pixels[::-1, ::-1])


def _cut_out(pixels: NDArray[np.uint8], corners: Points) -> NDArray[np.uint8]:
    """The line as an upright picture of its own."""
    import cv2

    width, height = (max(2, round(side)) for side in _sides(corners))
    onto = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(np.ascontiguousarray(corners, np.float32), onto)
    cut = cv2.warpPerspective(pixels, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE, flags=cv2.INTER_CUBIC)
    return cut.astype(np.uint8, copy=False)
