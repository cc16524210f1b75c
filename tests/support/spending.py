"""What a process of its own spends of a workspace's day: it imports no more than that takes."""

from pathlib import Path

from crag.admin.store import open_store
from crag.admin.usage_store import DailyBudget, DailyLimits, UsageStore
from crag.core.errors import DayLimitError
from crag.core.types import Call
from crag.providers.prices import PRICES


def call(cost_model: str = "dear", error: str | None = None) -> Call:
    return Call(
        step="answer", provider="p", model=cost_model, seconds=0.1, input_tokens=1, output_tokens=0, error=error
    )


def spend(folder: Path, calls: int, limit: float) -> int:
    """How many of so many calls it was let make, a budget for each three."""
    store, made = open_store(folder), 0
    for _ in range(calls // 3):
        budget = DailyBudget(UsageStore(store), "one", DailyLimits(calls=(limit, 0), prices=PRICES))
        for _ in range(3):
            try:
                budget.take()
            except DayLimitError:
                break
            made += 1
            budget.paid(call())
        budget.release()
    store.close()
    return made
