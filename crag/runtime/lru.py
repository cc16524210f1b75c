"""A cache of a bounded number of values and bytes that drops what was used longest ago."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["LruCache"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """Thread-safe. A value larger than all the bytes is not kept."""

    def __init__(self, entries: int, size: int) -> None:
        """At most so many entries, and `size` bytes in all."""
        self._entries, self._size = entries, size
        self._held: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    @property
    def size(self) -> int:
        """Bytes of all values that are kept."""
        return self._bytes

    def get(self, key: Key) -> Value | None:
        """The value of a key, which counts as used; None where it is not kept."""
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Keep a value of so many bytes, in place of the key's earlier one."""
        with self._lock:
            self._bytes -= self._held.pop(key, (None, 0))[1]
            self._held[key] = value, size
            self._bytes += size
            while len(self._held) > self._entries or self._bytes > self._size:
                self._bytes -= self._held.popitem(last=False)[1][1]
