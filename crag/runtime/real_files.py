"""Files below a folder, opened without following a link.

What was a file or folder when it was listed may be a link when it is read: one that was put there leads anywhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class RealFolder:
    """A folder by its absolute path, and what the system knows it by: another one in its place is not taken for it."""

    path: str
    device: int
    inode: int

    @classmethod
    def of(cls, path: str) -> RealFolder:
        """The folder that is there now; it may be a link itself. Raises OSError, ValueError for what is no path."""
        about = os.stat(path)
        if not stat.S_ISDIR(about.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return cls(path, about.st_dev, about.st_ino)

    def check(self) -> None:
        """Raises OSError where the folder is gone, or another one is in its place."""
        self._is(os.stat(self.path))

    def open(self, path: str) -> BufferedReader:
        """A file below the folder. Raises OSError, also where a part of its path below the folder is a link."""
        descriptor = self._opened(path, 0)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is no regular file", path)
        return os.fdopen(descriptor, "rb")

    @contextmanager
    def entries(self, path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        """What a folder holds that is this one or below it, of which no link is followed. Raises as `open` does."""
        descriptor = self._opened(path, os.O_DIRECTORY)
        try:
            with os.scandir(descriptor) as found:
                yield found
        finally:
            os.close(descriptor)

    def _opened(self, path: str, kind: int) -> int:
        place = os.open(self.path, _READ | os.O_DIRECTORY)
        try:
            self._is(os.fstat(place))
            names = self._names(path)
            for number, name in enumerate(names, 1):
                inner = self._enter(name, place, kind if number == len(names) else os.O_DIRECTORY, path)
                os.close(place)
                place = inner
        except BaseException:
            os.close(place)
            raise
        return place

    def _enter(self, name: str, place: int, flags: int, path: str) -> int:
        try:
            return os.open(name, _READ | os.O_NOFOLLOW | flags, dir_fd=place)
        except OSError as error:
            if stat.S_ISLNK(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode):
                raise _linked(path) from error
            raise

    def _names(self, path: str) -> Sequence[str]:
        within = os.path.relpath(path, self.path)
        names = [] if within == os.curdir else within.split(os.sep)
        if os.pardir in names:
            raise OSError(errno.EINVAL, "it is not below the folder", path)
        return names

    def _is(self, about: os.stat_result) -> None:
        if (about.st_dev, about.st_ino) != (self.device, self.inode):
            raise OSError(errno.ESTALE, "it was replaced meanwhile", self.path)


def _linked(path: str) -> OSError:
    return OSError(errno.ELOOP, "it is a link now, which is not followed", path)
