"""Which test files begin first: those that take long, longest first, so that no worker is left with one at the end."""

from __future__ import annotations

LONG = (
    "tests/browser/test_journey.py",
    "tests/browser/test_outside.py",
    "tests/browser/test_evaluate.py",
    "tests/browser/test_compare.py",
    "tests/browser/test_tune.py",
    "tests/browser/test_live.py",
    "tests/browser/test_hostile.py",
    "tests/engine/test_failures.py",
    "tests/providers/test_real_server.py",
    "tests/browser/test_edge.py",
    "tests/web/test_hostile_replies.py",
    "tests/edge/test_server.py",
    "tests/app/test_models_page.py",
    "tests/browser/test_models.py",
    "tests/providers/test_chat.py",
    "tests/browser/test_table_downloads.py",
    "tests/evaluator/test_llm_evaluator.py",
    "tests/questions/test_hostile_sets.py",
    "tests/app/test_ask_page.py",
    "tests/edge/test_visits.py",
    "tests/cli/test_evaluate_command.py",
    "tests/house/test_readme.py",
    "tests/house/test_install.py",
    "tests/web/test_hostile_pages.py",
    "tests/ingest/test_unseen.py",
    "tests/cli/test_ask_command.py",
    "tests/evaluation/test_evaluation_kill.py",
    "tests/browser/test_door.py",
    "tests/cli/test_grade_command.py",
    "tests/library/test_library_kill.py",
)


def begun_first(file: str) -> int:
    """The place of a file among all: the long ones in their order, then the others as they come."""
    return LONG.index(file) if file in LONG else len(LONG)
