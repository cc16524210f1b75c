"""One measured figure of an attack, as a process hands it to the one that asked."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`finding`: number in docs/security.md. `what` was done and `value`, what came of it, are words of a table."""

    finding: int
    what: str
    value: str


def peak_mb() -> float:
    """The most memory that this process has held so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(attacks: Sequence[Callable[[], Figure]]) -> None:
    """`python -m benchmarks.attacks.NAME` lists the attacks; with one's name it runs that one and prints its figure.

    So that memory and time are those of one attack alone.
    """
    by_name = {attack.__name__: attack for attack in attacks}
    if len(sys.argv) < 2:
        print("\n".join(by_name))
    else:
        print(json.dumps(asdict(by_name[sys.argv[1]]())))
