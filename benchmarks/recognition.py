"""Text recognition on real pages: words found again, seconds a page, memory; and what becomes of real scans.

    python -m benchmarks.recognition [--pages N]

Pages that say their words themselves are drawn at 150 and 200 dots an inch, and at 200 turned by 2 degrees and as
grey paper with noise. Each picture is read by the product's own path, `crag.ingest.reader.read_document`, ten pages to
a file, and the words of the page, as PDFium tells them, are looked for in what was read: recall as a multiset, without
the punctuation at a word's ends. Memory is the largest that any reader process had, as the kernel tells it. Of every
recognised line, its confidence is set beside the share of its words that are on the page: that chooses
`crag.core.documents.LOW_RECOGNITION`. Then the files of `pdfs_hostile` and `pdfs_real` that hold pages without text.
Writes results/recognition.json and results/recognition.md.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pypdfium2
from PIL import Image

from benchmarks.pages import load, made_by, parse, publish, table
from corpora.places import DATA
from crag.core.config import AppConfig
from crag.core.documents import LOW_RECOGNITION
from crag.core.errors import DocumentError
from crag.core.ingesting import Page
from crag.ingest import scans
from crag.ingest.reader import read_document

FILINGS, OTHERS = 12, ("mmlongbench", "public_domain")
LEAST_WORDS, EACH = 150, 10
GOAL = 0.95
BANDS = (0.0, 0.8, 0.85, 0.9, 0.95, 0.98, 1.0)
_SIGNS = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "…": "."})
_ENDS = ".,;:!?()[]{}\"'|•·*-$%_§†‡"


@dataclass(frozen=True)
class Kind:
    """A way of drawing pages."""

    name: str
    dpi: int
    skew: float = 0.0
    noise: float = 0.0


KINDS = (
    Kind("150 dpi", 150),
    Kind("200 dpi", 200),
    Kind("200 dpi, turned by 2°", 200, skew=2.0),
    Kind("200 dpi, grey and noisy", 200, noise=20.0),
)


@dataclass
class Figures:
    pages: int = 0
    words: int = 0
    found: int = 0
    seconds: float = 0.0
    peak_mb: int = 0
    space_mb: int = 0
    worst: list[tuple[float, str]] = field(default_factory=list)
    lines: list[tuple[float, int, int]] = field(default_factory=list, repr=False)


def words(text: str) -> list[str]:
    """The words of a text, divided ones joined, without the punctuation at their ends."""
    text = re.sub(r"[\ufffe\x02\u00ad]\s*", "", text).translate(_SIGNS)
    return [bare for each in text.split() if (bare := each.strip(_ENDS))]


def chosen(pages: int) -> list[tuple[Path, int]]:
    """Pages full of text, of one document after the other, spread over each."""
    filings = sorted((DATA / "financebench" / "pdfs").glob("*.pdf"))
    step = max(1, len(filings) // FILINGS)
    files = filings[::step] + [path for name in OTHERS for path in sorted((DATA / name).rglob("*.pdf"))]
    found: list[list[tuple[Path, int]]] = []
    for path in files:
        with contextlib.closing(pypdfium2.PdfDocument(path)) as document:
            spread = [round(len(document) * share) for share in (0.15, 0.4, 0.65, 0.9)]
            full = [n for n in dict.fromkeys(spread) if n < len(document) and _is_full(document[n])]
        found.append([(path, number) for number in full])
    rounds = [[each[place] for each in found if place < len(each)] for place in range(4)]
    return [page for one in rounds for page in one][:pages]


def _is_full(page: pypdfium2.PdfPage) -> bool:
    """Whether a page says its words itself, and all that it shows: no pictures that hold others, no scan behind."""
    pictures = sum(1 for thing in page.get_objects(max_depth=3) if thing.type == pypdfium2.raw.FPDF_PAGEOBJ_IMAGE)
    return not pictures and len(words(page.get_textpage().get_text_range())) >= LEAST_WORDS


def drawn(path: Path, number: int, kind: Kind) -> tuple[Image.Image, list[str]]:
    with contextlib.closing(pypdfium2.PdfDocument(path)) as document:
        page = document[number]
        said = words(page.get_textpage().get_text_range())
        image = page.render(scale=kind.dpi / 72).to_pil().convert("L")
    if kind.skew:
        image = image.rotate(kind.skew, fillcolor=255, resample=Image.Resampling.BICUBIC)
    if kind.noise:
        grey = 40 + np.asarray(image, np.float32) * (185 / 255)
        grey += np.random.default_rng(number).normal(0, kind.noise, grey.shape)
        image = Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8))
    return image, said


def measure(pages: Sequence[tuple[Path, int]], kind: Kind) -> Figures:
    figures = Figures()
    for first in range(0, len(pages), EACH):
        some = pages[first : first + EACH]
        pictures = [drawn(path, number, kind) for path, number in some]
        buffer = io.BytesIO()
        images = [image for image, _ in pictures]
        images[0].save(
            buffer, "TIFF", save_all=True, append_images=images[1:], compression="tiff_deflate", dpi=(kind.dpi,) * 2
        )
        with watched(figures):
            began = time.perf_counter()
            parsed = read_document(buffer.getvalue(), "pages.tiff", AppConfig())
            figures.seconds += time.perf_counter() - began
        for page, (_, said), (path, number) in zip(parsed.pages, pictures, some, strict=True):
            _count(figures, page, said, f"{path.name}, page {number + 1}")
        print(f"{kind.name}: {figures.found / figures.words:.4f} of {figures.pages} pages", flush=True)
    return figures


def _count(figures: Figures, page: Page, said: list[str], name: str) -> None:
    wanted, got = Counter(said), Counter(words(page.text))
    found = sum((wanted & got).values())
    figures.pages += 1
    figures.words += len(said)
    figures.found += found
    figures.worst = sorted([*figures.worst, (round(found / len(said), 4), name)])[:3]
    for line in page.lines:
        told = words(page.text[line.start : line.end])
        figures.lines.append((line.confidence, len(told), sum(each in wanted for each in told)))


@contextlib.contextmanager
def watched(figures: Figures) -> Iterator[None]:
    """Notes the largest memory, resident and asked for, of this process's children while they live."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            for listed in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
                with contextlib.suppress(OSError):
                    for child in listed.read_text().split():
                        status = Path(f"/proc/{child}/status").read_text()
                        for name, at in (("peak_mb", "VmHWM"), ("space_mb", "VmPeak")):
                            if held := re.search(rf"{at}:\s+(\d+)", status):
                                setattr(figures, name, max(getattr(figures, name), int(held[1]) // 1024))

    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        try:
            yield
        finally:
            over.set()
            looking.result()


def bands(figures: Sequence[Figures]) -> list[tuple[str, int, float]]:
    """Of the words of lines in each band of confidence: how many there are, and the share that is on the page."""
    found = []
    for low, high in pairwise(BANDS):
        some = [(told, right) for each in figures for sure, told, right in each.lines if low <= sure < high]
        total = sum(told for told, _ in some)
        if total:
            found.append((f"{low:.2f} to {high:.2f}", total, sum(right for _, right in some) / total))
    return found


def real_scans() -> list[tuple[str, str, str]]:
    """Each real file with pages without text: its name, how many of its pages were recognised, and what was said."""
    found = []
    for path in sorted(path for name in ("pdfs_hostile", "pdfs_real") for path in (DATA / name).glob("*.pdf")):
        print(path.name, flush=True)
        asked: list[int] = []
        try:
            parsed = read_document(
                path.read_bytes(), path.name, AppConfig(), on_recognising=lambda _, pages, __, a=asked: a.append(pages)
            )
        except DocumentError as error:
            if asked:
                found.append((path.name, f"0 of {asked[0]}", error.message.replace(path.name, "It")))
            continue
        if asked:
            read = sum(scans.confidence(page) is not None for page in parsed.pages)
            found.append((path.name, f"{read} of {asked[0]}", " ".join(parsed.warnings)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=40)
    before = load()
    options = parse(parser)
    pages = chosen(options.pages)
    figures = {kind.name: measure(pages, kind) for kind in KINDS}
    sure = bands(list(figures.values()))
    listed = real_scans()
    kept = {name: {**asdict(each), "lines": len(each.lines)} for name, each in figures.items()}
    page = report(figures, sure, listed, before, len({path for path, _ in pages}))
    publish("recognition", page, {"kinds": kept, "bands": sure, "scans": listed, "load": before}, folder=options.folder)


def report(
    figures: dict[str, Figures],
    sure: Sequence[tuple[str, int, float]],
    listed: Sequence[tuple[str, str, str]],
    before: float,
    documents: int,
) -> str:
    """The page."""
    shown = figures["200 dpi"]
    kinds = [
        [
            name,
            each.pages,
            f"{each.words:,}",
            f"{each.found / each.words:.4f}",
            f"{each.seconds / each.pages:.2f}",
            each.peak_mb,
            each.space_mb,
            f"{each.worst[0][0]:.3f}: {each.worst[0][1]}",
        ]
        for name, each in figures.items()
    ]
    head = ["drawn", "pages", "words", "found again", "seconds a page", "peak MB", "address space, MB", "hardest page"]
    lines = [
        "# Text recognition",
        "",
        f"{made_by('recognition', before)}, {shown.pages} pages of {documents} documents: "
        f"**{shown.found / shown.words:.3f} of the words found again at 200 dots an inch (goal {GOAL}), "
        f"{shown.seconds / shown.pages:.1f} s a page.**",
        "",
        table(head, kinds),
        "",
        "Seconds are the wall's, the start of a process with its models for every ten pages included, on two threads.",
        "",
        "## Confidence",
        "",
        f"What is below {LOW_RECOGNITION} is said to be of low confidence.",
        "",
        table(
            ["a line's confidence", "words", "on the page"],
            [[name, f"{count:,}", f"{right:.3f}"] for name, count, right in sure],
        ),
        "",
        "## Real scans",
        "",
        "Every file of `pdfs_hostile` and `pdfs_real` that has a page without text.",
        "",
        table(
            ["file", "pages recognised", "what is said"],
            [[name, pages, said.replace("|", "/")] for name, pages, said in listed],
        ),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
