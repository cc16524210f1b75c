"""Errors: what a remedy calls the program."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("started", "said"),
    [("/usr/local/bin/crag", "or: crag reindex)"), ("app/crag/__main__.py", "or: python -m crag reindex)")],
)
def test_a_remedy_calls_the_program_as_the_person_did(started: str, said: str) -> None:
    code = "import sys; sys.argv = sys.argv[1:]; from crag.core.errors import ModelMismatchError as E; print(E('x'))"
    ran = subprocess.run([sys.executable, "-c", code, started], capture_output=True, text=True, check=True)
    assert said in ran.stdout
