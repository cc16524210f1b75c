"""Where the shared data lies and what is built from it is kept, for every command outside the product."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"


def parser_of(text: str | None, cache: str = "") -> argparse.ArgumentParser:
    """A parser with --data, and with --cache where `cache` names a folder; `text`: a module's docstring."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="the shared data folder")
    if cache:
        kept = Path(os.environ.get("CRAG_BENCH_CACHE", Path(tempfile.gettempdir()) / cache))
        parser.add_argument("--cache", type=Path, default=kept, help="where what is built is kept, to be used again")
    return parser


def is_missing(data: Path, *names: str) -> bool:
    """Whether one of these files or folders is missing from the data; then it says so."""
    missing = [name for name in names if not (data / name).exists()]
    if missing:
        print(f"Skipped: no {missing[0]} in {data}. Give --data or set CRAG_SHARED.", file=sys.stderr)
    return bool(missing)
