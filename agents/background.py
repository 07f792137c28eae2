"""One event loop on one daemon thread, where every model call of the process runs.

HTTP connections belong to the loop that opened them. With one loop for all, sync graph nodes in several threads and
async callers share a connection pool, each can be cancelled, and nobody has to own a loop.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Closer = Callable[[], Awaitable[object]]
Call = Callable[
    [], Coroutine[Any, Any, T]
]  # made on the loop, so that one cancelled before its start leaves nothing unawaited


@dataclass
class _Loop:
    loop: asyncio.AbstractEventLoop
    thread: threading.Thread
    closers: list[Closer] = field(default_factory=list)


_current: _Loop | None = None
_guard = threading.Lock()
_inherited: list[_Loop | None] = []


def run(call: Call[T]) -> T:
    """Wait in this thread for what runs on the loop; an interrupt here cancels it there."""
    started = _Started(call)
    try:
        return _submit(started).result()
    except concurrent.futures.CancelledError:
        # An Exception, unlike asyncio's: a careless `except Exception` would take a cancellation for a failure.
        raise asyncio.CancelledError from None
    except _CarriedError as carried:
        raise carried.interrupt from None
    except BaseException:
        started.cancel()
        raise


async def arun(call: Call[T]) -> T:
    """Await what runs on the loop, from any loop; cancelling here cancels it there."""
    if _current is not None and asyncio.get_running_loop() is _current.loop:
        return await call()
    try:
        return await asyncio.wrap_future(_submit(call))
    except _CarriedError as carried:
        raise carried.interrupt from None


def on_close(closer: Closer) -> None:
    """Have this awaited on the current loop before it ends."""
    _ensure().closers.append(closer)


def shut_down() -> None:
    """Cancel what runs, close connections, end the thread; the next call starts a new loop."""
    global _current
    with _guard:
        state, _current = _current, None
    if state is not None:
        asyncio.run_coroutine_threadsafe(_drain(state.closers), state.loop).result()
        state.loop.call_soon_threadsafe(state.loop.stop)
        state.thread.join()


class _Started(Generic[T]):
    """A handle that exists before its call does: an interrupt may strike before the caller has the future."""

    def __init__(self, call: Call[T]) -> None:
        self._call = call
        self._task: asyncio.Task[Any] | None = None
        self._cancelled = False

    async def __call__(self) -> T:
        self._task = asyncio.current_task()
        if self._cancelled:
            raise asyncio.CancelledError
        return await self._call()

    def cancel(self) -> None:
        self._cancelled = True
        _ensure().loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())


class _CarriedError(Exception):
    def __init__(self, interrupt: BaseException) -> None:
        self.interrupt = interrupt


def _submit(call: Call[T]) -> concurrent.futures.Future[T]:
    return asyncio.run_coroutine_threadsafe(_guarded(call), _ensure().loop)


async def _guarded(call: Call[T]) -> T:
    """An interrupt that leaves a task kills its loop and everybody's calls: carry it to the caller instead."""
    try:
        return await call()
    except (KeyboardInterrupt, SystemExit) as interrupt:
        raise _CarriedError(interrupt) from None


def _ensure() -> _Loop:
    global _current
    with _guard:
        if _current is None:
            _current = _start()
        return _current


def _start() -> _Loop:
    loop = asyncio.new_event_loop()
    # Our own executor, since asyncio's way to end its default one starts a thread, which Python 3.12+ refuses at exit.
    executor = concurrent.futures.ThreadPoolExecutor(4, thread_name_prefix="crosscut-models")
    loop.set_default_executor(executor)
    thread = threading.Thread(target=_serve, args=(loop, executor), name="crosscut-models", daemon=True)
    thread.start()
    return _Loop(loop, thread)


def _serve(loop: asyncio.AbstractEventLoop, executor: concurrent.futures.Executor) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.run_until_complete(loop.shutdown_asyncgens())
    executor.shutdown()
    loop.close()


async def _drain(closers: list[Closer]) -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for closer in closers:
        await closer()


def _forget() -> None:
    """A forked worker has the loop without its thread. It is kept unused: freeing it would disturb the parent's."""
    global _current, _guard
    _inherited.append(_current)
    _current, _guard = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
atexit.register(shut_down)
