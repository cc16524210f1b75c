"""The encoders that the evaluator's heads can be trained on: what reads text for them, and the weights they begin with.

`minilm` is what ships. `e5-12` and `e5-6` are multilingual-e5-small, all of its layers or every second one, with the
word table of the embedder that ships: it stays frozen, so that both can share one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from crag.models.any_language import PieceReader
from crag.models.cross_encoder import MAX_PAIR
from crag.models.runtime import verified_files
from training.minilm_graph import FourBits
from training.samples import MODELS, Reader
from training.shipped_weights import read_encoder_weights, shipped_weights

LAYER = "encoder.layer."
WORDS, SCALES, POSITIONS = "words", "words.scale", "positions"


class E5Reader(Reader):
    """Pairs to samples with the multilingual embedder's tokenizer."""

    folder = MODELS / "multilingual-e5-small"
    special = "<s>", "</s>", "<mask>"
    last_special = 3

    words_of = PieceReader


@dataclass(frozen=True)
class Body:
    """`kept`: which of its encoder's layers it has. `shared`: its words are the embedder's, and are not saved."""

    layers: int
    words: int
    reader: type[Reader]
    kept: tuple[int, ...] = ()
    shared: bool = False

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """What it begins with, under published names: the evaluator or the embedder that ships."""
        return self.keep_layers(read_e5_weights()) if self.shared else shipped_weights()

    def keep_layers(self, weights: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
        """Weights of all layers of an encoder; those that are `kept` become the first ones."""
        found = {name: value for name, value in weights.items() if not name.startswith(LAYER)}
        for new, old in enumerate(self.kept):
            part = f"{LAYER}{old}."
            found |= {
                f"{LAYER}{new}.{name.removeprefix(part)}": value
                for name, value in weights.items()
                if name.startswith(part)
            }
        return found


def read_e5_weights() -> dict[str, NDArray[np.float32]]:
    """The shipped embedder's weights, of its int8 graph.

    Its table of positions ends at 256, where the embedder stops to read: those after it begin as the ones 64 before.
    """
    given = _constants()
    found = read_encoder_weights(given)
    positions = given[POSITIONS]
    more = MAX_PAIR - len(positions)
    found["embeddings.position_embeddings.weight"] = np.concatenate([positions, positions[len(positions) - more :]])
    # The table of positions holds the one type of token already.
    found["embeddings.token_type_embeddings.weight"] = np.zeros((1, positions.shape[1]), np.float32)
    table = read_word_table()
    scales = np.repeat(table.scales, table.block, axis=1)
    found["embeddings.word_embeddings.weight"] = table.integers.astype(np.float32) * scales
    return found


def read_word_table() -> FourBits:
    """The embedder's words as its graph holds them."""
    given = _constants(words=True)
    scales = given[SCALES].astype(np.float32)
    rows, blocks = scales.shape
    size = given[WORDS].shape[1]
    return FourBits(given[WORDS].reshape(rows, size).astype(np.int8), scales, size // blocks)


def _constants(*, words: bool = False) -> dict[str, NDArray[np.generic]]:
    from crag.models.runtime import E5  # its configuration needs what a lent machine is without

    graph = onnx.load_model_from_string(verified_files(E5.folder, E5.id)["model.onnx"]).graph
    wanted = {WORDS, SCALES}
    return {each.name: numpy_helper.to_array(each) for each in graph.initializer if (each.name in wanted) == words}


BODIES = {
    "minilm": Body(6, 30_522, Reader),
    "e5-12": Body(12, 250_002, E5Reader, tuple(range(12)), shared=True),
    "e5-6": Body(6, 250_002, E5Reader, (0, 2, 4, 7, 9, 11), shared=True),
}
