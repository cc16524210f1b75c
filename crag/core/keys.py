"""The keys of outside services: in memory or the environment, never in a file, a log or an export of ours."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SecretStr

__all__ = ["Keys"]


class Keys:
    """Keys by slot, where there are any. Their text forms show that there is one and never which. Immutable.

    Of the slots, which the providers' records name, `llm` goes to the configured model server, whichever it is, and
    `openai` to OpenAI's own service and nowhere else.
    """

    __slots__ = ("_held",)

    def __init__(self, **slots: SecretStr | None) -> None:
        self._held = {slot: key for slot, key in slots.items() if key is not None}

    def get(self, slot: str) -> SecretStr | None:
        return self._held.get(slot)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keys) and self._held == other._held

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._held)))

    def __repr__(self) -> str:
        return f"Keys({self._held})"

    @classmethod
    def found(cls, source: Mapping[str, object], variables: Mapping[str, tuple[str, ...]]) -> Keys:
        """The keys in `source`, environment variables or a secrets file: of each slot's `variables` the first set."""
        return cls(**{slot: _first(source, names) for slot, names in variables.items()})

    def over(self, others: Keys) -> Keys:
        """These keys, and the others' where there is none here."""
        return Keys(**{**others._held, **self._held})


def _first(source: Mapping[str, object], variables: tuple[str, ...]) -> SecretStr | None:
    for variable in variables:
        value = source.get(variable)
        if isinstance(value, str) and value.strip():
            return SecretStr(value.strip())
    return None
