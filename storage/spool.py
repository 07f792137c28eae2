"""Safety stops that happened while Postgres was gone: sealed files, one a stop, until they can be entered.

A record is promised once `put` has returned. `drain` removes a file only after its stop was applied, so after a kill it
is applied again: whoever applies must take the same session and message twice without harm.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from errors import SealError, ServiceError, StopNotEntered, StorageError
from storage.crypto import Vault
from storage.files import sync_folder, write_durably
from storage.raised import Raised, decoded

_SUFFIX = ".stop"
_log = logging.getLogger(__name__)


class Spool:
    def __init__(self, home: Path, vault: Vault) -> None:
        self._folder = home / "spool"
        self._vault = vault

    @property
    def empty(self) -> bool:
        """One look at the folder: cheap enough to take before every turn."""
        return not self._names()

    @property
    def damaged(self) -> list[Path]:
        """Files that did not open; a person has to look at them."""
        folder = self._folder / "damaged"
        with self._usable():
            return sorted(folder.iterdir()) if folder.is_dir() else []

    def prepare(self) -> None:
        """Prove at start that a stop could be written; the moment of a stop is too late to find out."""
        with self._usable():
            self._make_folder()
            probe = self._folder / f".probe-{secrets.token_hex(4)}"
            probe.touch(0o600, exist_ok=False)
            probe.unlink()

    def put(self, record: Raised) -> None:
        """Return only when the record is on disk. Waits for no lock: a stop must not queue behind a drainer."""
        name = f"{time.time_ns():020d}-{secrets.token_hex(4)}{_SUFFIX}"
        sealed = self._vault.seal(record.encoded(), name)
        with self._usable():
            self._make_folder()
            write_durably(self._folder / name, sealed)

    def pending(self) -> list[Raised]:
        """What waits, oldest first. A file that does not open is left for `drain` to report."""
        found = []
        for name in self._names():
            with self._usable(), suppress(SealError, FileNotFoundError):  # gone: a drainer was quicker
                found.append(self._read(name))
        return found

    def drain(self, apply: Callable[[Raised], None]) -> int:
        """Apply what waits, oldest first, and say how many. Returns with the spool drained, by this caller or another.

        A server that is missing ends the drain and keeps the record. What does not open is set aside and raised at the
        end, once; `damaged` lists it from then on. Any other fault of the applier keeps its record for the next drain,
        and is raised as `StopNotEntered` once the others are through.
        """
        if self.empty:
            return 0
        applied, broken, faults = 0, [], list[Exception]()
        with self._lock():
            for name in self._names():
                record = self._open_or_set_aside(name)
                if record is None:
                    broken.append(name)
                    continue
                try:
                    apply(record)
                except ServiceError:
                    raise
                except Exception as error:
                    faults.append(error)
                    continue
                self._remove(name)
                applied += 1
        if broken:
            raise SealError(_damage(broken, self._folder / "damaged"))
        if faults:
            raise StopNotEntered(f"{len(faults)} of them: {type(faults[0]).__name__}") from faults[0]
        return applied

    def discard(self, session_ids: Collection[str]) -> int:
        """Remove the stops of deleted sessions, and say how many there were."""
        removed = 0
        if self.empty:
            return removed
        with self._lock():
            for name in self._names():
                record = self._open_or_set_aside(name)
                if record is not None and record.session_id in session_ids:
                    self._remove(name)
                    removed += 1
        return removed

    def _names(self) -> list[str]:
        with self._usable(), suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            return sorted(entry.name for entry in entries if entry.name.endswith(_SUFFIX) and entry.name[0] != ".")
        return []

    def _read(self, name: str) -> Raised:
        return decoded(self._vault.open((self._folder / name).read_bytes(), name), f"the spooled stop {name}")

    def _open_or_set_aside(self, name: str) -> Raised | None:
        with self._usable():
            try:
                return self._read(name)
            except SealError:
                self._set_aside(name)
                return None

    def _remove(self, name: str) -> None:
        with self._usable():
            (self._folder / name).unlink()  # not fsynced: one that comes back is applied again, which is harmless

    def _set_aside(self, name: str) -> None:
        aside = self._folder / "damaged"
        aside.mkdir(mode=0o700, exist_ok=True)
        os.replace(self._folder / name, aside / name)
        sync_folder(aside)
        sync_folder(self._folder)
        _log.error("the spooled stop %s does not open and is now in %s", name, aside)

    def _make_folder(self) -> None:
        if not self._folder.is_dir():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            sync_folder(self._folder.parent)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """One drainer at a time, among processes and threads; the lock of a killed one is released with it."""
        with self._usable():
            descriptor = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"the spool for safety stops {self._folder} cannot be used: {error.strerror}. "
                "Make it a folder that Crosscut's user may write to, with space left, or set CROSSCUT_HOME."
            ) from error


def _damage(names: list[str], folder: Path) -> str:
    return (
        f"{len(names)} spooled safety stop(s) do not open and were moved to {folder}: {', '.join(names)}. "
        "If the encryption key was changed, restore it and move the files back one folder up; "
        "otherwise a person must find out which session was stopped at that time."
    )
