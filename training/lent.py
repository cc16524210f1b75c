"""Training on a machine with a GPU that is lent for minutes: pack here, train there, bring back and evaluate here.

    python -m training.lent pack [--windows]                   # here: runs/lent, as small as it can be
    python -m training.lent train NAME --minutes M --out OUT   # there: with torch, numpy and tokenizers alone
    python -m training.lent blend NAMES --out OUT              # there: the best average of what was trained
    python -m training.lent fetch NAME OUT                     # here: runs/lent/NAME/model.pt and a line in runs.jsonl

NAME is one of RECIPES. `train` begins at the evaluator that ships or at the embedder (`e5-12`, `e5-6`), and the rate
falls to zero with the time. What it writes to OUT is cut into files of at most 15 MB.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from corpora.pair import Pair, held_out
from corpora.places import DATA, ROOT
from training import checkpoints
from training.bodies import BODIES, Body
from training.checkpoints import quantize, restore
from training.feed import Epochs, Feed
from training.packed import Packed, pack_pairs
from training.run import Run, complete, load_shipped
from training.soups import CHOSEN_BY, SHOWN, HeldOut, average, choose_shares, read_held_out, write_held_out
from training.torch_model import DROPOUT, CrossEncoder
from training.weak_points import WeakPoints

FOLDER, PACK = ROOT / "runs" / "lent", ROOT / "runs" / "mined.zip"
RUNS = ROOT / "training" / "runs.jsonl"
PAIRS, HELD = "pairs.zip", "held.xz"
SEED, EPOCHS, FIRST = 60, 7, 87_000
"""FIRST: pairs of the first sources in each epoch, beside all mined ones."""
TOKENS = 32_768
STEPS = 19_000
"""More than there is time for."""
LARGEST = 15_000_000
"""Bytes of one file that is brought back."""
WORDS = "embeddings.word_embeddings.weight"
BLEND = "blend"


@dataclass(frozen=True)
class Recipe:
    """How one set of weights is trained.

    `teacher`: the share of each target that the weights it begins with say.
    """

    body: str
    rate: float
    seed: int = SEED
    dropout: float = DROPOUT
    teacher: float = 0.0


RECIPES = {
    "minilm": Recipe("minilm", 3e-4),
    "soft": Recipe("minilm", 3e-4, 61, 0.15, 0.5),
    "slow": Recipe("minilm", 1e-4, 62, 0.1, 0.3),
    "e5-12": Recipe("e5-12", 2e-4),
    "e5-6": Recipe("e5-6", 3e-4),
}
"""Those of one body are trained side by side, to be averaged."""


def main(arguments: Sequence[str] | None = None) -> None:
    began = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    does = parser.add_subparsers(dest="does", required=True)
    packing = does.add_parser("pack")
    packing.add_argument("--data", type=Path, default=DATA)
    packing.add_argument("--epochs", type=int, default=EPOCHS)
    packing.add_argument("--windows", action="store_true", help="for the reader of every language: windows alone")
    training = does.add_parser("train")
    training.add_argument("name", choices=tuple(RECIPES))
    training.add_argument("--minutes", type=float, required=True, help="of training, loading included")
    training.add_argument("--out", type=Path, required=True)
    training.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    training.add_argument("--workers", type=int, default=5)
    training.add_argument("--tokens", type=int, default=TOKENS)
    training.add_argument("--steps", type=int, default=STEPS)
    blending = does.add_parser("blend")
    blending.add_argument("names", nargs="+", choices=tuple(RECIPES))
    blending.add_argument("--out", type=Path, required=True)
    blending.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    fetching = does.add_parser("fetch")
    fetching.add_argument("name", choices=(*RECIPES, BLEND))
    fetching.add_argument("out", type=Path)
    fetching.add_argument("--note", default="")
    given = parser.parse_args(arguments)
    if given.does == "pack":
        pack(given)
    elif given.does == "train":
        train(given, began)
    elif given.does == "blend":
        blend(given)
    else:
        fetch(given)


def pack(given: argparse.Namespace) -> None:
    """Write what travels: pairs, and the weights that each body begins with."""
    from corpora.pairs import Corpus
    from corpora.sources.checks import checks
    from training.mined import Mined, draw_weak_points
    from training.vectors import remembered
    from training.windows import Windows

    corpus = Corpus(given.data, remembered)
    if given.windows:
        windows = Windows(corpus)
        print(json.dumps(pack_pairs(map(windows.epoch, range(SEED, SEED + given.epochs)), given.folder / PAIRS)))
        write_held_out(windows.checks(), WeakPoints([], []), given.folder / HELD)
        save_e5(given)
        return
    mined = Mined(PACK)
    print(json.dumps(pack_pairs(draw_epochs(corpus, mined, given.epochs), given.folder / PAIRS)), flush=True)
    size = write_held_out(checks(corpus), draw_weak_points(mined.pack), given.folder / HELD)
    print(f"{HELD}: {size / 1e6:.1f} MB", flush=True)
    save_start(BODIES["minilm"].weights(), given.folder / "minilm.npz", None, {})
    save_e5(given)


def save_e5(given: argparse.Namespace) -> None:
    texts = list_texts(Packed(given.folder / PAIRS), given.epochs)
    save_start(BODIES["e5-12"].weights(), given.folder / "e5.npz", list_used(BODIES["e5-12"], texts), {})


def draw_epochs(first: Epochs, mined: Epochs, count: int) -> Iterator[list[Pair]]:
    """All mined pairs of an epoch, with FIRST others: an epoch of those lasts for several of the mined ones."""
    left: list[Pair] = []
    drawn = SEED
    for number in range(count):
        if len(left) < FIRST:
            more = [pair for pair in first.epoch(drawn) if not held_out(pair.group)]
            random.Random(drawn).shuffle(more)  # an epoch comes source by source
            left += more
            drawn += 1
        yield [*mined.epoch(SEED + number), *left[:FIRST]]
        left = left[FIRST:]


def list_texts(packed: Packed, epochs: int) -> set[str]:
    """All that a reader meets."""
    pairs = [pair for number in range(epochs) for pair in packed.epoch(number)]
    return {pair.question for pair in pairs} | {pair.read for pair in pairs}


def list_used(body: Body, texts: set[str]) -> NDArray[np.int64]:
    """The numbers of the words that the texts have, the special ones among them."""
    tokenizer = body.reader().tokenizer
    used = set(range(body.reader.last_special + 2)) | {body.reader().mask}
    ordered = sorted(texts)
    for at in range(0, len(ordered), 10_000):
        for encoding in tokenizer.encode_batch(ordered[at : at + 10_000], add_special_tokens=False):
            used.update(encoding.ids)
    return np.array(sorted(used), np.int64)


def save_start(
    weights: Mapping[str, NDArray[np.float32]], path: Path, used: NDArray[np.int64] | None, about: Mapping[str, Any]
) -> None:
    """Weights to begin with, the table of words cut to those that are used."""
    table = weights[WORDS]
    used = np.arange(len(table)) if used is None else used
    stored = quantize({**{name: value for name, value in weights.items() if name != WORDS}, WORDS: table[used]})
    known = np.frombuffer(json.dumps(dict(about)).encode(), np.uint8)
    np.savez_compressed(path, used=used, rows=np.array(len(table)), about=known, **stored)  # type: ignore[arg-type]
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, {len(used)} of {len(table)} words", flush=True)


def read_start(path: Path, body: Body) -> tuple[dict[str, NDArray[np.float32]], dict[str, Any]]:
    """What `save_start` wrote, under published names; of a body that keeps fewer layers, those alone."""
    with np.load(path, allow_pickle=False) as file:
        stored = {name: file[name] for name in file.files}
    used, rows = stored.pop("used"), int(stored.pop("rows"))
    about: dict[str, Any] = json.loads(stored.pop("about").tobytes())
    weights = restore(stored)
    table = np.zeros((rows, weights[WORDS].shape[1]), np.float32)
    table[used] = weights[WORDS]
    weights[WORDS] = table
    return (body.keep_layers(weights) if body.shared else weights), about


def train(given: argparse.Namespace, began: float) -> None:
    """On the lent machine: train until the time is up, then write the average of the weights."""
    name, out, recipe = given.name, given.out, RECIPES[given.name]
    body = BODIES[recipe.body]
    out.mkdir(parents=True, exist_ok=True)
    given.out, given.device = given.folder / name, torch.device(given.device)
    given.out.mkdir(exist_ok=True)
    complete(given, **asdict(recipe), begin="lent", timed=True, every=float("inf"))
    given.data = given.folder / "none"
    feed = Feed(Packed(given.folder / PAIRS, given.seed), given.seed, given.tokens, given.workers, body.reader, "fork")
    torch.backends.cuda.enable_cudnn_sdp(False)  # it makes a plan for each new shape, and nearly every batch is one
    try:
        weights, about = read_start(given.folder / ("e5.npz" if body.shared else "minilm.npz"), body)
        torch.manual_seed(given.seed)
        run = Run(feed, given, began)
        run.begin(weights)
        print(f"{name}: begins after {time.monotonic() - began:.0f} s", flush=True)
        for step in run.steps():
            if step in (1, 20):
                print(f"{name}: step {step} after {time.monotonic() - began:.1f} s", flush=True)
    finally:
        feed.close()
    known = {"step": run.step, "pairs": run.seen, "seconds": round(run.watch.seconds), "device": given.device.type}
    known |= {"loss": [round(float(loss), 4) for loss in run.losses], "tokens": given.tokens, **asdict(recipe)}
    state = {each: value.float().cpu().numpy() for each, value in run.average.state_dict().items()}
    save_parts(state, out, name, half=False)
    (out / f"{name}.json").write_text(json.dumps({**known, "begin": about}), "utf-8")
    print(json.dumps(known), flush=True)


def blend(given: argparse.Namespace) -> None:
    """On the lent machine: write the average of what was trained, and of what ships, that held-out documents choose."""
    body = BODIES[RECIPES[given.names[0]].body]
    model = CrossEncoder(body.layers, body.words)
    weights, _ = read_start(given.folder / ("e5.npz" if body.shared else "minilm.npz"), body)
    model.begin(weights)
    states = {"ships": {name: value.numpy().copy() for name, value in model.state_dict().items()}}
    states |= {name: {**states["ships"], **read_parts(given.out, name)} for name in given.names}
    held, device = HeldOut(*read_held_out(given.folder / HELD), body.reader()), torch.device(given.device)
    model.to(device)
    tried = []

    def measure(shares: Mapping[str, float]) -> float:
        mixed = average(states, shares)
        model.load_state_dict({name: torch.from_numpy(value) for name, value in mixed.items()})
        figures = held.figures(model, device)
        tried.append({"shares": dict(shares), **figures})
        print(json.dumps({"shares": dict(shares), **{name: figures[name] for name in SHOWN}}), flush=True)
        return sum(figures[name] for name in CHOSEN_BY) / len(CHOSEN_BY)

    shares = choose_shares(list(states), measure)
    known = [json.loads((given.out / f"{name}.json").read_text("utf-8")) for name in given.names]
    about = {**known[0], **{name: sum(each[name] for each in known) for name in ("step", "pairs", "seconds")}}
    save_parts(average(states, shares), given.out, BLEND, half=True)
    (given.out / f"{BLEND}.json").write_text(json.dumps({**about, "shares": shares, "tried": tried}), "utf-8")
    print(json.dumps({"chosen": shares}), flush=True)


def save_parts(state: Mapping[str, NDArray[np.float32]], out: Path, name: str, *, half: bool) -> None:
    """The weights that were trained, in files of at most LARGEST bytes."""
    trained = {each: value for each, value in state.items() if each.split(".")[0] != checkpoints.FROZEN}
    stored = {each: value.astype(np.float16) for each, value in trained.items()} if half else quantize(trained)
    parts: list[dict[str, NDArray[Any]]] = [{}]
    for each, value in stored.items():
        if sum(other.nbytes for other in parts[-1].values()) + value.nbytes > LARGEST:
            parts.append({})
        parts[-1][each] = value
    for number, part in enumerate(parts):
        np.savez(out / f"{name}.{number}.npz", **part)  # type: ignore[arg-type]


def read_parts(out: Path, name: str) -> dict[str, NDArray[np.float32]]:
    stored: dict[str, NDArray[Any]] = {}
    for path in sorted(out.glob(f"{name}.*.npz")):
        with np.load(path, allow_pickle=False) as file:
            stored |= {each: file[each] for each in file.files}
    return restore(stored)


def fetch(given: argparse.Namespace) -> None:
    """Make a checkpoint of what came back and log it, evaluated here unless it was there."""
    known = json.loads((given.out / f"{given.name}.json").read_text("utf-8"))
    body = BODIES[known["body"]]
    model = load_shipped(body).eval()
    state = model.state_dict()
    for name, value in read_parts(given.out, given.name).items():
        state[name].copy_(torch.from_numpy(value))
    target = given.folder / given.name
    target.mkdir(parents=True, exist_ok=True)
    half = {name: value.half() for name, value in state.items() if not (body.shared and name == "words.weight")}
    torch.save(half, target / "model.pt")
    tried = known.pop("tried", ())
    figures = next((each for each in tried if each["shares"] == known["shares"]), None)
    if figures is None:
        held = HeldOut(*read_held_out(given.folder / HELD), body.reader())
        figures = held.figures(model, torch.device("cpu"))
    line = {"run": "lent", "name": given.name, "note": given.note, **known, **figures}
    with RUNS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(json.dumps(line, indent=1))


if __name__ == "__main__":
    main()
