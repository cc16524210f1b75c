"""The questions of `benchmarks.papers`, written from the pages of ten groups of other people's PDFs."""

from pathlib import Path

QUESTIONS = Path(__file__).resolve().parent.parent / "benchmarks" / "data" / "papers.jsonl"
GROUPS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
HELD_OUT = ("second", "sixth", "ninth")
"""Groups that neither a rule nor a weight was made on."""
