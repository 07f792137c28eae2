"""The product from outside: `crosscut up`, its recovery from kills, and what it leaves on disk."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from graph.assembly import build_runtime
from graph.runtime import InterviewRuntime
from storage.crypto import load_vault
from storage.database import Database
from storage.embedded import bundled_binary, services
from tests.answers import answer_until
from tests.product import Product, run_cli
from tests.support import processes_below, temporary_home, wait_until
from workers.celery_app import celery, configure

CANARY = "the violet heron sleeps beneath my window"


@pytest.fixture
def attached(product: Product) -> Iterator[InterviewRuntime]:
    """A second process's view of the product's own database."""
    with services(product.settings) as found, Database(found.database_url, load_vault(product.settings)) as database:
        runtime = build_runtime(product.settings, database)
        yield runtime
        runtime.close()


def _one(product: Product, name: str, *words: str) -> psutil.Process:
    """The oldest process of that name under the product's home or supervisor."""
    family = psutil.Process(product.process.pid).children(recursive=True) + processes_below(product.home)
    living = [p for p in family if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    found = [p for p in living if name in p.name() and all(any(w in a for a in p.cmdline()) for w in words)]
    return min(found, key=lambda p: (p.create_time(), p.pid))


def test_it_says_where_it_is_in_one_line(product: Product) -> None:
    ready = [line for line in product.said().splitlines() if "ready" in line]
    assert ready == [f"Crosscut is ready at {product.address}  (Ctrl-C stops it)"]
    assert product.serves()


def test_a_second_start_says_what_is_running(product: Product) -> None:
    second = product.run("up")
    assert second.returncode == 0
    assert f"already running at {product.address} (process {product.process.pid})" in second.stdout


def test_doctor_finds_everything_in_order(product: Product) -> None:
    told = product.run("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(told.stdout)}
    assert told.returncode == 0, told.stdout
    for name in ("app", "Postgres", "Valkey", "database schema", "worker", "models", "encryption key"):
        assert checks[name]["state"] == "ok", checks[name]
    assert "Crosscut doctor" in product.run("doctor").stdout


def test_the_worker_finishes_a_turn_that_was_left_in_the_ledger(product: Product, attached: InterviewRuntime) -> None:
    view = answer_until(attached, attached.start(), 3)
    attached.turns.add(view.session_id, 3, "left-behind", "Nearly every day.")
    with services(product.settings) as found:
        configure(product.settings, database_url=found.database_url, redis_url=found.redis_url)
        celery.send_task("crosscut.sweep")
        celery.close()
    wait_until(lambda: attached.sessions.get(view.session_id).next_turn == 4, 120)
    assert attached.view(view.session_id).profile.item_responses[2].score == 4


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("postgres", ("-D",)),
        ("valkey-server", ()),
        ("python", ("worker",)),
        ("python", ("streamlit",)),
    ],
    ids=["postgres", "valkey", "worker", "app"],
)
def test_a_killed_part_comes_back_with_all_rows(
    product: Product, attached: InterviewRuntime, name: str, words: tuple[str, ...]
) -> None:
    view = answer_until(attached, attached.start(), 4)
    victim = _one(product, name, *words)
    victim.kill()
    wait_until(lambda: not victim.is_running() or victim.status() == psutil.STATUS_ZOMBIE)
    wait_until(lambda: _comes_back(product, name, words, victim.pid), 60)
    wait_until(product.serves, 60)
    assert attached.view(view.session_id) == view
    after = attached.submit(view.session_id, "Most days", expected_turn=4)
    assert after.items_completed == 4


def _comes_back(product: Product, name: str, words: tuple[str, ...], old: int) -> bool:
    try:
        return int(_one(product, name, *words).pid) != old
    except (ValueError, psutil.Error):
        return False


def test_a_patients_words_are_in_no_byte_on_disk(product: Product, tmp_path: Path) -> None:
    answers = {str(n): [f"{CANARY}, several days", f"{CANARY}, 4 days"] for n in range(1, 24)}
    answers["2"] = [f"{CANARY} and nothing else", CANARY]
    file = tmp_path / "answers.json"
    file.write_text(json.dumps(answers))
    done = product.run("interview", "--answers", str(file), "--json")
    assert done.returncode == 0, done.stderr
    assert CANARY in done.stdout
    with services(product.settings) as found:
        dump = subprocess.run(
            [bundled_binary("pg_dump"), "--dbname", found.database_url], capture_output=True, check=True
        ).stdout
    assert b"COPY public.turns" in dump
    _assert_absent("the dump", dump)
    files = [path for path in product.home.rglob("*") if path.is_file() and not path.is_symlink()]
    assert {"postgres", "valkey", "logs"} <= {path.relative_to(product.home).parts[0] for path in files}
    for path in files:
        _assert_absent(str(path), path.read_bytes())


def _assert_absent(where: str, content: bytes) -> None:
    for word in (CANARY, CANARY[10:30]):
        raw = word.encode()
        for form in (raw, raw.hex().encode(), word.encode("utf-16-le"), json.dumps(word).encode()[1:-1]):
            assert form not in content, f"{where} holds a patient's words"


def test_a_port_in_use_is_one_clear_message(product: Product) -> None:
    with temporary_home() as home:
        refused = run_cli(home, "up", CROSSCUT_PORT=str(product.port))
    assert refused.returncode == 1
    assert f"port {product.port} is in use by another program; set CROSSCUT_PORT" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_wrong_database_url_is_one_clear_message_without_the_password() -> None:
    with temporary_home() as home:
        refused = run_cli(home, "sessions", DATABASE_URL="postgresql://someone:hunter2@127.0.0.1:9/none")
    assert refused.returncode == 1
    assert "127.0.0.1" in refused.stderr
    assert "DATABASE_URL" in refused.stderr
    assert "hunter2" not in refused.stderr + refused.stdout
    assert "Traceback" not in refused.stderr


def test_an_external_database_and_broker_are_used_and_nothing_embedded_is_started(product: Product) -> None:
    """The product's own servers, seen over their sockets, are external to another home."""
    key = (product.home / "key").read_text().strip()
    with services(product.settings) as found, temporary_home() as home:
        told = run_cli(home, "sessions", DATABASE_URL=found.database_url, REDIS_URL=found.redis_url, CROSSCUT_KEY=key)
        assert told.returncode == 0, told.stderr
        assert not (home / "postgres").exists()
        assert not (home / "valkey").exists()


def test_an_unknown_setting_is_refused(product: Product) -> None:
    refused = product.run("sessions", CROSSCUT_COLOUR="blue")
    assert refused.returncode == 1
    assert "CROSSCUT_COLOUR is not a setting of Crosscut" in refused.stderr


def test_a_broken_home_fails_the_doctor_with_a_fix(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    told = run_cli(blocked / "home", "doctor", "--json", cwd=tmp_path)
    assert told.returncode == 1, told.stderr
    (home,) = [check for check in json.loads(told.stdout) if check["name"] == "home"]
    assert home["state"] == "broken"
    assert "CROSSCUT_HOME" in home["fix"]
