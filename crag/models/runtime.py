"""How every shipped model is run, on the CPU, one thread a call; and the embedding model: texts to unit vectors."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import ModelError

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Tokenizer


def verified_files(folder: Path, expected_id: str) -> dict[str, bytes]:
    """The files that `folder/manifest.json` lists, by name, each equal to its listed SHA-256.

    Raises ModelError where the manifest or a file is missing, unreadable or changed, or where the manifest
    belongs to another model than `expected_id`.
    """
    manifest = _manifest(folder)
    if manifest.get("id") != expected_id:
        raise ModelError(f"The model in crag/models/{folder.name} is {manifest.get('id')!r}, not {expected_id!r}.")
    found = {}
    for name, digest in manifest["sha256"].items():
        try:
            data = (folder / name).read_bytes()
        except OSError as error:
            raise ModelError(f"The model file crag/models/{folder.name}/{name} can't be read ({error}).") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise ModelError(f"The model file crag/models/{folder.name}/{name} is damaged: its hash is wrong.")
        found[name] = data
    return found


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"The manifest of crag/models/{folder.name} can't be read ({error}).") from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("sha256"), dict):
        raise ModelError(f"The manifest of crag/models/{folder.name} lists no files.")
    return manifest


MAX_CHARACTERS = 16_000
"""What comes later in a text is never even cut into tokens."""
FEW, SELDOM = 2_000, 8
"""Characters of texts that are read without the tokenizer of the whole vocabulary, in 20 ms, and how often: a program
that goes on makes it."""
BATCH_TOKENS = 1024
"""Tokens in one call of a model: enough to keep the arithmetic busy, little enough to stay in the cache."""


@dataclass(frozen=True, slots=True)
class Loaded:
    session: onnxruntime.InferenceSession
    pool: ThreadPoolExecutor

    def each(self, run: Callable[[list[int]], None], dealt: Sequence[list[int]]) -> None:
        """Every batch run: whole ones side by side beat one split over all threads by a fifth."""
        if len(dealt) == 1:
            run(dealt[0])
            return
        for _ in self.pool.map(run, dealt):
            pass


def load_tokenizer(description: str) -> Tokenizer:
    """The tokenizer that a `tokenizer.json` describes. Raises ModelError."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(description)
    except Exception as error:  # the library raises bare Exceptions
        raise ModelError(f"A model's tokenizer can't be loaded ({error}).") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # "[SEP]" in a document is four characters of text and a word, never a control token.
    tokenizer.encode_special_tokens = True
    return tokenizer


def load(model: bytes, threads: int, name: str) -> Loaded:
    """A model in ONNX; `threads` 0: as many as this process may use.

    Raises ModelError, which says `name`, if it cannot be used.
    """
    # onnxruntime reports its use to its maker unless this is set before it is imported.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    try:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # every batch has another shape: plans would only pile up
        # The graphs are fused by hand; the extended rewrites would put slower kernels back in.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        # It keeps the file, 80 MB for all models, to start again with other hardware, which is never done here.
        session.disable_fallback()
        session._model_bytes = None
    except Exception as error:  # the library raises bare Exceptions for files it cannot use
        raise ModelError(f"The {name} can't be loaded ({error}).") from error
    return Loaded(session, ThreadPoolExecutor(threads or _cores(), thread_name_prefix="model"))


class WordPieces:
    """A vocabulary of hundreds of thousands of pieces. Safe to call from several threads.

    Its tokenizer takes a second to make. A few texts are read without it, by one of those pieces alone that stand in
    them, which finds the same.
    """

    def __init__(self, description: bytes, max_tokens: int) -> None:
        """`description`: a `tokenizer.json` whose model is Unigram. Its first four pieces are no text. `max_tokens`: of
        what `read` gives."""
        self._before, begin, rest = description.decode().partition('"vocab":[[')
        rows, end, self._after = rest.rpartition('],"byte_fallback"')
        self._before, self._after, self._max = self._before + begin, end + self._after, max_tokens
        self._rows = rows.removesuffix("]").split("],[")
        self._places = {row[: row.rindex(",")]: place for place, row in enumerate(self._rows)}
        self._longest = max(map(len, self._places))
        self._whole: Tokenizer | None = None
        self._parts = 0
        self._lock = threading.Lock()

    def read(self, texts: Sequence[str]) -> list[list[int]]:
        """The pieces of each text's beginning, as their places in the vocabulary, between those that begin and end a
        text."""
        given = [readable(text) for text in texts]
        tokenizer, places = self._tokenizer_of(given)
        read = (each.ids for each in tokenizer.encode_batch_fast(given))
        cut = (ids if len(ids) <= self._max else [*ids[: self._max - 1], ids[-1]] for ids in read)
        return [[places[id] for id in ids] if places else ids for ids in cut]

    def encode(self, texts: Sequence[str]) -> list[tuple[Sequence[int], Sequence[tuple[int, int]]]]:
        """All pieces of each text, none that begins or ends it, and where each of them stands in it, [start, end)."""
        given = [readable(text) for text in texts]
        tokenizer, places = self._tokenizer_of(given)
        read = tokenizer.encode_batch(given, add_special_tokens=False)
        return [([places[id] for id in each.ids] if places else each.ids, each.offsets) for each in read]

    def _tokenizer_of(self, texts: Sequence[str]) -> tuple[Tokenizer, list[int]]:
        """What reads these texts, and of which places in the vocabulary its pieces are: of none, if of all."""
        if self._whole is None and self._parts < SELDOM and sum(map(len, texts)) <= FEW:
            self._parts += 1
            return self._part(texts)
        with self._lock:
            self._whole = self._whole or self._tokenizer(range(len(self._rows)))
        return self._whole, []

    def text(self, place: int) -> str:
        """A piece as text; "▁" stands for a blank."""
        return str(json.loads(self._rows[place].rpartition(",")[0]))

    def _part(self, texts: Sequence[str]) -> tuple[Tokenizer, list[int]]:
        """A tokenizer of the pieces that stand in these texts, and their places in the vocabulary."""
        none, places = self._tokenizer(range(4)), {0, 1, 2, 3}
        for text in texts:
            for word, _ in none.pre_tokenizer.pre_tokenize_str(none.normalizer.normalize_str(text)):
                written = word.replace("\\", "\\\\").replace('"', '\\"')
                spans = ((at, end) for at in range(len(written)) for end in range(at + 1, at + self._longest))
                places.update(self._places.get(f'"{written[at:end]}"', 0) for at, end in spans)
        return self._tokenizer(found := sorted(places)), found

    def _tokenizer(self, places: Iterable[int]) -> Tokenizer:
        rows = "],[".join(self._rows[place] for place in places)
        return load_tokenizer(f"{self._before}{rows}]{self._after}")


def sentence_vectors(loaded: Loaded, texts: Sequence[Sequence[int]], dimension: int) -> NDArray[np.float32]:
    """A row for each text, given as its tokens, by a model that gives the `embedding` of `input_ids`; at least one.

    Texts are batched only with texts of the same number of tokens, so nothing is padded and a row depends on its
    text alone.
    """
    vectors = np.zeros((len(texts), dimension), np.float32)

    def run(batch: list[int]) -> None:
        ids = np.array([texts[index] for index in batch], np.int64)
        vectors[batch] = loaded.session.run(["embedding"], {"input_ids": ids})[0]

    loaded.each(run, batches([len(ids) for ids in texts]))
    return vectors


def readable(text: str) -> str:
    """The part of a text that can count, with lone surrogates (which UTF-8 has no bytes for) as question marks."""
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def batches(lengths: Sequence[int], tokens: int = BATCH_TOKENS) -> list[list[int]]:
    """Indexes in batches of one length and at most `tokens` tokens, the longest first so that none ends late."""
    found: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda position: -lengths[position]):
        length = lengths[index]
        if found and lengths[found[-1][0]] == length and (len(found[-1]) + 1) * length <= tokens:
            found[-1].append(index)
        else:
            found.append([index])
    return found


def _cores() -> int:
    """The cores this process may use; not every system can say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


MAX_TOKENS = 256
"""Tokens of a text that its vector is made of, the two special ones and the prefix included."""
PASSAGE, QUESTION = "passage: ", "query: "
"""The prefixes of texts and of questions that E5 was trained with."""


class E5:
    """multilingual-e5-small, for texts of every language and script.

    The model's own cosines lie between 0.7 and 0.9 for any two texts. So the mean vector of texts, and of questions
    theirs, is taken off: cosines then spread as those of other models do. Its activations are quantized with fixed
    ranges. Safe to call from several threads; loaded at the first call. A vector depends on its text alone.
    """

    id = "multilingual-e5-small-int8-2"
    folder = Path(__file__).parent / "multilingual-e5-small"
    dimension = 384

    def __init__(self, threads: int = 0, folder: Path | None = None) -> None:
        """`threads` 0: as many as this process may use. `folder` holds the files the manifest lists."""
        self._threads, self._folder = threads, folder or self.folder
        self._lock = threading.Lock()
        self._model: tuple[Loaded, WordPieces, NDArray[np.float32]] | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), 384), float32, rows of length 1. Any text, also an empty one, gives a vector.

        Only the first 256 tokens of a text count. Raises ModelError if the model's files are missing or damaged.
        """
        return self._embed(PASSAGE, texts) if texts else np.zeros((0, self.dimension), np.float32)

    def _load(self) -> tuple[Loaded, WordPieces, NDArray[np.float32]]:
        """The model, its vocabulary, and the mean vectors that come with it. Raises ModelError."""
        with self._lock, ThreadPoolExecutor(1) as side:
            if self._model is None:
                files = verified_files(self._folder, self.id)
                pieces = side.submit(WordPieces, files["tokenizer.json"], MAX_TOKENS)  # while the model is loaded
                centres = np.frombuffer(files["centres.f32"], "<f4").reshape(-1, self.dimension)
                loaded = load(files["model.onnx"], self._threads, "embedding model")
                self._model = loaded, pieces.result(), centres
            return self._model

    def vocabulary(self) -> WordPieces:
        """Its word pieces. Raises what `embed` does."""
        return self._load()[1]

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """The vector of a text to search by, shape (384,). Raises what `embed` does."""
        found: NDArray[np.float32] = self._embed(QUESTION, [text])[0]
        return found

    def _embed(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        loaded, pieces, centres = self._load()
        tokens = pieces.read([prefix + text for text in texts])
        vectors = sentence_vectors(loaded, tokens, self.dimension)
        vectors -= centres[0 if prefix == PASSAGE else 1]
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)
