"""The cross-encoder in torch: all-MiniLM-L6-v2 with kinds of tokens, a relevance head and a span head."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from crag.models.pairing import KINDS, MAX_PAIR

__all__ = ["CrossEncoder"]

HIDDEN, HEADS, LAYERS = 384, 12, 6


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

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        heads = self.qkv(x).view(batch, length, 3, HEADS, HIDDEN // HEADS).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], attn_mask=mask)
        x = self.attended(x + self.out(mixed.transpose(1, 2).reshape(batch, length, HIDDEN)))
        return self.done(x + self.down(functional.gelu(self.up(x))))


class CrossEncoder(nn.Module):
    """Token ids, kinds and mask (batch, length) to a relevance logit (batch) and start and end logits (batch, length).

    The relevance logit is read from [CLS] and the mean of the question's tokens. The first position's start
    and end logits stand for "no answer here", as in SQuAD 2.0 readers.
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
        self.span = nn.Linear(HIDDEN, 2)

    def forward(
        self, ids: torch.Tensor, kinds: torch.Tensor, real: torch.Tensor, asked: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        places = torch.arange(ids.shape[1])
        x = self.norm(self.words(ids) + self.positions(places) + self.kinds(kinds))
        for layer in self.layers:
            x = layer(x, real[:, None, None, :])
        x = x.float()
        weights = asked.float() / asked.sum(dim=1, keepdim=True)
        pooled = torch.cat([x[:, 0], torch.einsum("bl,blh->bh", weights, x)], dim=-1)
        relevance = self.relevance(torch.tanh(self.relevance_hidden(pooled)))[:, 0]
        span = self.span(x)
        return relevance, span[..., 0], span[..., 1]

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
