"""A leg: where it goes on from, what it does with other data or a cut-off checkpoint, and what it carries."""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpora.pair import Pair
from training import checkpoints

torch = pytest.importorskip("torch", reason="training's own requirements are not installed")
pytest.importorskip("onnx", reason="training's own requirements are not installed")

from training import leg  # noqa: E402
from training.bodies import BODIES  # noqa: E402
from training.feed import Feed  # noqa: E402
from training.figures import scored  # noqa: E402
from training.run import Run  # noqa: E402
from training.samples import Reader  # noqa: E402

CPU = torch.device("cpu")
PAIRS = [
    Pair(
        f"Who designed the {asked}?",
        f"It rained. The {built} was designed by Marta Keller in 19{number}0.",
        float(asked == built),
        f"group {number} {built}",
        source,
    )
    for number, asked in enumerate(("bridge", "theatre", "museum", "harbour", "library", "station"))
    for built in ("bridge", "theatre", "museum", "harbour", "library", "station")
    for source in ("copied", "claim")
]


@dataclass
class Given:
    def epoch(self, seed: int) -> list[Pair]:
        return PAIRS


@pytest.fixture(autouse=True)
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "carried.npz"
    monkeypatch.setattr(checkpoints, "CARRIED", path)
    return path


def settings(out: Path, **changed: Any) -> argparse.Namespace:
    out.mkdir(exist_ok=True)
    given = {"steps": 60, "tokens": 256, "rate": 1e-4, "seed": 5, "plain": False, "only": [], "begin": "", "note": ""}
    given |= {"stop": 0, "minutes": 0.0, "every": 600.0, "check": 60, "body": "minilm", "timed": False}
    given |= {"dropout": 0.1, "teacher": 0.0, "said": 0.0}
    given |= {"pack": out / "none.zip"}
    return argparse.Namespace(**{**given, "device": CPU, "out": out, "data": out, **changed})


def start(given: argparse.Namespace, data: str = "first") -> Run:
    feed = Feed(Given(), given.seed, given.tokens, 0, BODIES[given.body].reader)
    run = Run(feed, given, time.monotonic())
    leg.take_up(run, data)
    return run


def trained(given: argparse.Namespace, data: str = "first") -> Run:
    run = start(given, data)
    for _ in run.steps():
        pass
    return run


def test_a_leg_begins_with_what_ships_and_goes_on_where_it_was_left(tmp_path: Path) -> None:
    run = trained(settings(tmp_path / "leg", stop=4))
    assert (run.step, run.kept["begin"], run.kept["logged"]["step"]) == (4, "shipped", 0)
    again = start(settings(tmp_path / "leg"))
    assert (again.step, again.place, again.seen) == (run.step, run.place, run.seen)
    assert again.kept == run.kept


def test_a_state_cut_off_in_the_middle_gives_way_to_the_one_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = start(settings(tmp_path / "leg", stop=3, every=0.0))
    for _ in run.steps():
        pass
    path = tmp_path / "leg" / "state.pt"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    again = start(settings(tmp_path / "leg"))
    assert again.step == 3 and "cut off" in capsys.readouterr().out
    path.write_bytes(b"")
    (tmp_path / "leg" / "state.before.pt").write_bytes(content[:100])
    assert start(settings(tmp_path / "leg")).step == 0


def test_what_is_carried_scores_as_what_was_trained(
    tmp_path: Path, carried: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained(settings(tmp_path / "leg", stop=6))
    leg.carry(tmp_path / "leg")
    assert float(capsys.readouterr().out.rsplit(" ", 1)[1]) > 0.999
    assert carried.stat().st_size < 12_000_000
    again = start(settings(tmp_path / "elsewhere"))
    assert (again.step, again.warmed, again.seen, again.place) == (6, 6, run.seen, run.place)
    assert again.kept["begin"] == "shipped"
    samples = Reader().read(PAIRS)
    one, other = (scored(each.average, samples, CPU)[0] for each in (run, again))
    assert np.corrcoef(one, other)[0, 1] > 0.999
