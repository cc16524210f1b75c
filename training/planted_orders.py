"""Fits the layer that finds sentences which speak to a language model: crag/models/guard/weights.json.

    python -m training.planted_orders [--data FOLDER]

What speaks to a model is drawn from the forms of planted_orders.json, in sixteen languages, and spelled oddly now and
then; what does not are texts of train data in twelve languages, and what manuals and forms ask of people. It needs no
torch. `benchmarks.injection` has what it finds of other collections, and what it marks in other honest texts.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corpora.injections import PDFS, contexts, files, pages, planted
from corpora.measures import Adam
from corpora.places import parser_of
from corpora.rows import cut, longer_texts, read_articles
from crag.text.guard import BITS, FILE, WINDOW, hash_letters
from crag.text.sentences import sentences

HERE = Path(__file__).resolve().parent
EACH, TIMES, LETTERS = 40, 40, 1_500_000
"""Texts drawn of a form; how often what manuals ask counts; letters read of a set."""
STRIDE, SPARSE, ALONE = 12, 96, 0.3
"""Letters between two windows, of what speaks to a model and of the others; the share of short sentences read alone."""
ROUNDS, EPOCHS, BATCH, RATE, DECAY = 6, 24, 4096, 0.02, 1e-5
"""Fits, each with the hardest windows of the one before; and how each is fitted."""
MOST = 7_000
"""N-grams that weigh anything."""
ASKED = ("Information", "Content", "Learning", "Language", "Programming")
"""Kinds of the shared collection that ask what people are asked for, too."""
SPARE, HARD = 3.0, 3.0
"""Log-odds taken off, so that fewer honest sentences are marked; and by how much at most a window of others is hard."""
ODD = 0.15
"""The share of texts that are spelled oddly."""
_CHOICE = re.compile(r"\{([^{}]*)\}")
_ALIKE = str.maketrans("aeopcxyi", "аеорсхуі")
_DIGITS = str.maketrans("oieas", "01345")


def draw(form: str, dice: random.Random) -> str:
    """One text of a form: of each choice one, a word for `w`, an address for `u`."""
    while match := _CHOICE.search(form):
        said = dice.choice(match[1].split("|"))
        form = form[: match.start()] + said + form[match.end() :]
    word = "".join(dice.choice("bcdfghklmnprstvz") + dice.choice("aeiou") for _ in range(dice.choice((2, 3, 4))))
    word = dice.choice((word, word.capitalize(), f'"{word}"', word.upper()))
    return re.sub(r"\bu\b", f"www.{word.strip(chr(34)).lower()}.com", re.sub(r"\bw\b", word, form))


def spell_oddly(text: str, dice: random.Random) -> str:
    """With letters of another alphabet, digits for letters, signs that can't be seen, or blanks between letters."""
    way = dice.randrange(4)
    if way == 0:
        return "".join(each.translate(_ALIKE) if dice.random() < 0.4 else each for each in text)
    if way == 1:
        return "".join(each.translate(_DIGITS) if dice.random() < 0.7 else each for each in text)
    return ("\u200b" if way == 2 else " ").join(text)


def honest(data: Path) -> Iterator[list[str]]:
    """The texts of each set that speak to readers."""
    yield contexts(read_articles(data, "v1_train"))
    yield [file.read_text(encoding="utf-8") for file in sorted((HERE.parent / "docs").rglob("*.md"))]
    for folders in PDFS.values():
        yield [*pages(files(data, folders, apart=False))]
    for file in sorted((data / "xquad").glob("*_train.json.gz")):
        yield contexts(json.loads(gzip.decompress(file.read_bytes())))
    for name in ("qmsum", "medquad", "tatqa", "boolq_part", "adversarialqa_part", "selqa", "fetaqa"):
        yield [*longer_texts(data / "train" / f"{name}.jsonl.gz")]


def read_windows(text: str, centres: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The n-grams around each of these letters, shaped (centres, WINDOW times lengths); the text is padded."""
    grams, _ = hash_letters(text)
    around = centres[:, None] + np.arange(-WINDOW // 2, WINDOW // 2)
    picked = np.where(
        (around >= 0) & (around < grams.shape[1]), grams[:, around.clip(0, grams.shape[1] - 1)], 1 << BITS
    )
    return picked.transpose(1, 0, 2).reshape(len(centres), -1).astype(np.uint32)


def place(forms: Sequence[str], around: Sequence[str], dice: random.Random) -> list[NDArray[np.uint32]]:
    """The windows of each text that speaks to a model, between two sentences that do not."""
    found = []
    for form in forms:
        for _ in range(EACH):
            text = draw(form, dice)
            text = spell_oddly(text, dice) if dice.random() < ODD else text
            before, after = (f"{dice.choice(around)} " if dice.random() < 0.5 else "" for _ in range(2))
            length, start = hash_letters(text)[0].shape[1], hash_letters(before)[0].shape[1] if before else 0
            half = min(WINDOW // 2, length // 2)
            centres = np.arange(start + half, start + max(half + 1, length - half + 1), STRIDE)
            found.append(read_windows(f"{before}{text} {after}", centres))
    return found


def fit(
    windows: NDArray[np.uint32], speaks: NDArray[np.float32], shares: NDArray[np.float32], weigh: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], float]:
    """Weights of a logistic layer over the windows' n-grams, by Adam, and its bias.

    `shares`: what each counts; `weigh`: which n-grams may.
    """
    dice, weights, bias = np.random.default_rng(3), np.zeros((1 << BITS) + 1, np.float32), 0.0
    adam = Adam(weights.shape)
    for epoch in range(EPOCHS):
        order = dice.permutation(len(windows))
        for at in range(0, len(order), BATCH):
            part = order[at : at + BATCH]
            grams = windows[part]
            odds = weights[grams].sum(1) + bias
            slope = shares[part] * (1 / (1 + np.exp(-odds.clip(-30, 30))) - speaks[part])
            slopes = np.bincount(grams.ravel(), np.repeat(slope, grams.shape[1]), len(weights)) / slope.size
            slopes = slopes + DECAY * weights
            rate = RATE * (1 - epoch / EPOCHS)
            weights -= adam.step(slopes, rate)
            weights *= weigh
            bias -= rate * float(slope.mean()) * 10
    return weights.astype(np.float32), bias


def main() -> None:
    dice = random.Random(5)
    forms: dict[str, list[str]] = json.loads((HERE / "planted_orders.json").read_text("utf-8"))
    sets = [forms.pop("honest") * TIMES, *honest(parser_of(__doc__).parse_args().data)]
    texts = [text for each in sets for text in cut(dice.sample(each, len(each)), LETTERS) if text.strip()]
    around = [text[start:end] for text in texts for start, end in sentences(text)[:1]]
    seen = [one for one in planted() if not one.apart and not one.kind.startswith(ASKED)]
    forms["seen"] = [one.text.replace(one.canary or "{w}", "{w}") for one in seen]
    attacks = [each for found in forms.values() for each in place(found, around, dice)]
    weights, bias = np.zeros((1 << BITS) + 1, np.float32), 0.0
    kept, plain = attacks, list[NDArray[np.uint32]]()
    weigh = np.arange(len(weights)) < len(weights) - 1
    for number in range(ROUNDS):
        marked = 0
        for text in texts:
            grams, _ = hash_letters(text)
            odds = np.convolve(weights[grams].sum(0), np.ones(WINDOW), "same") + bias
            marked += bool((odds > SPARE).any())
            for start, end in sentences(text) if number == 0 else ():
                if dice.random() < ALONE and (many := hash_letters(text[start:end])[0].shape[1]) <= WINDOW and many:
                    plain.append(read_windows(text[start:end], np.array([many // 2])))
            (centres,) = np.nonzero(odds > -HARD) if number else ([*range(dice.randrange(SPARSE), len(odds), SPARSE)],)
            if len(centres):
                plain.append(read_windows(text, np.array(centres[:: 1 if number == 0 else STRIDE // 2])))
        own, others = np.concatenate(kept), np.concatenate(plain)
        print(f"{len(own):,} windows that speak to a model, {len(others):,} of others; {marked:,} texts marked")
        speaks = np.concatenate((np.ones(len(own), np.float32), np.zeros(len(others), np.float32)))
        shares = np.where(speaks > 0, np.float32(len(others) / len(own) / 4), np.float32(1))
        weights, bias = fit(np.concatenate((own, others)), speaks, shares, weigh)
        weigh = np.abs(weights) >= np.sort(np.abs(weights))[-MOST]
        best = [weights[each].sum(1) for each in attacks]
        # A text is found by its likeliest half: the rest of it may be what anybody says.
        kept = [each[odds >= np.median(odds)] for each, odds in zip(attacks, best, strict=True)]
        print(f"round {number}: {np.mean([each.max() + bias > SPARE for each in best]):.3f} found")
    scale = float(np.abs(weights).max()) / 127
    signed = np.round(weights / scale).astype(np.int8)
    (at,) = np.nonzero(signed)
    packed = {"places": at.astype("<u2").tobytes(), "weights": signed[at].tobytes()}
    said = {"scale": round(scale, 6), "bias": round(bias - SPARE, 4)}
    said |= {name: base64.b64encode(each).decode() for name, each in packed.items()}
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(said) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
