"""Crosscut's folder: what lies where, whom it belongs to and where the sockets go."""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from errors import ServiceError
from settings import Settings

SERVER_USERS = ("crosscut", "postgres", "nobody")
SOCKET_LIMIT = 103  # bytes of a socket's path that both Linux and macOS take
LONGEST_SOCKET = ".s.PGSQL.5432"
ELSEWHERE = "set CROSSCUT_HOME to a folder such as /var/lib/crosscut"


@dataclass(frozen=True)
class Account:
    """Whom the servers run as: ourselves, or for root somebody without its powers."""

    name: str
    uid: int
    gid: int

    def process_options(self) -> dict[str, Any]:
        """Options of subprocess for a server: its own session, none of our secrets, no privileges."""
        options: dict[str, Any] = {
            "cwd": "/",
            "env": {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
            "stdin": subprocess.DEVNULL,
            "start_new_session": True,
            "umask": 0o077,
        }
        if os.geteuid() == 0:
            options |= {"user": self.uid, "group": self.gid, "extra_groups": []}
        return options

    def can(self, *command: str) -> bool:
        """Whether the command succeeds when this account runs it."""
        try:
            done = subprocess.run(command, capture_output=True, timeout=30, check=False, **self.process_options())  # noqa: S603
        except (OSError, subprocess.SubprocessError):
            return False
        return done.returncode == 0


@dataclass(frozen=True)
class Home:
    root: Path

    @classmethod
    def of(cls, settings: Settings) -> Home:
        # Resolved, so that one folder has one spelling in command lines and in the socket folder's name.
        return cls(Path(os.path.realpath(settings.crosscut_home)))

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def runtime(self) -> Path:
        return self.root / "runtime"

    @property
    def sockets(self) -> Path:
        """`run` where a socket's path fits; libpq splits a host at commas, so such a path does not fit either."""
        longest = str(self.run / LONGEST_SOCKET)
        if len(os.fsencode(longest)) <= SOCKET_LIMIT and "," not in longest:
            return self.run
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        return Path("/tmp") / f"crosscut-{digest}"  # noqa: S108  fixed: every process must find it, whatever its TMPDIR

    @cached_property
    def account(self) -> Account:
        if os.geteuid() != 0:
            return _account(os.geteuid(), os.getegid())
        for folder in (self.root / "postgres", self.root / "valkey", self.root):
            with suppress(OSError):
                if (found := folder.stat()).st_uid != 0:
                    return _account(found.st_uid, found.st_gid)
        return _first_server_user()

    def prepare(self) -> None:
        """Make the folders that servers and locks need; every failure is one clear error."""
        with self.writing():
            self._make_root()
            for folder in (self.run, self.logs):
                self.make_private(folder)
            if self.sockets != self.run:
                _make_sockets(self.sockets, self.account)
        self._check_reachable()

    def make_private(self, folder: Path) -> None:
        """A folder that belongs to the servers' account and that nobody else may enter."""
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.stat()
        if found.st_uid != self.account.uid:
            if os.geteuid() != 0:
                owner = _account(found.st_uid, found.st_gid).name
                raise ServiceError(f"{folder} belongs to {owner!r}: run Crosscut as that user, or {ELSEWHERE}.")
            os.chown(folder, self.account.uid, self.account.gid)
        if stat.S_IMODE(found.st_mode) != 0o700:
            folder.chmod(0o700)

    def open(self, path: Path, flags: int) -> int:
        """Open a lock or log file in a private folder; files that root makes there stay usable to the account."""
        with self.writing():
            # The folder belongs to an account with fewer rights than root: never follow a link it may have put there.
            handle = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            if os.geteuid() == 0:
                os.fchown(handle, self.account.uid, self.account.gid)
            return handle

    @contextmanager
    def writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            where = error.filename or self.root
            raise ServiceError(
                f"Crosscut cannot write to its folder {self.root} ({where}: {error.strerror}): "
                f"make it writable, or {ELSEWHERE}."
            ) from error

    def _make_root(self) -> None:
        self.root.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            self.root.mkdir(mode=0o700)
        # The unprivileged server passes through root's folder but cannot list it. A folder that already holds
        # something may be more than ours, so it is never opened.
        if os.geteuid() == 0 == self.root.stat().st_uid and not any(self.root.iterdir()):
            self.root.chmod(0o711)

    def _check_reachable(self) -> None:
        if os.geteuid() != 0 or self.account.can("/bin/sh", "-c", 'cd "$1"', "sh", str(self.run)):
            return
        for folder in (*reversed(self.run.parents), self.run):
            if not self.account.can("/bin/sh", "-c", 'cd "$1"', "sh", str(folder)):
                raise ServiceError(
                    f"{folder} is closed to the user {self.account.name!r}, whom the database runs as (never as root): "
                    f"{ELSEWHERE}, or let others pass through that folder (chmod o+x)."
                )


def _account(uid: int, gid: int) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:  # containers often run as a number without a name
        return Account(str(uid), uid, gid)
    return Account(entry.pw_name, uid, entry.pw_gid)


def _first_server_user() -> Account:
    for name in SERVER_USERS:
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(name, entry.pw_uid, entry.pw_gid)
    raise ServiceError(
        f"Postgres refuses to run as root, and none of the users {', '.join(SERVER_USERS)} exists: "
        "add one (useradd --system crosscut), or run Crosscut as an ordinary user."
    )


def _make_sockets(folder: Path, account: Account) -> None:
    """Everyone may write to /tmp, so what is found there is used only when it is provably ours and private."""
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    ours = found.st_uid in (account.uid, os.geteuid())
    if not stat.S_ISDIR(found.st_mode) or not ours or found.st_mode & 0o077:
        raise ServiceError(
            f"{folder}, the folder for sockets, is not a private folder of {account.name!r}: remove it, or set "
            "CROSSCUT_HOME to a shorter path, which needs no such folder."
        )
    if found.st_uid != account.uid:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)
