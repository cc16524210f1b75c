"""Which test files begin first, longest first, so that no worker is left with one at the end; and which go together."""

from __future__ import annotations

_SERVED = "tests/admin/backup/test_backing_up.py"
LONG = (
    _SERVED,
    "tests/browser/test_journey.py",
    "tests/browser/test_live.py",
    "tests/browser/test_outside.py",
    "tests/engine/test_failures.py",
    "tests/app/test_ask_page.py",
    "tests/app/test_models_page.py",
    "tests/analysis/questions/test_hostile_sets.py",
    "tests/cli/test_evaluate_command.py",
    "tests/providers/test_real_server.py",
    "tests/storage/test_outages.py",
    "tests/index/test_embedded_index.py",
    "tests/web/test_hostile_pages.py",
    "tests/web/test_hostile_replies.py",
    "tests/server/test_server.py",
    "tests/app/test_evaluate_page.py",
    "tests/app/test_compare_page.py",
    "tests/analysis/evaluation/test_evaluation_kill.py",
    "tests/examples/test_examples.py",
    "tests/cli/test_ask_command.py",
    "tests/ingest/test_unseen.py",
    "tests/storage/test_library_kill.py",
    "tests/storage/test_library_sharing.py",
    "tests/engine/test_tenancy.py",
    "tests/app/test_warmup.py",
    "tests/cli/test_grade_command.py",
    "tests/examples/test_snippets.py",
    "tests/server/test_visits.py",
    "tests/house/test_readme.py",
    "tests/house/test_install.py",
    "tests/app/test_documents_page.py",
    "tests/app/test_workspaces.py",
    "tests/providers/test_chat.py",
    "tests/evaluation/evaluators/test_llm_evaluator.py",
)


TOGETHER = {
    f"tests/{room}/test_{name}.py": f"tests/{room}/test_{first}.py"
    for room, first, others in (
        ("browser", "journey", ("models", "compare", "conversation", "evaluate", "guidance_journey", "reading")),
        ("browser", "live", ("documents", "edge", "monitor", "tune")),
        ("browser", "outside", ("door", "hostile", "replay")),
        (
            "house",
            "dead",
            ("elements", "facts_and_prose", "files", "requirements", "map", "names", "private_interfaces"),
        ),
    )
    for name in others
}
"""Files that one worker does with another: it has a browser by then, and the app of both over the sample library or
over many; or it has parsed the whole product."""


WITH_SERVERS = (
    *("tests/admin/backup/", "tests/storage/", "tests/admin/limits/", "tests/admin/teams/"),
    *("tests/index/test_milvus_failures.py", "tests/index/test_milvus_index.py", "tests/engine/test_tenancy.py"),
    *("tests/cli/test_copy_command.py", "tests/deploy/test_containers.py"),
)
"""Where tests need PostgreSQL or Milvus: one worker starts them, for all."""


def done_with(file: str) -> str:
    """The file with which a worker takes this one: itself, but for a few."""
    return _SERVED if file.startswith(WITH_SERVERS) else TOGETHER.get(file, file)


def begun_first(file: str) -> int:
    """The place of a file among all: the long ones in their order, then the others as they come."""
    return LONG.index(file) if file in LONG else len(LONG)
