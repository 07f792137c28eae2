"""A value that is worked out when it is first asked for, and kept. Without the lock of `functools.cached_property`,
which on Python 3.11 costs more than most of what is kept here; an answer is read by one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
S = TypeVar("S")


class kept(Generic[S, T]):  # noqa: N801 - used as a decorator
    def __init__(self, work_out: Callable[[S], T]) -> None:
        self._work_out = work_out
        self._name = work_out.__name__
        self.__doc__ = work_out.__doc__

    @overload
    def __get__(self, instance: None, owner: Any) -> kept[S, T]: ...

    @overload
    def __get__(self, instance: S, owner: Any) -> T: ...

    def __get__(self, instance: S | None, owner: Any) -> kept[S, T] | T:
        if instance is None:
            return self
        value = self._work_out(instance)
        instance.__dict__[self._name] = value
        return value
