"""The questions of `benchmarks.papers`, written from the pages of thirteen groups of other people's documents."""

from pathlib import Path

QUESTIONS = Path(__file__).resolve().parent.parent / "benchmarks" / "data" / "papers.jsonl"
GROUPS = tuple("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth".split())
HELD_OUT = ("second", "sixth", "ninth", "eleventh", "twelfth", "thirteenth")
"""Groups that neither a rule nor a weight was made on."""
