"""Cross-encoders in ONNX: pairs of texts in, scores or vectors out, in batches of one length."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crag.models.runtime import Loaded, batches, load, load_tokenizer, readable, verified_files
from crag.text.memory import remember
from crag.text.words import stem

if TYPE_CHECKING:
    from tokenizers import Tokenizer

HEAD, TAIL = 96, 32
"""Question tokens that are read of a longer question: what is asked stands at one of its ends."""
MAX_PAIR = 320
"""Tokens of one input, the three special ones included."""
CLASSES = ("ordinary", "rare", "number")
"""What a word can be that says something by being met, or missed: 1, 2 and 3; all others are 0."""
KINDS = (
    "question",
    *(f"question, {each} word, {state}" for each in CLASSES for state in ("not in the passage", "in the passage")),
    "passage",
    *(f"passage {each} word of the question" for each in CLASSES),
    "title",
    *(f"title {each} word of the question" for each in CLASSES),
)
"""What a token can be; each kind has a learned vector that is added to the token's own."""
PASSAGE, TITLE = KINDS.index("passage"), KINDS.index("title")
RARE = 10_000
"""The vocabulary goes from frequent to rare: words from this number on, and words of several pieces, are rare."""
LONGEST_TITLE = 160

STOP = frozenset(
    """a an and are as at be been being but by can could did do does doing for from had has have he her hers him his how
    i if in into is it its itself just me my of on or our ours s she should so than that the their theirs them then
    there these they this those to too under until up very was we were what when where which while who whom whose why
    will with would you your yours about after before between during over t not no also any each some such many much
    one other more most""".split()
)
"""The words that the shipped model was trained to take for ordinary ones; its own list, so that it stays as it was."""


@dataclass(frozen=True, slots=True)
class Words:
    """Token ids with, for each, the stem and the class of the whole word it belongs to."""

    ids: Sequence[int]
    roots: Sequence[str]
    classes: Sequence[int]

    def cut(self, first: int, last: int) -> Words:
        return Words(self.ids[first:last], self.roots[first:last], self.classes[first:last])

    def __add__(self, other: Words) -> Words:
        return Words([*self.ids, *other.ids], [*self.roots, *other.roots], [*self.classes, *other.classes])


class WordReader:
    """Puts word pieces together to words again."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._pieces = {number: piece for piece, number in vocabulary.items()}

    def words(self, ids: Sequence[int]) -> Words:
        roots, classes = [""] * len(ids), [0] * len(ids)
        at = 0
        while at < len(ids):
            end, word, rare = self._word(ids, at)
            root, kind = _classify_word(word, rare)
            if kind:
                roots[at:end], classes[at:end] = [root] * (end - at), [kind] * (end - at)
            at = end
        return Words(ids, roots, classes)

    def _word(self, ids: Sequence[int], at: int) -> tuple[int, str, bool]:
        """Where the word that begins at a token ends, the word, and whether it is a rare one."""
        end, word = at + 1, self._pieces[ids[at]]
        while end < len(ids) and (piece := self._pieces[ids[end]]).startswith("##"):
            word, end = word + piece[2:], end + 1
        return end, word, end - at > 1 or ids[at] >= RARE


@remember(50_000)
def _classify_word(word: str, rare: bool) -> tuple[str, int]:
    """A word's stem and class; stop words, punctuation and single letters are of class 0."""
    if any(letter.isdigit() for letter in word):
        return word, 3
    if len(word) < 2 or not word.isalnum() or word in STOP:
        return "", 0
    return stem(word), 2 if rare else 1


def cut_question(ids: Sequence[int]) -> list[int]:
    """The tokens of a question that are read."""
    return list(ids) if len(ids) <= HEAD + TAIL else [*ids[:HEAD], *ids[-TAIL:]]


def title_end(text: str) -> int:
    """Where a text's title ends, 0 for none: a short first line that is no sentence, with more lines after it."""
    line, _, rest = text[: LONGEST_TITLE + 400].partition("\n")
    bare = line.strip()
    return len(line) if bare and len(line) <= LONGEST_TITLE and bare[-1] not in ".?!:;," and rest.strip() else 0


def paired(question: Words, passage: Words, title: int, cls: int, sep: int) -> tuple[list[int], list[int]]:
    """`[CLS] question [SEP] passage [SEP]` as ids, the passage cut to what fits, and the index into KINDS of each.

    `title`: how many of the passage's first tokens are its title.
    """
    read = passage.cut(0, MAX_PAIR - 3 - len(question.ids))
    met = set(question.roots).intersection(read.roots) - {""}
    asked = [
        2 * kind - 1 + (root in met) if kind else 0 for root, kind in zip(question.roots, question.classes, strict=True)
    ]
    marks = [
        (TITLE if at < title else PASSAGE) + (kind if root in met else 0)
        for at, (root, kind) in enumerate(zip(read.roots, read.classes, strict=True))
    ]
    return [cls, *question.ids, sep, *read.ids, sep], [0, *asked, 0, *marks, PASSAGE]


FOLDER = Path(__file__).parent / "local-evaluator"
MODEL_ID = "local-8"
WINDOW = 224
"""Tokens of a long text that are read at once, after its title."""
STRIDE = 160
"""From one window's first token to the next one's."""
CALL_TOKENS = 256
"""Tokens in one call of the model: chunks go one by one, so that ten of them keep all cores busy to the end."""
MAX_SPAN = 30
"""Tokens of the longest answer that is looked for."""
MAX_TITLE = 32
"""Tokens of a long text's title that are read again with each window."""
OUTPUTS = ["relevance", "closeness", "start", "end", "keep"]
KEPT_CLIP = 12.0
"""The largest logit of a token's, and so of a span's, being evidence."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the model says of a question and one text, of the text's best window if it is long.

    `relevance` and `span` are logits: of the text answering, and of the best place for an answer against none.
    `start`, `end` are that place in the text. `closeness` is the embedding model's cosine of the two, as this model
    guesses it. `keep` has for every token of the text, of all windows, the logit of its being evidence, `places` where
    it stands, [start, end) a row; the first `titled` of them are the title's. A text without a token has no reading.
    """

    relevance: float
    span: float
    closeness: float
    start: int
    end: int
    tokens: int
    keep: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32), repr=False, compare=False)
    places: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 2), np.int32), repr=False, compare=False)
    titled: int = 0

    def kept(self, start: int, end: int) -> float:
        """The logit of the text's [start, end) being evidence; -KEPT_CLIP where no token was read.

        It is the logit of the tokens' mean probability. A mean of logits would let one word that the model is sure of
        outweigh a sentence, a count of those above a half says nothing near its threshold; this is that count made
        smooth. Tokens of the title count only where there are no others, since none was trained.
        """
        first = int(np.searchsorted(self.places[:, 1], start, "right"))
        last = int(np.searchsorted(self.places[:, 0], end, "left"))
        if last > self.titled:
            first = max(first, self.titled)
        if start >= end or first >= last:
            return -KEPT_CLIP
        logits = np.clip(self.keep[first:last].astype(np.float64), -KEPT_CLIP, KEPT_CLIP)
        mean = float((1 / (1 + np.exp(-logits))).mean())
        return math.log(mean / (1 - mean))


@dataclass(frozen=True, slots=True)
class _Window:
    text: int
    ids: list[int]
    kinds: list[int]
    offsets: list[tuple[int, int]]
    again: int
    """How many of the passage's tokens are its title, read again: no answer is looked for there."""
    first: int
    """The number of the text's token that comes first after those."""


class _Evidence:
    """The keep logits of one text's tokens, each from the window in which it stands farthest from an end."""

    def __init__(self, offsets: Sequence[tuple[int, int]], titled: int) -> None:
        self.keep = np.zeros(len(offsets), np.float32)
        self.places = np.array(offsets, np.int32).reshape(-1, 2)
        self.titled = titled
        self._depth = np.full(len(offsets), -1)

    def add(self, window: _Window, keep: NDArray[np.float32]) -> None:
        own = keep[window.again :]
        number = np.arange(len(own))
        depth = np.minimum(number, number[::-1])
        where = slice(window.first, window.first + len(own))
        better = depth > self._depth[where]
        self.keep[where][better] = own[better]
        self._depth[where][better] = depth[better]
        title = slice(0, window.again)
        unread = self._depth[title] < 0
        self.keep[title][unread] = keep[: window.again][unread]
        self._depth[title][unread] = 0


class CrossEncoder:
    """Safe to call from several threads; loaded at the first call. A reading depends on question and text alone."""

    def __init__(self, threads: int = 0, folder: Path = FOLDER) -> None:
        """`threads` 0: as many as this process may use. `folder` holds the files the manifest lists."""
        self._threads, self._folder = threads, folder
        self._lock = threading.Lock()
        self._loaded: tuple[Loaded, Tokenizer] | None = None
        self._words = WordReader({})
        self._marks = (0, 0)

    def read(self, question: str, texts: Sequence[str]) -> list[Reading | None]:
        """One reading a text, in order; None for a text without words. Raises ModelError if the model is unusable.

        Of a question the first 96 and last 32 tokens are read, of a text the first 16,000 characters.
        """
        loaded, tokenizer = self._load()
        ids = cut_question(tokenizer.encode(readable(question), add_special_tokens=False).ids)
        asked = self._words.words(ids or [self._marks[1]])  # a question without a token is read as an empty one
        read = [readable(text) for text in texts]
        encoded = tokenizer.encode_batch(read, add_special_tokens=False)
        windows: list[_Window] = []
        evidence: list[_Evidence] = []
        for number, (text, encoding) in enumerate(zip(read, encoded, strict=True)):
            titled = _tokens_until(title_end(text), encoding.offsets)
            evidence.append(_Evidence(encoding.offsets, titled))
            windows += self._windows(number, asked, titled, encoding.ids, encoding.offsets)
        found: list[Reading | None] = [None] * len(windows)
        kept = [np.zeros(0, np.float32)] * len(windows)

        def run(batch: list[int]) -> None:
            feed = {
                "input_ids": np.array([windows[index].ids for index in batch], np.int64),
                "kinds": np.array([windows[index].kinds for index in batch], np.int64),
                "asked": np.array([len(asked.ids)], np.int64),
            }
            relevance, closeness, start, end, keep = loaded.session.run(OUTPUTS, feed)
            for row, index in enumerate(batch):
                window = windows[index]
                first, last, span = _best_span(start[row], end[row], len(asked.ids) + 2 + window.again)
                offsets = window.offsets[window.again :]
                place = offsets[first][0], offsets[last][1]
                logits = float(relevance[row]), span, float(closeness[row])
                own = evidence[window.text]
                found[index] = Reading(*logits, *place, len(window.ids), own.keep, own.places, own.titled)
                kept[index] = keep[row, len(asked.ids) + 2 : -1]

        loaded.each(run, batches([len(window.ids) for window in windows], CALL_TOKENS))
        best: list[Reading | None] = [None] * len(texts)
        for window, reading, keep in zip(windows, found, kept, strict=True):
            evidence[window.text].add(window, keep)
            known = best[window.text]
            if reading is not None and (known is None or reading.relevance > known.relevance):
                best[window.text] = reading
        return best

    def _windows(
        self, number: int, asked: Words, title: int, ids: list[int], offsets: list[tuple[int, int]]
    ) -> list[_Window]:
        words, room = self._words.words(ids), MAX_PAIR - 3 - len(asked.ids)
        if len(ids) <= room:
            cuts = [(0, len(ids))] if ids else []
        else:
            title = min(title, MAX_TITLE)
            size = min(WINDOW, room) - title
            starts = range(title, len(ids) - size + STRIDE, STRIDE)
            cuts = [(min(at, len(ids) - size), min(at, len(ids) - size) + size) for at in starts]
        made = []
        for first, last in cuts:
            again = title if first else 0
            read = words.cut(0, again) + words.cut(first, last) if again else words.cut(first, last)
            joined, kinds = paired(asked, read, title, *self._marks)
            made.append(_Window(number, joined, kinds, offsets[:again] + offsets[first:last], again, first))
        return made

    def _load(self) -> tuple[Loaded, Tokenizer]:
        with self._lock:
            if self._loaded is None:
                files = verified_files(self._folder, MODEL_ID)
                tokenizer = load_tokenizer(files["tokenizer.json"].decode())
                vocabulary = tokenizer.get_vocab()
                self._words = WordReader(vocabulary)
                self._marks = (vocabulary["[CLS]"], vocabulary["[SEP]"])
                self._loaded = load(files["model.onnx"], self._threads, "retrieval evaluator"), tokenizer
            return self._loaded


def _tokens_until(end: int, offsets: Sequence[tuple[int, int]]) -> int:
    return sum(last <= end for _, last in offsets) if end else 0


def _best_span(start: NDArray[np.float32], end: NDArray[np.float32], ahead: int) -> tuple[int, int, float]:
    """First and last token of the best answer, counted from the text's first, and its logit against none."""
    first, last = start[ahead:-1], end[ahead:-1]
    scores = first[:, None] + last[None, :]
    count = len(first)
    place = np.arange(count)
    apart = place[None, :] - place[:, None]
    scores = np.where((apart >= 0) & (apart < MAX_SPAN), scores, -np.inf)
    best = int(scores.argmax())
    return best // count, best % count, float(scores.flat[best] - start[0] - end[0])
