"""A large language model as the evaluator's teacher, on a machine with a GPU that is lent for minutes.

    python -m training.teacher pack FILE.gguf           # here: runs/teacher, in parts that can travel one by one
    python -m training.teacher train --minutes M        # there: fit the teacher on hard labels
    python -m training.teacher label --minutes M        # there: its logit for as many pairs as there is time for

The teacher is the first layers of a Qwen2 model, with one logit read at the last token. It reads the text first, then
the question. It needs torch, transformers, gguf, numpy and tokenizers. `train` prints its figures on held-out pairs, so
that it is known whether there is anything to learn from it. `label` writes `said.npz`, which `training.lent train`
mixes into the targets of a recipe.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from torch import nn
from torch.nn import functional

from corpora.measures import auc
from corpora.pair import Pair
from training.figures import draw_checks
from training.lent import FOLDER as LENT
from training.lent import HELD, PAIRS
from training.packed import SAID, Packed, pair_key
from training.soups import read_held_out
from training.torch_model import shorten

FOLDER = LENT.parent / "teacher"
WORDS, TOKENIZER, CONFIG = "words.npz", "qwen.json", "config.json"
LAYER = "blk.{}.npz"
STATE = "teacher.pt"
LONGEST = 360, 40
"""Tokens of a text and of a question that are read."""
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Where Qwen2 cuts text before its pairs of bytes are joined."""
SEED = 70
RATE, WARM_UP = 2e-5, 40
TOKENS = 16_384
POOL = 4096
NAMES = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""What a GGUF file calls the parts of a layer, and what transformers calls them."""


def main(arguments: Sequence[str] | None = None) -> None:
    began = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--lent", type=Path, default=LENT)
    does = parser.add_subparsers(dest="does", required=True)
    packing = does.add_parser("pack")
    packing.add_argument("file", type=Path)
    packing.add_argument("--layers", type=int, default=16)
    fitting, labelling = does.add_parser("train"), does.add_parser("label")
    for each in (packing, fitting, labelling):
        each.add_argument("--epochs", type=int, default=3)
        each.add_argument("--most", type=int, default=0, help="pairs; 0: all")
    for each in (fitting, labelling):
        each.add_argument("--minutes", type=float, required=True, help="of this command, loading included")
        each.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
        each.add_argument("--tokens", type=int, default=TOKENS)
        each.add_argument("--rate", type=float, default=RATE)
    labelling.add_argument("--out", type=Path, help="a folder that is brought back: a copy goes there")
    given = parser.parse_args(arguments)
    {"pack": pack, "train": train, "label": label}[given.does](given, began)


def pack(given: argparse.Namespace, began: float) -> None:
    """Write the first layers as the file has them, one part each, and the words that the pairs use."""
    import gguf

    file = gguf.GGUFReader(given.file)
    given.folder.mkdir(parents=True, exist_ok=True)
    tensors = {each.name: each for each in file.tensors}
    fields = {name: each.contents() for name, each in file.fields.items() if not name.startswith("GGUF.")}
    tokens, merges = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.merges"]
    tokenizer = Tokenizer(
        models.BPE(
            vocab={token: number for number, token in enumerate(tokens)},
            merges=[tuple(each.split(" ", 1)) for each in merges],
        )
    )
    cut = pre_tokenizers.Split(Regex(SPLIT), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(given.folder / TOKENIZER), pretty=False)
    used = np.array(sorted(_list_used(given, tokenizer)), np.int64)
    words = tensors["token_embd.weight"]
    np.savez(given.folder / WORDS, used=used, data=words.data[used], kind=np.array(int(words.tensor_type)))
    for number in range(given.layers):
        parts: dict[str, NDArray[Any]] = {}
        for name, each in tensors.items():
            if name.startswith(f"blk.{number}."):
                parts[name] = each.data
                parts[f"{name}:kind"] = np.array(int(each.tensor_type))
        np.savez(given.folder / LAYER.format(number), **parts)  # type: ignore[arg-type]
    about = {name.removeprefix("qwen2."): value for name, value in fields.items() if name.startswith("qwen2.")}
    (given.folder / CONFIG).write_text(json.dumps({**about, "words": len(tokens)}), "utf-8")
    size = sum(each.stat().st_size for each in given.folder.iterdir())
    print(f"{given.layers} layers, {len(used)} of {len(tokens)} words: {size / 1e6:.0f} MB", flush=True)


def _list_used(given: argparse.Namespace, tokenizer: Tokenizer) -> set[int]:
    used = set[int]()
    sets, weak = read_held_out(given.lent / HELD)
    pairs = draw_pairs(given) + [pair for held in sets.values() for pair in held]
    pairs += [pair for each in (*weak.same, *weak.found) for pair in (each.right, *each.wrong)]
    ordered = sorted({ASK, END, *(text for pair in pairs for text in (pair.question, pair.read))})
    for at in range(0, len(ordered), 10_000):
        for encoding in tokenizer.encode_batch(ordered[at : at + 10_000], add_special_tokens=False):
            used.update(encoding.ids)
    return used


ASK, END = "\n\nQuestion: ", "\nDoes the text answer it?"


class Teacher(nn.Module):
    """The first layers of a language model, and a logit read at the last token."""

    def __init__(self, config: dict[str, Any], layers: int, words: int) -> None:
        from transformers import Qwen2Config, Qwen2Model

        super().__init__()
        self.body = Qwen2Model(
            Qwen2Config(
                vocab_size=words,
                hidden_size=config["embedding_length"],
                intermediate_size=config["feed_forward_length"],
                num_hidden_layers=layers,
                num_attention_heads=config["attention.head_count"],
                num_key_value_heads=config["attention.head_count_kv"],
                rms_norm_eps=config["attention.layer_norm_rms_epsilon"],
                rope_parameters={"rope_type": "default", "rope_theta": config["rope.freq_base"]},
                max_position_embeddings=2048,
                use_cache=False,
                attn_implementation="sdpa",
            )
        )
        self.relevance = nn.Linear(config["embedding_length"], 1)

    def forward(self, ids: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
        """Padding stands at the end, where no real token sees it: no mask is needed."""
        hidden = self.body(input_ids=ids, use_cache=False).last_hidden_state
        read = hidden[torch.arange(len(ids), device=ids.device), last].float()
        logits: torch.Tensor = self.relevance(read)[:, 0]
        return logits


def load(folder: Path, device: torch.device) -> tuple[Teacher, NDArray[np.int64]]:
    """The teacher with as many layers as have arrived, and the place of each word in its shorter table."""
    from gguf.quants import dequantize

    def read(path: Path) -> dict[str, NDArray[np.float32]]:
        with np.load(path, allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files}
        return {
            name: dequantize(value, _kind(parts[f"{name}:kind"])).astype(np.float32)
            for name, value in parts.items()
            if not name.endswith(":kind")
        }

    config = json.loads((folder / CONFIG).read_text("utf-8"))
    layers = 0
    while (folder / LAYER.format(layers)).exists():
        layers += 1
    with np.load(folder / WORDS, allow_pickle=False) as file:
        used, table = file["used"], dequantize(file["data"], _kind(file["kind"]))
    places = np.zeros(config["words"], np.int64)
    places[used] = np.arange(len(used))
    with torch.device("meta"):
        teacher = Teacher(config, layers, len(used))
    teacher = teacher.to_empty(device="cpu")
    state = {"body.embed_tokens.weight": torch.from_numpy(table.astype(np.float32))}
    with ThreadPoolExecutor(8) as threads:
        for number, parts in enumerate(threads.map(read, (folder / LAYER.format(each) for each in range(layers)))):
            for name, value in parts.items():
                part, end = name.removeprefix(f"blk.{number}.").rsplit(".", 1)
                state[f"body.layers.{number}.{NAMES[part]}.{end}"] = torch.from_numpy(value)
    state["body.norm.weight"] = torch.ones(config["embedding_length"])
    state["relevance.weight"] = torch.zeros(1, config["embedding_length"])
    state["relevance.bias"] = torch.full((1,), -1.0)
    teacher.load_state_dict(state)
    rotary = type(teacher.body.rotary_emb)(teacher.body.config)  # its frequencies are no weights
    teacher.body.rotary_emb = rotary
    print(f"{layers} layers, {sum(each.numel() for each in teacher.parameters()) / 1e6:.0f} M weights", flush=True)
    return teacher.to(device), places


def _kind(stored: NDArray[Any]) -> Any:
    from gguf import GGMLQuantizationType

    return GGMLQuantizationType(int(stored))


class PromptReader:
    """Pairs to the numbers of tokens that the teacher reads."""

    def __init__(self, folder: Path, places: NDArray[np.int64]) -> None:
        self.tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.places = places
        self.ask, self.end = (self._encode([each])[0] for each in (ASK, END))

    def _encode(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        return [self.places[each.ids] for each in self.tokenizer.encode_batch(texts, add_special_tokens=False)]

    def read(self, pairs: Sequence[Pair]) -> list[NDArray[np.int64]]:
        text, question = LONGEST
        texts, questions = self._encode([pair.read for pair in pairs]), self._encode([pair.question for pair in pairs])
        return [
            np.concatenate([one[:text], self.ask, other[:question], self.end])
            for one, other in zip(texts, questions, strict=True)
        ]


def deal(lengths: Sequence[int], tokens: int, dice: random.Random) -> Iterator[list[int]]:
    """Numbers of prompts in steps of about `tokens` tokens, those of like length together, steps in any order."""
    order = sorted(range(len(lengths)), key=lambda number: lengths[number])
    steps: list[list[int]] = [[]]
    for number in order:
        if steps[-1] and (len(steps[-1]) + 1) * lengths[number] > tokens:
            steps.append([])
        steps[-1].append(number)
    dice.shuffle(steps)
    yield from steps


def pad(prompts: Sequence[NDArray[np.int64]], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Prompts one below the other, and where each ends."""
    ids = np.zeros((len(prompts), max(len(each) for each in prompts)), np.int64)
    for row, each in enumerate(prompts):
        ids[row, : len(each)] = each
    last = np.array([len(each) - 1 for each in prompts])
    return torch.from_numpy(ids).to(device, non_blocking=True), torch.from_numpy(last).to(device, non_blocking=True)


def draw_pairs(given: argparse.Namespace) -> list[Pair]:
    """All pairs of the epochs once, in a random order that is the same for every command."""
    packed = Packed(given.lent / PAIRS)
    pairs = {pair_key(pair): pair for number in range(given.epochs) for pair in packed.epoch(number)}
    found = list(pairs.values())
    random.Random(SEED).shuffle(found)
    return found[: given.most or None]


def train(given: argparse.Namespace, began: float) -> None:
    """Fit all weights to the hard labels until the time is up; save them in 16 bits and print held-out figures."""
    device = torch.device(given.device)
    with ThreadPoolExecutor(1) as thread:
        drawing = thread.submit(draw_pairs, given)
        teacher, places = load(given.folder, device)
        pairs = drawing.result()
    reader = PromptReader(given.folder, places)
    print(f"{len(pairs)} pairs after {time.monotonic() - began:.0f} s", flush=True)
    matrices = [each for each in teacher.parameters() if each.ndim == 2]
    rest = [each for each in teacher.parameters() if each.ndim != 2]
    head = {id(each) for each in teacher.relevance.parameters()}
    groups = [
        {"params": [each for each in matrices if id(each) not in head], "weight_decay": 0.01, "top": given.rate},
        {"params": [each for each in rest if id(each) not in head], "weight_decay": 0.0, "top": given.rate},
        {"params": [each for each in teacher.parameters() if id(each) in head], "weight_decay": 0.0, "top": 1e-3},
    ]
    optimizer = torch.optim.AdamW(groups, given.rate, betas=(0.9, 0.98), fused=given.device == "cuda")
    teacher.train()
    step = seen = 0
    started, until = time.monotonic(), began + given.minutes * 60
    for pool, prompts, chosen in _deal_pools(
        reader, [pairs[at : at + POOL] for at in range(0, len(pairs), POOL)], given
    ):
        now = time.monotonic()
        if now > until:
            break
        share = min(1.0, (step + 1) / WARM_UP) * (1 - (now - started) / (until - started))
        for group in optimizer.param_groups:
            group["lr"] = group["top"] * share
        with shorten(device):
            logits = teacher(*pad([prompts[each] for each in chosen], device))
        labels = torch.tensor([pool[each].label for each in chosen], device=device)
        weights = torch.tensor([pool[each].weight for each in chosen], device=device)
        loss = functional.binary_cross_entropy_with_logits(logits, labels, weights)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(teacher.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step, seen = step + 1, seen + len(chosen)
        if step in (1, 2, 20) or step % 50 == 0:
            print(f"step {step}, {seen} pairs, {now - began:.0f} s, loss {float(loss.detach()):.3f}", flush=True)
    del optimizer
    torch.save({name: value.bfloat16() for name, value in teacher.state_dict().items()}, given.folder / STATE)
    print(json.dumps({"step": step, "pairs": seen, "seconds": round(time.monotonic() - started)}), flush=True)
    print(json.dumps(measure(teacher.bfloat16(), reader, given, device)), flush=True)
    print(f"done after {time.monotonic() - began:.0f} s", flush=True)


def _read_ahead(
    reader: PromptReader, pools: Sequence[list[Pair]]
) -> Iterator[tuple[list[Pair], list[NDArray[np.int64]]]]:
    """Each pool with its prompts; the next one's are made meanwhile."""
    with ThreadPoolExecutor(1) as thread:
        waiting = [thread.submit(reader.read, pool) for pool in pools[:1]]
        for number, pool in enumerate(pools):
            prompts = waiting.pop().result()
            waiting += [thread.submit(reader.read, following) for following in pools[number + 1 : number + 2]]
            yield pool, prompts


def _deal_pools(
    reader: PromptReader, pools: Sequence[list[Pair]], given: argparse.Namespace
) -> Iterator[tuple[list[Pair], list[NDArray[np.int64]], list[int]]]:
    """The steps of each pool, with its pairs and prompts."""
    dice = random.Random(SEED)
    for pool, prompts in _read_ahead(reader, pools):
        for chosen in deal([len(each) for each in prompts], given.tokens, dice):
            yield pool, prompts, chosen


def measure(
    teacher: Teacher, reader: PromptReader, given: argparse.Namespace, device: torch.device
) -> dict[str, float]:
    """Areas under the curve on the held-out pairs that the evaluator is chosen by, and their mean."""
    sets, weak = read_held_out(given.lent / HELD)

    def score(pairs: Sequence[Pair]) -> NDArray[np.float64]:
        return np.concatenate([np.zeros(0), *(logits for _, logits in _said(teacher, reader, [list(pairs)], device))])

    found: dict[str, float] = {}
    for name, pairs in draw_checks(sets).items():
        hard = np.array([int(pair.label > 0.5) for pair in pairs])
        if 0 < hard.sum() < len(hard):
            found[name] = round(auc(hard, score(pairs)), 4)
    found["mean"] = round(float(np.mean(list(found.values()))), 4) if found else 0.0
    return {**found, **weak.figures(score)}


def _said(
    teacher: Teacher, reader: PromptReader, pools: Sequence[list[Pair]], device: torch.device
) -> Iterator[tuple[list[Pair], NDArray[np.float64]]]:
    """Each pool with its logits."""
    teacher.eval()
    for pool, prompts in _read_ahead(reader, [pool for pool in pools if pool]):
        logits = torch.zeros(len(pool), device=device)
        with torch.no_grad(), shorten(device):
            for chosen in deal([len(each) for each in prompts], 2 * TOKENS, random.Random(SEED)):
                found = teacher(*pad([prompts[each] for each in chosen], device))
                logits[torch.tensor(chosen, device=device)] = found.float()
        yield pool, logits.double().cpu().numpy()


def label(given: argparse.Namespace, began: float) -> None:
    """Write the fitted teacher's logits: what it was not fitted on first, then the rest."""
    if not (given.folder / STATE).exists():
        raise SystemExit(f"There is no {given.folder / STATE}: run `python -m training.teacher train` first.")
    device = torch.device(given.device)
    with ThreadPoolExecutor(1) as thread:
        drawing = thread.submit(draw_pairs, given)
        teacher, places = load(given.folder, torch.device("cpu"))
        teacher = teacher.bfloat16()
        teacher.load_state_dict(torch.load(given.folder / STATE, "cpu", weights_only=True))
        teacher.to(device)
        teacher.body.rotary_emb.float()
        pairs = drawing.result()[::-1]
    reader = PromptReader(given.folder, places)
    print(f"{len(pairs)} pairs after {time.monotonic() - began:.0f} s", flush=True)
    keys: list[int] = []
    logits: list[NDArray[np.float64]] = []
    pools = [pairs[at : at + 2 * POOL] for at in range(0, len(pairs), 2 * POOL)]
    for pool, said in _said(teacher, reader, pools, device):
        keys += [pair_key(pair) for pair in pool]
        logits.append(said)
        if time.monotonic() > began + given.minutes * 60:
            break
    found = np.concatenate(logits).astype(np.float16)
    np.savez(given.lent / SAID, keys=np.array(keys, np.uint64), logits=found)
    hard = np.array([int(pair.label > 0.5) for pair in pairs[: len(found)]])
    print(json.dumps({"labelled": len(found), "auc": round(auc(hard, found.astype(np.float64)), 4)}), flush=True)
    if given.out:
        shutil.copy(given.lent / SAID, given.out)


if __name__ == "__main__":
    main()
