"""What one browser tab remembers: its runs, what is opened beside them, changed settings, chosen services and keys."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st

from crag.admin.audit import format_setting
from crag.core.config import AppConfig, Keys
from crag.core.errors import CragError, NotFoundError
from crag.core.events import Event
from crag.core.filters import EVERY, Filter, Scope, narrow_filter, scope_of
from crag.core.protocols import RunRequest
from crag.core.sample import Sample
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES, Strategy
from crag.core.trace import Trace
from crag.core.types import Exchange
from crag.export.html.safe_text import excerpt
from crag.generation.conversation.history import EXCHANGES, leading_to
from crag.pipeline.libraries import close_interrupted_runs
from crag.pipeline.request import check_question
from crag.pipeline.resolve import ProviderPlan
from crag.runtime.jobs import Job
from crag.storage.library import Library
from crag.web.folder import FOLDER
from ui.access import allowed_choices, workspaces
from ui.access.allowed_choices import overridden
from ui.access.current import REFUSALS as REFUSALS
from ui.access.current import Presence
from ui.app import keys, navigation, saved_choices, system_keyring, tab
from ui.app.program import program
from ui.app.saved_choices import SavedChoices
from ui.app.tab import ChoicesState
from ui.components import script_context
from ui.components.remembered import remembered
from ui.components.tab_state import is_kept

CHOICE = "strategy-choice"
"""The key of the widget by which Ask's strategy is chosen."""
_OF = {"forced", "where"}  # no name of a configuration depends on them
_REMEMBERED = 64
"""Records of runs that the process keeps, those looked at last."""
_TITLE = 120
"""Characters that a conversation's first title takes of its question."""
_LOOKED_BACK = 12
"""So many turns at most are looked through for such as a question may follow on."""


class Session(Presence):
    """A view of st.session_state with names; make one at the top of each page. Raises CragError.

    Where people sign in, it is for who is there: AccessError where that is nobody.
    """

    def __init__(self) -> None:
        super().__init__(program())
        if not is_kept(ChoicesState) and self.saves:
            self._restore()

    def sample(self) -> Sample | None:
        """The sample, where this library holds it; None where it does not, or the sample is missing here."""
        try:
            sample = program().engine.sample()
            self.library.documents.get(sample.document_id)
        except NotFoundError:
            return None
        return sample

    @property
    def library(self) -> Library:
        return program().engine.library(self.workspace)

    # Runs

    @property
    def turns(self) -> list[str]:
        """The runs of the conversation that is shown, oldest first, those under way last."""
        selected = tab.runs().selected
        if selected is None:
            return []
        talk = self.conversation_of(selected)
        known = [*self.library.conversations.runs(talk), *self.under_way(talk)] if talk else []
        return list(dict.fromkeys(known if selected in known else [*known, selected]))

    def conversation_of(self, run: str) -> str:
        """The id of a run's conversation; empty where it belongs to none. Raises StorageError."""
        job = self.job(run)
        return _fold(job).conversation if job is not None else self.library.conversations.of(run)

    def under_way(self, conversation: str) -> list[str]:
        """The runs of this conversation that this program is making."""
        jobs: list[Any] = program().jobs.running("run", workspace=self.workspace)
        return [job.id for job in jobs if _fold(job).conversation == conversation]

    def attach(self) -> str | None:
        """The run that the address names, or the last one of its conversation; where it names none, that of this tab.

        Where a person went back or forward to an address without a run, none, as it was there. Raises NotFoundError
        for a conversation that is not there.
        """
        wanted, talk = st.query_params.get("run"), st.query_params.get("conversation")
        if wanted is None and talk is not None:
            wanted = next(reversed([*self.library.conversations.runs(talk, 1), *self.under_way(talk)]), None)
            if wanted is None:
                self.select(None)
                raise NotFoundError("The conversation in the address is not in this library.", "Ask a question below.")
        elif wanted is None and not script_context.moved_in_history():
            wanted = tab.runs().selected
        if wanted != tab.runs().selected:
            tab.runs().selected, tab.runs().opened = wanted, None
        self._name(wanted)
        return wanted

    def select(self, run: str | None) -> None:
        """Show this run within its conversation; None: none, and the next question begins a new one.

        The address names both: a step in the browser's history.
        """
        tab.runs().selected, tab.runs().opened = run, None
        self._name(run)

    def _name(self, run: str | None) -> None:
        navigation.name(run=run, conversation=self.conversation_of(run) or None if run is not None else None)

    def forget(self, runs: Collection[str]) -> None:
        """Show none of these any more; what is stored stays."""
        if st.query_params.get("run") in runs or tab.runs().selected in runs:
            self.select(None)

    def ask(self, question: str, *, standalone: str | None = None, again: Trace | None = None) -> None:
        """Start a run with the settings and the scope of this session and select it.

        It follows on this conversation; asked `again`, on what that run followed on. `standalone`: see `Engine.ask`.
        Raises CragError if it can't even start.
        """
        settings = self.settings(self.strategy)
        settings = settings.changed(where=narrow_filter(settings.where, self.scope))
        self._follow_on(question, self.strategy, settings, self.history(again), standalone)

    def ask_again(self, trace: Trace, settings: Settings) -> None:
        """Ask that run's question once more by these settings, and select the new run.

        Raises CragError if it can't even start.
        """
        meant = trace.meant if trace.context else None
        self._follow_on(trace.question, trace.strategy, settings, self.history(trace), meant)

    def _follow_on(
        self, question: str, strategy: str, settings: Settings, history: Sequence[Exchange], standalone: str | None
    ) -> None:
        """Start a run as the next turn of the conversation that is shown, or of a new one, and select it."""
        self.require("ask")
        question, first = check_question(question), tab.runs().selected
        talk = self.conversation_of(first) if first is not None else ""
        if not talk:
            known = self.library.runs.questions([first]) if first is not None else {}
            title = excerpt(next(iter(known.values()), question), _TITLE)
            talk = self.library.conversations.create(title or question, [*known])
        [run] = self.start(question, [(strategy, settings)], history, standalone, talk)
        tab.runs().asked = run
        self.select(run)

    def history(self, again: Trace | None = None) -> list[Exchange]:
        """What a question may follow on: the latest exchanges of this conversation, or those before the run `again`.

        Runs that failed, were stopped, go on or were deleted are left out.
        """
        if again is not None:
            after = again.context.after if again.context else ""
            return self._leading_to(after) if after else []
        found: list[Exchange] = []
        for run in reversed(self.turns[-_LOOKED_BACK:]):
            found = [*(self._leading_to(run)[-1:]), *found]
            if len(found) == EXCHANGES:
                break
        return found

    def _leading_to(self, run: str) -> list[Exchange]:
        try:
            return leading_to(run, self.trace)
        except CragError:  # deleted since
            return []

    def start(
        self,
        question: str,
        ways: Sequence[tuple[str, Settings]],
        history: Sequence[Exchange] = (),
        standalone: str | None = None,
        conversation: str = "",
    ) -> list[str]:
        """One run for each strategy with its settings, all at once; their ids, in order. They join this conversation.

        Raises CragError if one can't even start; the others are stopped then. QuestionError before any for a question
        that is empty or too long: it stays in its box.
        """
        self.require("ask")
        question = check_question(question)
        if standalone is not None:
            check_question(standalone)
        self.note_keys()
        follows: dict[str, Any] = {"history": history, "standalone": standalone, "conversation": conversation}
        jobs = [self._start_run(question, strategy, {"settings": settings, **follows}) for strategy, settings in ways]
        runs = []
        for job in jobs:
            first = job.first(30)
            if first is None or first.kind != "run_started":
                for other in jobs:
                    other.stop()
                raise job.problem or CragError("The run did not start in time.")
            runs.append(job.id)
        return runs

    def note_keys(self) -> None:
        """Has in the audit log, once a session, each key that runs are sent with, and to whom; never its value."""
        noted = tab.choices().noted
        for slot, whom in keys.in_use(self.config, self.keys):
            if (slot, whom) not in noted:
                noted.add((slot, whom))
                self.note("key", f"{slot} used", f"for {format_setting(whom)}")

    def _start_run(self, question: str, strategy: str, asked: dict[str, Any]) -> Job[Event]:
        """The job that makes the run of its own id; it is kept once the run is over only where that is not stored."""
        engine, workspace, jobs = program().engine, self.workspace, program().jobs
        config = self.config_for(asked["settings"].where)
        given: dict[str, Any] = {**asked, "config": config, "keys": self.keys, "via": "app"}

        def work(cancel: Any, emit: Any) -> None:
            request = RunRequest(question, strategy, workspace, cancel=cancel, allowed=job.ask, run_id=job.id, **given)
            library = engine.library(workspace)
            try:
                for event in engine.ask(request):
                    emit(event)
                if library.runs.number(job.id) is not None:
                    jobs.drop(lambda each: each is job)
            finally:
                with suppress(CragError):  # a question that came to nothing leaves no title behind
                    library.conversations.drop_empty(given["conversation"])

        job: Job[Event] = Job("run", question, work, workspace, who=self.visitor.person, id=secrets.token_hex(16))
        return jobs.begin(job)

    def job(self, run: str) -> Job[Event] | None:
        """The job that is making this run, or made it and could not store it, if it is this process's."""
        found = program().jobs.get(run, workspace=self.workspace)
        return found if found is not None and found.kind == "run" else None  # type: ignore[return-value]

    def events(self, run: str) -> list[Event]:
        """All events of a run so far. Raises NotFoundError."""
        job = self.job(run)
        return job.events() if job is not None else self.library.runs.events(run)

    def trace(self, run: str) -> Trace:
        """The record of a run, finished or not, also of one that a killed program left. Raises NotFoundError."""
        if (job := self.job(run)) is not None and (so_far := _fold(job)).run_id:
            return so_far
        library = self.library
        number = library.runs.number(run)
        if number is None and close_interrupted_runs(library):
            number = library.runs.number(run)
        if number is None:
            raise NotFoundError(f"There is no run {run} in this library.")
        return _stored(str(library.folder), run, number, _library=library)

    # What is opened beside the answer: "cite:2", "chunk:…" or None

    def open(self, what: str | None) -> None:
        tab.runs().opened, tab.runs().leaf = what, None

    # What the next question is asked of

    @property
    def scope(self) -> Scope:
        """The documents, by id, and tags that the next question is asked of; none: of all."""
        return tab.runs().scope

    def limit(self, scope: Scope) -> None:
        """Ask these from now on."""
        tab.runs().scope = scope

    # Settings of this session

    @property
    def strategies(self) -> dict[str, Strategy]:
        """The published strategies and the configurations saved in this library, by name. Raises StorageError."""
        return program().engine.strategies(self.workspace)

    def known(self, name: str) -> Strategy:
        """The strategy, or the saved configuration, of this name; of none, the default. Raises StorageError."""
        return STRATEGIES.get(name) or self.strategies.get(name) or STRATEGIES["balanced"]

    @property
    def called(self) -> Callable[[str, Settings], str]:
        """Names the saved configuration that asks as a strategy with settings does; without one, the strategy."""
        saved = {(it.base, it.settings.model_dump_json(exclude=_OF)): name for name, it in self.strategies.items()}
        return lambda strategy, settings: saved.get((strategy, settings.model_dump_json(exclude=_OF)), strategy)

    @property
    def strategy(self) -> str:
        return self.known(tab.choices().strategy).name

    def use(self, strategy: str) -> None:
        if strategy != tab.choices().strategy:
            tab.choices().strategy = strategy
            self._save(lambda saved: {"strategy": strategy})

    def switch(self, strategy: str) -> None:
        """For callbacks: use it, and have it chosen where Ask shows it."""
        self.use(strategy)
        st.session_state[CHOICE] = strategy

    def changes(self, strategy: str) -> dict[str, Any]:
        return dict(tab.choices().changes.get(strategy, {}))

    def settings(self, strategy: str) -> Settings:
        """The strategy's settings with this session's changes."""
        return self.known(strategy).settings.changed(**self.changes(strategy))

    def change(self, strategy: str, settings: Settings) -> None:
        """From now on ask with these; only what differs from the strategy is remembered."""
        own = self.known(strategy).settings.model_dump()
        differs = {name: value for name, value in settings.model_dump().items() if value != own[name]}
        if differs != self.changes(strategy) and strategy in STRATEGIES:
            self._save(lambda saved: {"strategies": {**saved.strategies, strategy: differs}})
        tab.choices().changes = {**tab.choices().changes, strategy: differs}

    def reset(self, strategy: str) -> None:
        tab.choices().changes = _without(tab.choices().changes, strategy)
        self._save(lambda saved: {"strategies": _without(saved.strategies, strategy)})

    # Services and keys of this session

    @property
    def own(self) -> AppConfig:
        """The program's configuration, as new sessions start with it."""
        return program().config

    @property
    def shared(self) -> bool:
        """Whether others than the owner can reach the app, so that a session may choose less; admins may all."""
        entered = self.entered
        if entered.actor.id:
            return not entered.visitor.administers
        return entered.link is not None or workspaces.shared(self.own)

    @property
    def config(self) -> AppConfig:
        """The program's configuration with what this session chose and may choose."""
        return allowed_choices.permitted(self.own, self.choices, shared=self.shared)

    def config_for(self, where: Filter) -> AppConfig:
        """`config` for what is asked under this filter.

        The sample brings pages of its own as its web. They are searched where the sample alone is asked and nobody
        chose a web or none: for no other document, and they are no choice that stays.
        """
        config, sample, scope = self.config, self.sample(), scope_of(where)
        fixed = tab.choices().chose_web or overridden("web") or overridden("web_folder")
        if config.providers.web != "off" or fixed or sample is None:
            return config
        if scope:  # which names a document by the first digits of its id
            alone = not scope.tags and len(scope.documents) == 1 and sample.document_id.startswith(scope.documents[0])
        else:
            alone = self.library.documents.count() == 1
        return config.changed(web=FOLDER.name, web_folder=sample.web) if alone else config

    @property
    def config_to_ask(self) -> AppConfig:
        """`config_for` the next question."""
        return self.config_for(narrow_filter(EVERY, self.scope))

    def resolve_providers(self, config: AppConfig | None = None) -> ProviderPlan:
        """What this session's configuration comes to for the next question, or another with this session's keys."""
        return program().engine.resolve_providers(config or self.config_to_ask, self.keys)

    @property
    def keys(self) -> Keys:
        """The keys for the servers of `config`: this session's own, then the owner's where they may be used."""
        config, shared = self.config, self.shared
        if shared and self.own.people.keys_for == "everyone" and self.entered.actor.id:
            shared = False
        found = keys.kept(config).over(keys.usable(keys.owners(), self.own, config, shared=shared))
        if self.saves:
            before = saved_choices.at_start(self.own.storage.data, self.own).providers
            configured = allowed_choices.permitted(self.own, before, shared=False)
            found = found.over(keys.usable(keys.owners(), configured, config, shared=False))
        return found

    @property
    def choices(self) -> dict[str, Any]:
        """The fields of the configuration that this session changed."""
        return dict(tab.choices().choices)

    def choose(self, **values: Any) -> None:
        """From now on ask with these; only what differs from the program's is kept. Raises SettingsError."""
        own, shared = self.own, self.shared
        wanted = {
            name: value
            for name, value in {**self.choices, **values}.items()
            if allowed_choices.free(name, shared=shared)
        }
        allowed_choices.permitted(own, wanted, shared=shared)
        tab.choices().choices = {name: value for name, value in wanted.items() if value != own.get(name)}
        tab.choices().chose_web |= "web" in wanted
        lasting = {
            name: value
            for name, value in values.items()
            if name in wanted and not (allowed_choices.holds_address(name) and not allowed_choices.readable(value))
        }
        self._save(lambda saved: {"providers": {**saved.providers, **lasting}})

    def unchoose(self) -> None:
        """Back to the program's configuration. Keys stay until they are forgotten."""
        tab.choices().choices, tab.choices().chose_web = {}, False
        self._save(lambda saved: {"providers": {}})

    # What stays for the next start

    @property
    def saves(self) -> bool:
        """Whether choices stay for the next start: one person alone uses the app, on the machine that it runs on."""
        return not self.shared and not self.entered.actor.id

    def keep_key(self, slot: str, typed: str) -> None:
        """Keep a key for the server that it would go to: for this session, and in the system's keyring where choices
        stay. Raises InputError for what can't be one, StorageError where the keyring did not take it.
        """
        keys.keep(slot, self.config, typed)
        if self.saves and system_keyring.usable():
            place = (slot, keys.server(slot, self.config))
            system_keyring.write(*place, keys.session_keys()[place])
            self._save(lambda saved: {"keys": tuple(dict.fromkeys((*saved.keys, place)))})

    def forget_key(self, slot: str) -> None:
        """Drop a key of this session, also from the keyring. Raises StorageError."""
        place = (slot, keys.server(slot, self.config))
        keys.forget(slot, self.config)
        if self.keeps_key(slot):
            system_keyring.delete(*place)
            self._save(lambda saved: {"keys": tuple(each for each in saved.keys if each != place)})

    def keeps_key(self, slot: str) -> bool:
        """Whether the keyring holds this key for the server that it would go to."""
        place = (slot, keys.server(slot, self.config))
        return self.saves and place in saved_choices.read(self.own)[0].keys

    def forget_choices(self) -> None:
        """Go back to what a first visitor finds: no choices, changed settings or keys. Raises StorageError."""
        saved, _ = saved_choices.read(self.own)
        own = tab.choices()
        own.saving_problem = saved_choices.forget(self.own)
        own.choices, own.changes, own.strategy = {}, {}, SavedChoices().strategy
        own.chose_web = False
        own.own_keys = {}
        for place in saved.keys:
            system_keyring.delete(*place)

    def _restore(self) -> None:
        """Begin with what was saved at an earlier start."""
        state, own = tab.choices(), self.own
        saved_choices.at_start(own.storage.data, own)
        saved, state.saving_problem = saved_choices.read(own)
        state.choices = {name: value for name, value in saved.providers.items() if value != own.get(name)}
        state.changes, state.strategy = dict(saved.strategies), saved.strategy
        state.chose_web = "web" in saved.providers
        keys.restore({place: key for place in saved.keys if (key := system_keyring.read(*place)) is not None})

    def _save(self, update: Callable[[SavedChoices], dict[str, Any]]) -> None:
        """Save what `update` makes of the saved choices, where they stay; what fails is kept to be shown."""
        if self.saves:
            tab.choices().saving_problem = saved_choices.change(self.own, update)


_folded: WeakKeyDictionary[Job[Event], tuple[int, Trace]] = WeakKeyDictionary()
"""The traces of runs under way, and of how many events each is."""


def _fold(job: Job[Event]) -> Trace:
    """The run as far as it has come: it is looked at four times a second, and only what is new is folded."""
    heard, trace = _folded.get(job, (0, Trace()))
    events = job.events()
    for event in events[heard:]:
        trace = trace.apply(event)
    _folded[job] = len(events), trace
    return trace


@remembered(max_entries=_REMEMBERED)
def _stored(place: str, run: str, number: int, *, _library: Library) -> Trace:
    return _library.runs.trace(run)


def _without(changes: Mapping[str, dict[str, Any]], strategy: str) -> dict[str, dict[str, Any]]:
    return {name: kept for name, kept in changes.items() if name != strategy}
