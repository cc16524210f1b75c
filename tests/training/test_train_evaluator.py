"""Training in legs: where it begins, what it learns, and that a run taken up again goes on as if it had not stopped."""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpora.pair import Pair

torch = pytest.importorskip("torch", reason="training's own requirements are not installed")
pytest.importorskip("onnx", reason="training's own requirements are not installed")

from crag.models.cross_encoder import CrossEncoder as Shipped  # noqa: E402
from training.feed import Feed  # noqa: E402
from training.figures import scored  # noqa: E402
from training.minilm_graph import build_evaluator  # noqa: E402
from training.run import Run  # noqa: E402
from training.samples import Reader, batched  # noqa: E402
from training.shipped_weights import shipped_weights  # noqa: E402
from training.torch_model import CrossEncoder, published_names  # noqa: E402

CPU = torch.device("cpu")
SUBJECTS = ("bridge", "theatre", "museum", "harbour", "library", "station", "castle", "market")
PAIRS = [
    Pair(
        f"Who designed the {asked}?",
        f"It rained all day. The {told} was designed by Marta Keller in 19{number}0. Nobody came.",
        float(asked == told),
        f"group {number} {told}",
        "copied",
        keeps=((19, 70),) if asked == told else (),
    )
    for number, asked in enumerate(SUBJECTS)
    for told in SUBJECTS
]


@dataclass
class Given:
    def epoch(self, seed: int) -> list[Pair]:
        return PAIRS


def settings(out: Path, **changed: Any) -> argparse.Namespace:
    out.mkdir(exist_ok=True)
    planned = {"steps": 12, "tokens": 256, "rate": 1e-4, "seed": 5, "only": [], "begin": "shipped"}
    planned |= {"body": "minilm", "dropout": 0.1, "teacher": 0.0}
    leg = {"note": "", "stop": 0, "minutes": 0.0, "every": 600.0, "check": 1000, "timed": False}
    return argparse.Namespace(**{**planned, **leg, "device": CPU, "out": out, "data": out, **changed})


def trained(given: argparse.Namespace, state: Any = None) -> Run:
    torch.manual_seed(given.seed)
    run = Run(Feed(Given(), given.seed, given.tokens), given, time.monotonic())
    if state is None:
        run.begin(shipped_weights())
    else:
        run.take_up(state)
    run.train()
    return run


@pytest.fixture(autouse=True)
def one_thread():
    """Sums over two threads differ in their last digits from run to run."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_what_is_read_back_of_the_shipped_model_scores_as_it_does() -> None:
    model = CrossEncoder()
    assert model.begin(shipped_weights()) == set()
    relevance, spans, keeps = scored(model, Reader().read(PAIRS), CPU)
    readings = [Shipped(1).read(pair.question, [pair.read])[0] for pair in PAIRS]
    known = [reading for reading in readings if reading is not None]
    assert np.corrcoef(relevance, [reading.relevance for reading in known])[0, 1] > 0.99
    assert np.corrcoef(spans, [reading.span for reading in known])[0, 1] > 0.98
    samples = Reader().read(PAIRS)
    kept = [keep[sample.asked + 2 : -1] for keep, sample in zip(keeps, samples, strict=True)]
    assert np.corrcoef(np.concatenate(kept), np.concatenate([r.keep for r in known]))[0, 1] > 0.98


def test_the_float_graph_gives_what_torch_gives() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model = CrossEncoder().eval()
    model.begin(shipped_weights())
    [sample] = Reader().read(PAIRS[:1])
    batch = batched([sample])
    with torch.no_grad():
        read = model(
            *(torch.from_numpy(each) for each in (batch.ids, batch.kinds, batch.real, batch.asked)), sample.asked
        )
    graph = build_evaluator(published_names(model.state_dict()))[0].SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    feed = {"input_ids": batch.ids, "kinds": batch.kinds, "asked": batch.asked}
    found = session.run(["relevance", "start", "keep"], {name: each.astype(np.int64) for name, each in feed.items()})
    for ours, theirs in zip((read.relevance, read.start, read.keep), found, strict=True):
        assert np.allclose(ours.numpy(), theirs, atol=1e-3)


def test_a_run_taken_up_again_ends_as_one_that_never_stopped(tmp_path: Path) -> None:
    whole = trained(settings(tmp_path / "whole"))
    trained(settings(tmp_path / "legs", stop=5))
    state = torch.load(tmp_path / "legs" / "state.pt", weights_only=True)
    assert state["step"] == 5
    legs = trained(settings(tmp_path / "legs"), state)
    assert (legs.step, legs.seen, legs.place) == (whole.step, whole.seen, whole.place)
    for ours, theirs in ((legs.model, whole.model), (legs.average, whole.average)):
        for name, value in ours.state_dict().items():
            assert torch.allclose(value, theirs.state_dict()[name], atol=1e-6), name
    assert torch.allclose(legs.losses, whole.losses, atol=1e-5)


def test_the_keep_head_alone_learns_and_leaves_the_rest_as_it_was(tmp_path: Path) -> None:
    run = trained(settings(tmp_path, only=["keep"], steps=40, rate=2e-3))
    before = CrossEncoder()
    before.begin(shipped_weights())
    changed = {
        name for name, value in run.model.state_dict().items() if not torch.equal(value, before.state_dict()[name])
    }
    assert changed == {"keep.weight", "keep.bias"}
    figures = [trainer.average for trainer in (run,)]
    samples = [sample for sample, pair in zip(Reader().read(PAIRS), PAIRS, strict=True) if pair.label]
    _, _, keeps = scored(figures[0], samples, CPU)
    logits, targets = np.concatenate(keeps), np.concatenate([sample.keep for sample in samples])
    assert logits[targets == 1].mean() > logits[targets == 0].mean() + 1
