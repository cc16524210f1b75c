"""The shipped embedding model: all-MiniLM-L6-v2 in int8, run by onnxruntime on the CPU."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import ModelError
from crag.models.files import verified_files

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Tokenizer

__all__ = ["MAX_CHARACTERS", "MAX_TOKENS", "MiniLM"]

FOLDER = Path(__file__).parent / "all-minilm-l6-v2"
MAX_TOKENS = 256
"""A text's vector is made of its first so many tokens, the two special ones included."""
MAX_CHARACTERS = 16_000
"""What comes later in a text is never even cut into tokens: 254 tokens end long before, save in noise."""
BATCH_TOKENS = 1024
"""Tokens in one call of the model: enough to keep the arithmetic busy, little enough to stay in the cache."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    tokenizer: Tokenizer
    session: onnxruntime.InferenceSession
    pool: ThreadPoolExecutor


class MiniLM:
    """Texts to unit vectors of 384 numbers. Safe to call from several threads; loaded at the first call.

    A vector depends on the text alone: texts are batched only with texts of the same number of tokens (so
    nothing is padded) and activations are quantized with fixed ranges.
    """

    id = "all-minilm-l6-v2-int8-1"
    dimension = 384

    def __init__(self, threads: int = 0, folder: Path = FOLDER) -> None:
        """`threads` 0: as many as this process may use. `folder` holds the files the manifest lists."""
        self._threads = threads or _cores()
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), 384), float32, rows of length 1. Any text, also an empty one, gives a vector.

        Only the first 256 tokens of a text count. Raises ModelError if the model's files are missing or damaged.
        """
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        if not texts:
            return vectors
        loaded = self._load()
        encoded = loaded.tokenizer.encode_batch_fast([_readable(text) for text in texts])
        tokens = [encoding.ids for encoding in encoded]
        batches = _batches([len(ids) for ids in tokens])

        def run(batch: list[int]) -> None:
            ids = np.array([tokens[index] for index in batch], np.int64)
            vectors[batch] = loaded.session.run(["embedding"], {"input_ids": ids})[0]

        if len(batches) == 1:
            run(batches[0])
        else:
            # Whole batches side by side on one thread each beat one batch split over all threads by a fifth.
            for _ in loaded.pool.map(run, batches):
                pass
        return vectors

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has, the two special ones included; at most 256, where `embed` stops reading."""
        return len(self._load().tokenizer.encode_batch_fast([_readable(text)])[0].ids)

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(verified_files(self._folder, self.id), self._threads)
            return self._loaded


def _load(files: dict[str, bytes], threads: int) -> _Loaded:
    import onnxruntime
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_buffer(files["tokenizer.json"])
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        # "[SEP]" in a document is four characters of text and a word, never a control token.
        tokenizer.encode_special_tokens = True
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # every batch has another shape: plans would only pile up
        # The graph is fused by hand; the extended rewrites would put slower kernels back in.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(files["model.onnx"], options, providers=["CPUExecutionProvider"])
    except Exception as error:  # both libraries raise bare Exceptions for files they cannot use
        raise ModelError(f"The embedding model can't be loaded ({error}).") from error
    return _Loaded(tokenizer, session, ThreadPoolExecutor(threads, thread_name_prefix="minilm"))


def _readable(text: str) -> str:
    """The part of a text that can count, with lone surrogates (which UTF-8 has no bytes for) as question marks."""
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Indexes in batches of one length and at most BATCH_TOKENS tokens, the longest first so that none ends late."""
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda position: -lengths[position]):
        length = lengths[index]
        if batches and lengths[batches[-1][0]] == length and (len(batches[-1]) + 1) * length <= BATCH_TOKENS:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def _cores() -> int:
    """The cores this process may use; not every system can say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
