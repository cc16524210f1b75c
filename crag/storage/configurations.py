"""Configurations that were saved in a library: a published strategy with its changed settings, under a name."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import delete, func, insert, select

from crag.core.errors import InputError, NotFoundError
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES, Strategy
from crag.storage.database import Part
from crag.storage.tables import meta
from crag.text.characters import whole_text

LONGEST_NAME = 60
"""Characters of a name."""
MOST = 50
"""Saved configurations of a library."""
_KEY = "configuration "
_PUBLISHED = {said.casefold() for each in STRATEGIES.values() for said in (each.name, each.title)}


class Configurations(Part):
    """A library's saved configurations. Thread-safe, across processes too. Every method raises StorageError."""

    def all(self) -> dict[str, Strategy]:
        """All of them by name, ordered by it. One of a strategy that is no longer there is left out."""
        wanted = select(meta.c.value).where(meta.c.key.startswith(_KEY, autoescape=True)).order_by(meta.c.key)
        with self._database.read() as connection:
            stored = [json.loads(value) for value in connection.scalars(wanted)]
        return {each["name"]: _strategy(**each) for each in stored if each["base"] in STRATEGIES}

    def save(self, name: str, base: str, settings: Settings, *, instead_of: str = "") -> Strategy:
        """Save what `settings` change of the published strategy `base`, in place of one of the same name.

        The one called `instead_of` goes at the same moment. Small and capital letters are alike. Raises InputError for
        an empty or too long name, for a published strategy's, and where `MOST` are saved.
        """
        called, own = _checked(name), STRATEGIES[base].settings.model_dump(mode="json")
        changes = {name: value for name, value in settings.model_dump(mode="json").items() if value != own[name]}
        made: dict[str, Any] = {"name": called, "base": base, "changes": changes}
        value, replaced = json.dumps(made), {_key(called), _key(instead_of)}
        others = meta.c.key.startswith(_KEY, autoescape=True) & meta.c.key.not_in(replaced)
        with self._database.write(more=len(value)) as connection:
            if (connection.scalar(select(func.count()).where(others)) or 0) >= MOST:
                raise InputError(f"{MOST} configurations are saved here; that is the limit.", "Delete one first.")
            connection.execute(delete(meta).where(meta.c.key.in_(replaced)))
            connection.execute(insert(meta).values(key=_key(called), value=value))
        return _strategy(**made)

    def rename(self, name: str, new: str) -> Strategy:
        """Give one another name. Raises NotFoundError, and InputError as `save` does and where the name is taken."""
        saved, called = self._found(name), _checked(new)
        if _key(called) != _key(saved.name) and _key(called) in map(_key, self.all()):
            raise InputError(f"There is a configuration {called!r} already.", "Choose another name.")
        return self.save(called, saved.base, saved.settings, instead_of=saved.name)

    def delete(self, name: str) -> Strategy:
        """Delete one; what it was. Raises NotFoundError. Runs that were asked with it stay."""
        saved = self._found(name)
        self._database.free(lambda connection: connection.execute(delete(meta).where(meta.c.key == _key(name))))
        return saved

    def _found(self, name: str) -> Strategy:
        found = next((each for each in self.all().values() if _key(each.name) == _key(name)), None)
        if found is None:
            raise NotFoundError(f"There is no configuration {name[:LONGEST_NAME]!r} in this library.")
        return found


def _key(name: str) -> str:
    return _KEY + name.casefold()


def _strategy(name: str, base: str, changes: dict[str, Any]) -> Strategy:
    """The configuration as a strategy. A setting that this build does not know is left out."""
    values = {**STRATEGIES[base].settings.model_dump(mode="json"), **changes}
    return Strategy(name=name, title=name, base=base, settings=Settings.stored(values).settings)


def _checked(name: str) -> str:
    """In one line. Raises InputError."""
    said = " ".join(whole_text(name).split())
    if not said or not said.isprintable():
        raise InputError("A configuration needs a name.", "Type one, then save it.")
    if len(said) > LONGEST_NAME:
        raise InputError(f"The name has {len(said):,} characters; {LONGEST_NAME} is the limit.", "Make it shorter.")
    if said.casefold() in _PUBLISHED:
        raise InputError(f"{said} is the name of a published strategy.", "Choose another name.")
    return said
