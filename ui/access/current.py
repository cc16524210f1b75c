"""Who is at this browser tab and which workspace it shows, what they may do there, and that it is noted."""

from __future__ import annotations

import time
from typing import Any

from crag.admin.audit import AuditedAct
from crag.admin.roles import Permission
from crag.core.errors import AccessError, CragError
from crag.runtime.jobs import Job
from ui.access import browser, workspace_entry
from ui.access.signed_in import RunningProgram
from ui.access.visitor import Entered, Visitor, state

_BELIEVED = 2.0
"""Seconds for which it is believed who may do what here."""

REFUSALS: dict[Permission, str] = {
    "see": "Your role does not let you see this.",
    "ask": "Your role here is read-only: you can't ask questions.",
    "edit": "Your role does not let you add or change documents, labels or settings of this workspace.",
    "administer": "Only an admin can change the app's settings.",
}
"""Why something is not offered, or not done, in a sentence."""
_REMEDY = "Nothing was changed. Ask an admin, or the owner of this workspace, for a role with this permission."


def arrive(program: RunningProgram) -> Entered | CragError:
    """Which workspace this tab shows, and to whom, or why none; the page of this run need not ask that again."""
    state().arrived = None
    browser.of_tab()
    try:
        entered = workspace_entry.enter(program)
    except CragError as error:
        return error
    state().arrived = entered, time.monotonic()
    return entered


class Presence:
    """Asks again and again, so that who is shut out, or whose role was changed, finds that at the next step."""

    def __init__(self, program: RunningProgram) -> None:
        """Raises CragError where nobody may be here."""
        self._program = program
        entered, asked = state().arrived or (None, 0.0)
        state().arrived = None
        if entered is None or time.monotonic() - asked >= _BELIEVED:
            entered, asked = workspace_entry.enter(program), time.monotonic()
        self._entered: Entered = entered
        self._asked: float = asked

    @property
    def entered(self) -> Entered:
        """Which workspace this is and to whom it is shown: asked again, so that a removed person can do nothing more.

        Raises AccessError for who may not enter it any more, StorageError.
        """
        if time.monotonic() - self._asked >= _BELIEVED:
            self._ask()
        return self._entered

    def _ask(self, *, now: bool = False) -> None:
        entered = workspace_entry.enter(self._program, now=now)
        if entered.workspace != self._entered.workspace:
            raise AccessError("You may no longer enter this workspace.", "Reload the page.")
        self._entered, self._asked = entered, time.monotonic()

    @property
    def workspace(self) -> str:
        """Names the library that this browser may see. Raises as `entered`."""
        return self.entered.workspace

    @property
    def visitor(self) -> Visitor:
        """Who signed in or reads by a link. Without sign-in: the owner, who may do all, or a visitor whose own the
        library is that the key opens. Raises as `entered`.
        """
        return self.entered.visitor

    def may(self, act: Permission) -> bool:
        """Whether the person here may do this, as far as is known: what a page offers, and no more than that."""
        return self.visitor.may(act)

    def require(self, act: Permission, what: str = "") -> None:
        """Called by whatever does something. Nothing that was known before is believed.

        Raises AccessError for who may not, which the audit log has then.
        """
        self._ask(now=True)
        if not self.may(act):
            self.note("refused", what or act, refused=True)
            raise AccessError(REFUSALS[act], _REMEDY)

    def note(self, act: AuditedAct, what: str, detail: str = "", *, refused: bool = False) -> None:
        """Have it in the audit log that the person here did this in this workspace."""
        name, workspace = self.visitor.name, self.workspace
        self._program.engine.teams.audit.note(act, name, workspace=workspace, what=what, detail=detail, refused=refused)

    def stop(self, job: Job[Any]) -> None:
        """End work of this workspace. Raises AccessError for a person who could not have started it."""
        if self._require_for(job, "stop"):
            job.stop()

    def answer(self, job: Job[Any], number: int, yes: bool) -> None:
        """Answer the question of this number that work of this workspace waits with. Raises as `stop`."""
        if self._require_for(job, "answer"):
            job.answer(number, yes)

    def _require_for(self, job: Job[Any], what: str) -> bool:
        self.require("ask" if job.kind == "run" else "edit", what)
        return job.workspace == self.workspace
