"""`grade`: lines in, the same lines scored out, in order, whatever stands in between."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from crag.cli.main import main
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.library_makers import HashEmbedder
from tests.support.shell import ROOT, crag, environment, line_of, started

QUESTION = "Who kept the lighthouse of Veldt Point?"
GOOD = "The keeper of the lighthouse of Veldt Point was Anna Marrow, who lit its lamp from 1871 on."
MANY = 2000
BAD = "Sourdough bread needs flour, water, salt and a day of patience."


def lines(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def test_each_line_comes_back_scored_in_order_with_what_else_it_held() -> None:
    given = lines(
        {"question": QUESTION, "text": BAD, "id": 1},
        {"question": "What does bread need?", "text": BAD, "id": 2},
        {"question": QUESTION, "text": GOOD, "id": 3},
    )
    ran = crag("grade", "--json", given=given)
    assert ran.code == 0, ran.err
    found = ran.records
    assert [(each["id"], each["question"], each["text"]) for each in found] == [
        (1, QUESTION, BAD),
        (2, "What does bread need?", BAD),
        (3, QUESTION, GOOD),
    ]
    assert all(0 <= each["score"] <= 1 and isinstance(each["reason"], str) for each in found)
    assert found[2]["score"] > found[0]["score"]
    assert found[1]["score"] > found[0]["score"]


def test_a_bad_line_gives_an_error_in_its_place_and_stops_nothing() -> None:
    good = json.dumps({"question": QUESTION, "text": GOOD}).encode()
    given = b"\n".join(
        [
            good,
            b"not json",
            b"",
            b"[1, 2]",
            b'{"question": "only"}',
            b'{"question": 7, "text": "x"}',
            b'{"question": "q", "text": "\xff"}',
            b'{"question": "q", "text": "half \\ud800 a pair"}',
            b'{"question": "q", "text": "x", "n": NaN}',
            b"[" * 100_000,
            b'{"question": "q", "text": "' + b"x" * 1_200_000 + b'"}',
            good,
        ]
    )
    ran = crag("grade", "--json", given=given)
    assert ran.code == 0, ran.err
    found = ran.records
    assert len(found) == 12
    assert [place for place, each in enumerate(found) if "score" in each] == [0, 11]
    assert [each["line"] for each in found[1:11]] == list(range(2, 12))
    assert found[0]["score"] == found[11]["score"]
    assert "Traceback" not in ran.err


@pytest.mark.slow
def test_a_slow_writer_gets_each_answer_at_once() -> None:
    """A program that writes one line and waits for its answer must not wait for a batch to fill."""
    with started("-m", "crag", "grade", "--json", stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        for text in (GOOD, BAD):
            process.stdin.write(lines({"question": QUESTION, "text": text}))
            process.stdin.flush()
            assert json.loads(line_of(process))["text"] == text
        process.stdin.close()
        assert process.wait(timeout=30) == 0


# Between the test and the command stands a small process: a child's peak counts the memory of whoever started it.


class Through:
    """Standard input and output of a command: lines are made when they are asked for, and those written are kept."""

    def __init__(self, count: int) -> None:
        self.buffer, self.count, self.read, self.ahead = self, count, 0, 0
        self.written: list[str] = []

    def read1(self, most: int) -> bytes:
        """A few lines."""
        piece = b""
        while self.read < self.count and len(piece) < 200:
            self.read += 1
            asked = {"question": f"What is {self.read % 7}?", "text": "It is a bridge.", "n": self.read}
            piece += lines(asked).encode()
        self.ahead = max(self.ahead, self.read - len(self.written))
        return piece

    def write(self, text: str) -> None:
        self.written += text.splitlines()

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


def test_few_lines_are_read_before_those_above_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So memory is bounded whatever the number of lines."""
    through = Through(MANY)
    monkeypatch.setenv("CRAG_DATA", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", through)
    monkeypatch.setattr(sys, "stdout", through)
    scripted = {"embedder": HashEmbedder(), "evaluator": ScriptedEvaluator(score=lambda text: 0.5)}
    assert main(["grade", "--json", "--quiet"], lambda config: Engine(config, **scripted)) == 0
    found = [json.loads(line) for line in through.written]
    assert [each["n"] for each in found] == list(range(1, MANY + 1)) and all(each["score"] == 0.5 for each in found)
    assert through.ahead <= 5, "no more is read than is graded together"


@pytest.mark.slow
def test_a_reader_that_leaves_ends_the_command_quietly() -> None:
    command = f"{sys.executable} -m crag grade --json | head -n 1; exit ${{PIPESTATUS[0]}}"
    given = lines(*({"question": QUESTION, "text": f"{GOOD} {n}"} for n in range(300)))
    ran = subprocess.run(
        ["bash", "-c", command],
        input=given.encode(),
        capture_output=True,
        cwd=ROOT,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert ran.returncode == 141
    assert json.loads(ran.stdout)["score"] is not None
    assert ran.stderr == b""
