"""The limits of all workspaces together: questions a minute, MB on the disk and dollars a day."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from crag.admin.spending import Spending
from crag.core.config import AppConfig
from crag.core.errors import DayLimitError, QuotaError, RoomError
from crag.core.types import Call
from crag.providers.prices import sum_calls, usable
from crag.runtime.limits import Buckets
from crag.runtime.usage import QuotaGuard
from crag.storage.database import Database
from crag.storage.places import StorageUse
from crag.text.formats import count

MB = 1024 * 1024
_EVERYONE = ""
"""Whose bucket of questions it is."""
_prices = lru_cache(maxsize=2)(usable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A limit and how much of it is used. `most` 0: there is no limit. `form` writes an amount, without its unit."""

    setting: str
    title: str
    unit: str
    most: float
    used: float
    form: str = "{:,.0f}"

    @property
    def share(self) -> float:
        """How much of it is used, from 0; 0 without a limit."""
        return self.used / self.most if self.most else 0.0

    @property
    def allowed(self) -> str:
        """The limit alone: "50,000 MB"."""
        return f"{self.form.format(self.most)} {self.unit}" if self.most else "no limit"

    @property
    def text(self) -> str:
        """What is used, and the limit: "12 of 50,000 MB"."""
        used = self.form.format(self.used)
        return f"{used} of {self.allowed}" if self.most else f"{used} {self.unit}, no limit"


class Quotas(QuotaGuard):
    """Thread-safe. An engine asks it before each question, outside call and write, whichever program wants them.

    MB and dollars are counted over all processes of a data folder or database, questions by each process for itself.
    """

    def __init__(self, store: Database, config: Callable[[], AppConfig], stored: StorageUse) -> None:
        """`stored` counts what libraries hold."""
        self.stored, self.spending = stored, Spending(store)
        self._config, self._questions = config, Buckets(0)

    def standings(self) -> list[Standing]:
        """Every limit with what is used of it. Raises StorageError."""
        limits, bucket = self._config().quotas, self._bucket()
        rate, stored = limits.all_questions_minute, self.stored.total()[0] / MB
        return [
            Standing(
                setting="all_questions_minute",
                title="Questions",
                unit="questions this minute",
                most=rate,
                used=rate - bucket.left(_EVERYONE),
            ),
            Standing(setting="all_mb", title="On the disk", unit="MB", most=limits.all_mb, used=stored),
            Standing(
                setting="all_dollars_day",
                title="Outside calls",
                unit="today (UTC)",
                most=limits.all_dollars_day,
                used=self.spending.today(),
                form="${:,.2f}",
            ),
        ]

    def ask(self) -> None:
        """Count one question. Raises QuotaError, with when one may be asked again."""
        most = self._config().quotas.all_questions_minute
        wait = math.ceil(self._bucket().take(_EVERYONE)) if most else 0
        if wait:
            raise QuotaError(
                f"Only {count(most, 'question')} a minute may be asked here.",
                f"Ask again in {wait} s, or ask your administrator to raise CRAG_ALL_QUESTIONS_MINUTE.",
                retry_after=wait,
            )

    def take(self) -> None:
        """Admit one outside call. Raises DayLimitError where the day's dollars are spent.

        What a call costs is known when it has ended: the calls under way at that moment may go over the limit.
        """
        most = self._config().quotas.all_dollars_day
        if most and self.spending.known() >= most:
            raise DayLimitError(
                f"Outside calls may cost ${most:,.2f} a day here, and did.",
                "They are made again from midnight UTC, or ask your administrator to raise CRAG_ALL_DOLLARS_DAY.",
            )

    def paid(self, call: Call) -> None:
        """Count what a call has cost, as far as its price is known."""
        self.spending.add(sum_calls([call], _prices(self._config().providers.prices)).dollars)

    def check_growth(self, workspace: str, more: int = 0, *, makes: bool = False) -> None:
        """Raises RoomError where a library may not take `more` bytes, or, where it `makes` one, no more may be made."""
        config, wanted = self._config(), max(more, 1) / MB
        most, libraries, used, there = config.quotas.all_mb, config.limits.libraries, 0.0, 0
        for fresh in (False, True):  # something may have been deleted since all were counted
            total, there = self.stored.total(workspace, fresh=fresh or makes)
            used = total / MB
            if not most or used + wanted <= most:
                break
        else:
            rest = f"; {wanted:,.0f} MB more do not fit." if wanted > 1 else "."
            raise RoomError(
                f"All workspaces together may hold {most:,} MB, and have {used:,.0f}{rest}",
                "Delete documents that are no longer needed, or ask your administrator to raise CRAG_ALL_MB.",
            )
        if makes and 0 < libraries <= there:
            raise RoomError(
                f"There are {there:,} libraries here, and there may be no more than {libraries:,}.",
                "Ask your administrator to remove old ones, or to raise CRAG_LIBRARIES.",
            )

    def _bucket(self) -> Buckets:
        """The questions of this minute, under the limit of now."""
        self._questions.rate = self._config().quotas.all_questions_minute
        return self._questions
