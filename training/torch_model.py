"""The cross-encoder in torch: all-MiniLM-L6-v2 with kinds of tokens and heads for relevance, place and evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from crag.models.cross_encoder import KINDS, MAX_PAIR
from training.minilm_graph import READ_OUT

HIDDEN, HEADS = 384, 12
DROPOUT = 0.1


def shorten(device: torch.device) -> torch.autocast:
    """Products in bfloat16 where that is fast: without AVX-512 a processor takes eighty times as long as in 32 bits."""
    fast = device.type != "cpu" or torch.backends.cpu.get_cpu_capability() not in {"DEFAULT", "AVX2"}
    return torch.autocast(device.type, torch.bfloat16, enabled=fast)


class Layer(nn.Module):
    """One BERT layer; query, key and value in one product."""

    def __init__(self, dropout: float = DROPOUT) -> None:
        super().__init__()
        self.dropout = dropout
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.out = nn.Linear(HIDDEN, HIDDEN)
        self.attended = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.up = nn.Linear(HIDDEN, 4 * HIDDEN)
        self.down = nn.Linear(4 * HIDDEN, HIDDEN)
        self.done = nn.LayerNorm(HIDDEN, eps=1e-12)

    def forward(self, x: torch.Tensor, mask: torch.Tensor, only: int = 0) -> torch.Tensor:
        """`only`: how many first positions are wanted; 0: all."""
        first = x[:, :only] if only else x
        if only:
            query = functional.linear(first, self.qkv.weight[:HIDDEN], self.qkv.bias[:HIDDEN])
            key, value = functional.linear(x, self.qkv.weight[HIDDEN:], self.qkv.bias[HIDDEN:]).chunk(2, dim=-1)
        else:
            query, key, value = self.qkv(x).chunk(3, dim=-1)
        mixed = _attended(query, key, value, mask)
        x = self.attended(first + self._dropped(self.out(mixed)))
        return self.done(x + self._dropped(self.down(functional.gelu(self.up(x)))))

    def _dropped(self, x: torch.Tensor) -> torch.Tensor:
        """Dropout of the same features at all positions of an input: a hundredth of the usual one's dice to roll."""
        if not self.training:
            return x
        kept = torch.rand(x.shape[0], 1, HIDDEN, device=x.device) >= self.dropout
        return x * (kept / (1 - self.dropout)).to(x.dtype)


def _attended(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Attention by plain products: on a CPU in bfloat16 three times as fast, there and back, as torch's fused one.

    `mask`: what is added to the scores; on a GPU, where the fused one is used, which keys are real.
    """
    batch, wanted, _ = query.shape
    length, size = key.shape[1], HIDDEN // HEADS
    if query.is_cuda:
        parts = (x.view(batch, -1, HEADS, size).transpose(1, 2) for x in (query, key, value))
        fused = functional.scaled_dot_product_attention(*parts, attn_mask=mask)
        return fused.transpose(1, 2).reshape(batch, wanted, HIDDEN)

    def by_head(x: torch.Tensor) -> torch.Tensor:
        return x.view(batch, -1, HEADS, size).transpose(1, 2).reshape(batch * HEADS, -1, size)

    scores = torch.bmm(by_head(query) * size**-0.5, by_head(key).transpose(1, 2))
    scores = scores.view(batch, HEADS, wanted, length) + mask.to(scores.dtype)
    shares = torch.softmax(scores, dim=-1).to(value.dtype).view(batch * HEADS, wanted, length)
    mixed = torch.bmm(shares, by_head(value)).view(batch, HEADS, wanted, size)
    return mixed.transpose(1, 2).reshape(batch, wanted, HIDDEN)


class Read(NamedTuple):
    """`relevance`: a logit, (batch). `start`, `end`: logits (batch, length), at the first position of no answer.

    `keep`: for each token the logit of its being evidence, (batch, length). `closeness`: the embedding model's cosine
    of question and text, as guessed, (batch).
    """

    relevance: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor
    closeness: torch.Tensor
    keep: torch.Tensor


class CrossEncoder(nn.Module):
    """Token ids and kinds (batch, length), with how many are real and of the question, to what `Read` holds.

    Relevance is read from [CLS] and the mean of the question's tokens, so the last layer works out those alone.
    Spans and evidence are read from the layer before. Guessing the cosine keeps what the published encoder knew of
    likeness.
    """

    def __init__(self, layers: int = 6, words: int = 30522, dropout: float = DROPOUT) -> None:
        super().__init__()
        self.words = nn.Embedding(words, HIDDEN)
        self.positions = nn.Embedding(MAX_PAIR, HIDDEN)
        self.kinds = nn.Embedding(len(KINDS), HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(layers))
        self.relevance_hidden = nn.Linear(2 * HIDDEN, HIDDEN)
        self.relevance = nn.Linear(HIDDEN, 1)
        self.closeness = nn.Linear(HIDDEN, 1)
        self.span = nn.Linear(HIDDEN, 2)
        self.keep = nn.Linear(HIDDEN, 1)
        nn.init.constant_(self.keep.bias, -2.0)

    def forward(
        self, ids: torch.Tensor, kinds: torch.Tensor, real: torch.Tensor, asked: torch.Tensor, longest: int
    ) -> Read:
        """`real`, `asked`: how many tokens of each row are no padding, and of the question; `longest`: the most asked.

        `longest` is given beside `asked`, so that a GPU need not be waited for.
        """
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.positions(places) + self.kinds(kinds))
        mask = (places < real[:, None])[:, None, None, :]
        if not ids.is_cuda:
            mask = torch.where(mask, 0.0, -1e4)
        for layer in self.layers[:-1]:
            x = layer(x, mask)
        span, keep = self.span(x.float()), self.keep(x.float())[..., 0]
        question = longest + 1
        x = self.layers[-1](x, mask, question).float()
        asking = (places[:question] > 0) & (places[:question] <= asked[:, None])
        pooled = torch.cat([x[:, 0], torch.einsum("bl,blh->bh", asking.float() / asked[:, None], x)], dim=-1)
        hidden = torch.tanh(self.relevance_hidden(pooled))
        return Read(self.relevance(hidden)[:, 0], span[..., 0], span[..., 1], self.closeness(hidden)[:, 0], keep)

    def begin(self, weights: Mapping[str, NDArray[np.float32]]) -> set[str]:
        """Takes over an encoder's weights under their published names; returns which parts start at random.

        Of the published encoder those are the heads and the kinds, which start as its one type. An evaluator's weights,
        as `published_names` names them, have their own; a head that it lacks starts at random.
        """
        state = self.state_dict()
        given = {name: weights[name] for name in weights if name.split(".")[0] in {"kinds", *READ_OUT}}
        taken = {name: torch.from_numpy(np.array(value, np.float32)) for name, value in given.items()}
        if "kinds" in taken:
            taken["kinds.weight"] = taken.pop("kinds")
        else:
            row = torch.from_numpy(weights["embeddings.token_type_embeddings.weight"][:1].copy())
            state["kinds.weight"].copy_(row + torch.randn(len(KINDS), HIDDEN) * 0.01)
        for name, parts in _places(len(self.layers)).items():
            taken[name] = torch.from_numpy(np.concatenate([weights[part] for part in parts]).astype(np.float32))
        taken["positions.weight"] = taken["positions.weight"][:MAX_PAIR]
        for name, value in taken.items():
            state[name].copy_(value)
        self.load_state_dict(state)
        return {"kinds", *READ_OUT} - {name.split(".")[0] for name in taken}


def published_names(state: Mapping[str, torch.Tensor]) -> dict[str, NDArray[np.float32]]:
    """A trained state's tensors under the names that `training.minilm_graph` reads."""
    given = {name: tensor.float().numpy() for name, tensor in state.items()}
    found = {name: value for name, value in given.items() if name.split(".")[0] in READ_OUT}
    found["kinds"] = given["kinds.weight"]
    for name, parts in _places(len({name.split(".")[1] for name in given if name.startswith("layers.")})).items():
        if name not in given:  # words that are the embedder's
            continue
        found.update(zip(parts, np.split(given[name], len(parts)), strict=True))
    return found


def _places(layers: int) -> dict[str, tuple[str, ...]]:
    """For each tensor of the encoder here the published ones that it holds, one below the other."""
    found: dict[str, tuple[str, ...]] = {
        "words.weight": ("embeddings.word_embeddings.weight",),
        "positions.weight": ("embeddings.position_embeddings.weight",),
    }
    for side in ("weight", "bias"):
        found[f"norm.{side}"] = (f"embeddings.LayerNorm.{side}",)
        for number in range(layers):
            old, new = f"encoder.layer.{number}", f"layers.{number}"
            found[f"{new}.qkv.{side}"] = tuple(f"{old}.attention.self.{n}.{side}" for n in ("query", "key", "value"))
            found[f"{new}.out.{side}"] = (f"{old}.attention.output.dense.{side}",)
            found[f"{new}.attended.{side}"] = (f"{old}.attention.output.LayerNorm.{side}",)
            found[f"{new}.up.{side}"] = (f"{old}.intermediate.dense.{side}",)
            found[f"{new}.down.{side}"] = (f"{old}.output.dense.{side}",)
            found[f"{new}.done.{side}"] = (f"{old}.output.LayerNorm.{side}",)
    return found
