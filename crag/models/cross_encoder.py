"""Cross-encoders in ONNX: pairs of texts in, scores or vectors out, in batches of one length."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crag.models.runtime import Loaded, batches, load, load_tokenizer, readable, verified_files
from crag.text.memory import remember
from crag.text.sentences import sentences
from crag.text.words import stem

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

    def __init__(self, piece: Callable[[int], str]) -> None:
        """`piece`: the word piece of an id."""
        self._piece = piece

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
        end, word = at + 1, self._piece(ids[at])
        while end < len(ids) and (piece := self._piece(ids[end])).startswith("##"):
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
MODEL_ID = "local-9"
CALL_TOKENS = 256
"""Tokens in one call of the model: chunks go one by one, so that ten of them keep all cores busy to the end."""
MAX_SPAN = 30
"""Tokens of the longest answer that is looked for."""
MAX_TITLE = 32
"""Tokens of a long text's title that are read with each window."""
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
class Window:
    """A part of a text, which has that number, under its title, as ids and kinds of tokens.

    `places`: where each of its tokens stands in the text, [start, end), those of the title first, which are `titled`.
    """

    text: int
    ids: list[int]
    kinds: list[int]
    places: NDArray[np.int32]
    titled: int


Tokens = tuple[Sequence[int], Sequence[tuple[int, int]]]
"""The ids of a text's tokens, and where each of them stands in it."""


@dataclass(frozen=True, slots=True)
class Model:
    """What a reader has loaded. `marks`: the ids of the tokens that begin an input and that end its parts.

    `feed`: the inputs of the graph that stand for the ids of tokens (batch, length).
    """

    loaded: Loaded
    encode: Callable[[Sequence[str]], list[Tokens]]
    words: WordReader
    marks: tuple[int, int]
    feed: Callable[[NDArray[np.int64]], dict[str, NDArray[np.generic]]]


class CrossEncoder:
    """Safe to call from several threads; loaded at the first call. A reading depends on question and text alone."""

    window = MAX_PAIR
    """Tokens of a text that are read at once; a longer one is read in runs of whole sentences, each under its title."""

    def __init__(self, threads: int = 0, folder: Path = FOLDER) -> None:
        """`threads` 0: as many as this process may use. `folder` holds the files the manifest lists."""
        self._threads, self._folder = threads, folder
        self._lock = threading.Lock()
        self._loaded: Model | None = None

    def read(self, question: str, texts: Sequence[str]) -> list[Reading | None]:
        """One reading a text, in order; None for a text without words. Raises ModelError if the model is unusable.

        Of a question the first 96 and last 32 tokens are read, of a text the first 16,000 characters.
        """
        with self._lock:
            self._loaded = model = self._loaded or self._load()
        [(ids, _)] = model.encode([readable(question)])
        asked = model.words.words(cut_question(ids) or [model.marks[1]])  # without a token, an empty one
        read = [readable(text) for text in texts]
        windows = list[Window]()
        for number, (text, tokens) in enumerate(zip(read, model.encode(read), strict=True)):
            windows += self._windows(model, number, asked, text, tokens)
        found = dict[int, Reading]()

        def run(batch: list[int]) -> None:
            feed = model.feed(np.array([windows[index].ids for index in batch], np.int64))
            feed["kinds"] = np.array([windows[index].kinds for index in batch], np.int64)
            feed["asked"] = np.array([len(asked.ids)], np.int64)
            relevance, closeness, start, end, keep = model.loaded.session.run(OUTPUTS, feed)
            for row, index in enumerate(batch):
                window = windows[index]
                first, last, span = _best_span(start[row], end[row], len(asked.ids) + 2 + window.titled)
                places = window.places[window.titled :]
                answer = int(places[first][0]), int(places[last][1])
                logits = float(relevance[row]), span, float(closeness[row])
                kept = keep[row, len(asked.ids) + 2 : -1]
                found[index] = Reading(*logits, *answer, len(window.ids), kept, window.places, window.titled)

        model.loaded.each(run, batches([len(window.ids) for window in windows], CALL_TOKENS))
        by_text: list[list[Reading]] = [[] for _ in texts]
        for index, window in enumerate(windows):
            by_text[window.text].append(found[index])
        return [_join(each) if each else None for each in by_text]

    def _windows(self, model: Model, number: int, asked: Words, text: str, tokens: Tokens) -> Iterator[Window]:
        ids, offsets = tokens
        words, places = model.words.words(ids), np.array(offsets, np.int32).reshape(-1, 2)
        title, room = title_end(text), min(self.window, MAX_PAIR - 3 - len(asked.ids))
        titled = int((places[:, 1] <= title).sum()) if title else 0
        again, cuts = titled, [(titled, len(ids))]
        if len(ids) > room:
            again = min(titled, MAX_TITLE)
            ends = np.searchsorted(places[:, 0], [end for _, end in sentences(text)])
            cuts = list(_runs(again, [*map(int, ends), len(ids)], room - again))
        for first, last in cuts:
            if first < last:
                joined, kinds = paired(asked, words.cut(0, again) + words.cut(first, last), again, *model.marks)
                yield Window(number, joined, kinds, np.concatenate([places[:again], places[first:last]]), again)

    def _load(self) -> Model:
        files = verified_files(self._folder, MODEL_ID)
        tokenizer = load_tokenizer(files["tokenizer.json"].decode())
        vocabulary = tokenizer.get_vocab()
        pieces = {number: piece for piece, number in vocabulary.items()}

        def encode(texts: Sequence[str]) -> list[Tokens]:
            return [(each.ids, each.offsets) for each in tokenizer.encode_batch(texts, add_special_tokens=False)]

        return Model(
            load(files["model.onnx"], self._threads, "retrieval evaluator"),
            encode,
            WordReader(pieces.__getitem__),
            (vocabulary["[CLS]"], vocabulary["[SEP]"]),
            lambda ids: {"input_ids": ids},
        )


def _runs(start: int, ends: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Runs of sentences that end at these tokens, [start, end), none longer than `most`; a longer sentence is cut."""
    last = start
    for end in ends:
        while end - start > most:
            cut = last if last > start else start + most
            yield start, cut
            start = last = cut
        last = max(last, end)
    yield start, last


def _join(windows: Sequence[Reading]) -> Reading:
    """The reading of the best window, with the evidence of all."""
    first, *others = windows
    keep = [first.keep, *(each.keep[each.titled :] for each in others)]
    places = [first.places, *(each.places[each.titled :] for each in others)]
    best = max(windows, key=lambda each: each.relevance)
    return replace(best, keep=np.concatenate(keep), places=np.concatenate(places), titled=first.titled)


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
