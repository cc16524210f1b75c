"""The cross-encoder in torch: all-MiniLM-L6-v2 with kinds of tokens, a relevance head and a span head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from crag.models.pairing import KINDS, MAX_PAIR

__all__ = ["CrossEncoder", "Read"]

HIDDEN, HEADS, LAYERS = 384, 12, 6
DROPOUT = 0.1


class Layer(nn.Module):
    """One BERT layer; query, key and value in one product."""

    def __init__(self) -> None:
        super().__init__()
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
        kept = torch.rand(x.shape[0], 1, HIDDEN) >= DROPOUT
        return x * (kept / (1 - DROPOUT)).to(x.dtype)


def _attended(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Attention by plain products: on a CPU in bfloat16 three times as fast, there and back, as torch's fused one."""
    batch, wanted, _ = query.shape
    length, size = key.shape[1], HIDDEN // HEADS

    def by_head(x: torch.Tensor) -> torch.Tensor:
        return x.view(batch, -1, HEADS, size).transpose(1, 2).reshape(batch * HEADS, -1, size)

    scores = torch.bmm(by_head(query) * size**-0.5, by_head(key).transpose(1, 2))
    scores = scores.view(batch, HEADS, wanted, length) + mask.to(scores.dtype)
    shares = torch.softmax(scores, dim=-1).to(value.dtype).view(batch * HEADS, wanted, length)
    mixed = torch.bmm(shares, by_head(value)).view(batch, HEADS, wanted, size)
    return mixed.transpose(1, 2).reshape(batch, wanted, HIDDEN)


class Read(NamedTuple):
    """`relevance`: a logit, (batch). `start`, `end`: logits (batch, length), at the first position of no answer.

    `closeness`: the embedding model's cosine of question and text, as guessed, (batch).
    """

    relevance: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor
    closeness: torch.Tensor


class CrossEncoder(nn.Module):
    """Token ids, kinds and mask (batch, length) to what `Read` holds.

    Relevance is read from [CLS] and the mean of the question's tokens, so the last layer works out those alone.
    Spans are read from the layer before. Guessing the cosine keeps what the published encoder knew of likeness.
    """

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(30522, HIDDEN)
        self.positions = nn.Embedding(MAX_PAIR, HIDDEN)
        self.kinds = nn.Embedding(len(KINDS), HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.relevance_hidden = nn.Linear(2 * HIDDEN, HIDDEN)
        self.relevance = nn.Linear(HIDDEN, 1)
        self.closeness = nn.Linear(HIDDEN, 1)
        self.span = nn.Linear(HIDDEN, 2)

    def forward(self, ids: torch.Tensor, kinds: torch.Tensor, real: torch.Tensor, asked: torch.Tensor) -> Read:
        places = torch.arange(ids.shape[1])
        x = self.norm(self.words(ids) + self.positions(places) + self.kinds(kinds))
        mask = torch.where(real, 0.0, -1e4)[:, None, None, :]
        for layer in self.layers[:-1]:
            x = layer(x, mask)
        span = self.span(x.float())
        question = int(asked.sum(dim=1).max()) + 1
        x = self.layers[-1](x, mask, question).float()
        weights = asked[:, :question].float() / asked.sum(dim=1, keepdim=True)
        pooled = torch.cat([x[:, 0], torch.einsum("bl,blh->bh", weights, x)], dim=-1)
        hidden = torch.tanh(self.relevance_hidden(pooled))
        return Read(self.relevance(hidden)[:, 0], span[..., 0], span[..., 1], self.closeness(hidden)[:, 0])

    def begin(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Takes over the published encoder's weights; heads start at random, kinds as its one type."""
        state = self.state_dict()

        def put(name: str, value: NDArray[np.float32]) -> None:
            state[name].copy_(torch.from_numpy(value.copy()))

        put("words.weight", weights["embeddings.word_embeddings.weight"])
        put("positions.weight", weights["embeddings.position_embeddings.weight"][:MAX_PAIR])
        put("kinds.weight", np.repeat(weights["embeddings.token_type_embeddings.weight"][:1], len(KINDS), axis=0))
        state["kinds.weight"] += torch.randn(len(KINDS), HIDDEN) * 0.01
        for side in ("weight", "bias"):
            put(f"norm.{side}", weights[f"embeddings.LayerNorm.{side}"])
            for number in range(LAYERS):
                old, new = f"encoder.layer.{number}", f"layers.{number}"
                parts = [weights[f"{old}.attention.self.{part}.{side}"] for part in ("query", "key", "value")]
                put(f"{new}.qkv.{side}", np.concatenate(parts))
                put(f"{new}.out.{side}", weights[f"{old}.attention.output.dense.{side}"])
                put(f"{new}.attended.{side}", weights[f"{old}.attention.output.LayerNorm.{side}"])
                put(f"{new}.up.{side}", weights[f"{old}.intermediate.dense.{side}"])
                put(f"{new}.down.{side}", weights[f"{old}.output.dense.{side}"])
                put(f"{new}.done.{side}", weights[f"{old}.output.LayerNorm.{side}"])
        self.load_state_dict(state)
