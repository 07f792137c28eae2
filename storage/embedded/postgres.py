"""The embedded Postgres: one cluster below home, on a unix socket in a private folder, without TCP."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from psycopg import pq

from errors import ServiceError
from storage.embedded.binaries import NEWEST_POSTGRES, POSTGRES_FOLDERS, bundled_binary, reachable_binary, version_of
from storage.embedded.launcher import Server, command_of, names_folder

PORT = 5432  # no TCP port: only a part of the socket's name
SOCKET = f".s.PGSQL.{PORT}"
UNFINISHED = "postgres.init-"
STILL_SHARED = "pre-existing shared memory block"
OPTIONS = {
    "port": str(PORT),
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "cluster_name": "crosscut",
    "max_connections": "100",
    # Statements, their parameters and even the text of an error ("invalid input syntax: …") carry patients' words;
    # none of them may reach a log. Level `log` is above `error`: the server's own events stay, clients' errors do not.
    "log_min_messages": "log",
    "log_statement": "none",
    "log_min_error_statement": "panic",
    "log_min_duration_statement": "-1",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_error_verbosity": "terse",
    "logging_collector": "off",
    "log_destination": "stderr",
}


class Postgres(Server):
    name = "postgres"
    title = "Postgres"
    stop_signal = signal.SIGINT  # fast: ends sessions, keeps every committed row

    @property
    def url(self) -> str:
        # The port is explicit, since a PGPORT in the environment would otherwise change the socket's name.
        return f"postgresql://postgres@/postgres?host={quote(str(self.home.sockets), safe='')}&port={PORT}"

    @property
    def socket(self) -> Path:
        return self.home.sockets / SOCKET

    def version(self) -> str:
        return version_of(bundled_binary("postgres", self.major()))

    def ready(self) -> bool:
        return pq.PGconn.ping(f"{self.url}&connect_timeout=3".encode()) == pq.Ping.OK

    def pid(self) -> int | None:
        pid = _pid_in(self.data / "postmaster.pid")
        return pid if pid and names_folder(command_of(pid, "postgres"), "-D", self.data) else None

    def major(self) -> int:
        """The major version that the data needs, which an older Crosscut may have made."""
        try:
            text = (self.data / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            return NEWEST_POSTGRES
        except OSError as error:
            raise ServiceError(f"cannot read {self.data} ({error.strerror}): run Crosscut as its owner.") from error
        if not text.isdecimal() or int(text) not in POSTGRES_FOLDERS:
            raise ServiceError(
                f"{self.data} was made by Postgres {text!r}, and only {sorted(POSTGRES_FOLDERS)} are bundled: "
                "use a server of that version by setting DATABASE_URL, or move the folder away to start anew."
            )
        return int(text)

    def prepare(self) -> list[str]:
        program = reachable_binary(self.home, "postgres", self.major())
        with self.home.writing():
            self._create()
            self._remove_stale_locks()
        folder = str(self.home.sockets).replace('"', '""')
        options = OPTIONS | {"unix_socket_directories": f'"{folder}"'}
        return [str(program), "-D", str(self.data), *(x for k, v in options.items() for x in ("-c", f"{k}={v}"))]

    def worth_another_try(self, output: str) -> bool:
        """Backends outlive a killed postmaster for a moment, and the new one rightly refuses to run beside them."""
        return STILL_SHARED in output

    def _create(self) -> None:
        """Make the cluster beside its place and move it there when whole: a killed initdb leaves nothing to trip on."""
        for leftover in self.home.root.glob(f"{UNFINISHED}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        if (self.data / "PG_VERSION").exists():
            self._check_owner()
            return
        if self.data.exists() and any(self.data.iterdir()):
            raise ServiceError(f"{self.data} holds files but no Postgres data: move it away.")
        stage = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=self.home.root))
        try:
            self.home.make_private(stage)
            self._initdb(stage)
            stage.rename(self.data)
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    def _initdb(self, stage: Path) -> None:
        program = str(reachable_binary(self.home, "initdb", self.major()))
        # Trust is safe here: only who may enter the private folder reaches the socket, and there is no TCP.
        options = ["-U", "postgres", "-E", "UTF8", "--no-locale", "--data-checksums", "--auth=trust"]
        done = subprocess.run(  # noqa: S603
            [program, "-D", str(stage), *options, "--no-instructions"],
            capture_output=True,
            text=True,
            check=False,
            **self.home.account.process_options(),
        )
        if done.returncode != 0:
            raise ServiceError(f"the database could not be created in {self.data}: {done.stderr.strip()}")

    def _check_owner(self) -> None:
        if self.data.stat().st_uid != self.home.account.uid:
            user = self.home.account.name
            raise ServiceError(f"{self.data} does not belong to {user!r}, whom Postgres runs as: chown -R it.")

    def _remove_stale_locks(self) -> None:
        """Postgres takes any living process under the recorded number, even a zombie, for a rival."""
        socket_lock = self.home.sockets / f"{SOCKET}.lock"
        for path in (self.data / "postmaster.pid", socket_lock):
            if path.exists() and not self._may_be_rival(_pid_in(path)):
                path.unlink(missing_ok=True)
        if not socket_lock.exists():
            self.socket.unlink(missing_ok=True)

    def _may_be_rival(self, pid: int | None) -> bool:
        command = command_of(pid, "postgres") if pid else []
        if not command or command[0].startswith("postgres:"):  # that is how a backend calls itself
            return False
        return "-D" not in command or names_folder(command, "-D", self.data)


def _pid_in(path: Path) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        return abs(int(path.read_text().splitlines()[0])) or None
    return None
