"""Snapshots: frozen with every revision, the same bytes whenever, immutable, and none of a session that was stopped."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator

import psycopg
import pytest

from benchmark.metrics import VERSION
from benchmark.snapshot import SnapshotDesk
from errors import InputError, SealError
from graph.reporting import Report
from graph.runtime import InterviewRuntime
from instruments.profile import SessionStatus
from settings import Settings
from storage.crypto import Vault
from storage.database import Database
from storage.embedded import Services
from storage.jobs import Jobs
from storage.snapshots import Snapshots, canonical_json
from tests.answers import answer_until
from tests.benchmarked import CRITERION, PERSONA, Held, copied, hold, shelved
from tests.golden import CORE, SNAPSHOT
from tests.product import environment
from tests.tables import rows_naming

DANGER = "I am going to kill myself tonight."
ANGER = 3
REASON = "She told me at the door that it was the whole fortnight."


@pytest.fixture(scope="module")
def held(template: Callable[[], str], settings: Settings, vault: Vault) -> Held:
    return hold(template(), settings, vault)


@pytest.fixture
def database(held: Held, servers: Services, vault: Vault) -> Iterator[Database]:
    with copied(held, servers, vault) as opened:
        yield opened


@pytest.fixture
def runtime(settings: Settings, database: Database) -> Iterator[InterviewRuntime]:
    with shelved(settings, database) as made:
        yield made


@pytest.fixture
def desk(database: Database, runtime: InterviewRuntime) -> SnapshotDesk:
    return SnapshotDesk(database, runtime)


def _correct(runtime: InterviewRuntime, session: str, score: int) -> Report:
    report = runtime.reports.correct(session, ANGER, score, REASON, "Dr A")
    assert report is not None
    return report


def test_a_snapshot_holds_all_that_the_session_was(desk: SnapshotDesk, runtime: InterviewRuntime, held: Held) -> None:
    view, report = runtime.view(held.session), runtime.reports.newest(held.session)
    snapshot = desk.get(desk.freeze(held.session))
    assert (snapshot.session_id, snapshot.persona_id, snapshot.revision) == (held.session, PERSONA, 1)
    assert [(line.turn, line.kind, line.text) for line in snapshot.lines] == [
        (line.turn, line.kind, line.text) for line in view.lines
    ]
    assert tuple(response.plain() for response in snapshot.responses) == view.profile.item_responses
    assert len(snapshot.responses) == 23
    assert {response.engine for response in snapshot.responses} == {"rules"}
    assert snapshot.symptom_summary == view.profile.symptom_summary
    assert snapshot.question_state == view.profile.question_state
    assert (snapshot.sections, snapshot.diagnosis) == (report.sections, report.diagnosis)
    turns = list(range(1, view.turn))
    assert list(snapshot.checked_turns) == turns, "every message was checked"
    assert [one.turn for one in snapshot.turn_seconds] == turns
    assert all(0 < one.seconds < 60 for one in snapshot.turn_seconds)
    made = snapshot.provenance
    assert set(made.prompts) == {"interviewer", "scorer", "risk", "diagnostician"}
    assert {len(p.sha256) for p in made.prompts.values()} == {len(made.source_sha256)} == {64}
    assert made.models["scorer"].model == "rules"
    assert "retrieveDsmPassages" in made.tools
    assert snapshot.calls == ()


def test_another_diagnostician_can_be_asked_just_what_ours_was(
    desk: SnapshotDesk, runtime: InterviewRuntime, held: Held
) -> None:
    snapshot = desk.get(desk.freeze(held.session))
    call = snapshot.diagnose_call()
    assert call.snapshot.transcript == runtime.view(held.session).profile.transcript
    assert runtime.reports.diagnostician(held.session).run(call).output == snapshot.diagnosis


def test_a_snapshot_of_categories_holds_the_passages_that_the_report_leaves_out(
    desk: SnapshotDesk, runtime: InterviewRuntime, held: Held
) -> None:
    report = runtime.reports.write(held.session, "categorical")
    assert [passage.text for passage in report.passages] == [""]
    snapshot = desk.get(desk.freeze(held.session))
    assert snapshot.mode == "categorical"
    assert [passage.text for passage in snapshot.passages] == [CRITERION]
    assert snapshot.passages[0].citation == report.passages[0].citation


def test_whenever_it_is_frozen_it_has_the_same_bytes(
    desk: SnapshotDesk, runtime: InterviewRuntime, database: Database, held: Held
) -> None:
    first = desk.freeze(held.session)
    content = canonical_json(desk.get(first).to_json_dict())
    database.run("DELETE FROM snapshots")
    _correct(runtime, held.session, 4)
    runtime.reports.write(held.session, "screening")
    assert desk.freeze(held.session, 1) == first
    assert canonical_json(desk.get(first).to_json_dict()) == content
    assert [one.revision for one in desk.of_session(held.session)] == [1, 2, 3], "opening freezes what is missing"
    assert desk.freeze_missing() == []


def test_the_sweep_freezes_what_nobody_opened(desk: SnapshotDesk, database: Database, held: Held) -> None:
    assert desk.freeze_missing() == [(held.session, 1)]
    assert [one.revision for one in Snapshots(database).of_session(held.session)] == [1]


def test_the_database_refuses_to_change_a_snapshot(desk: SnapshotDesk, database: Database, held: Held) -> None:
    sha256 = desk.freeze(held.session)
    with pytest.raises(psycopg.errors.RaiseException, match="never changed"):
        database.run("UPDATE snapshots SET revision = 7 WHERE sha256 = %s", sha256)


def test_what_does_not_match_its_address_is_refused_though_its_seal_is_right(
    desk: SnapshotDesk, database: Database, held: Held
) -> None:
    """Whoever holds the key could seal another content under a snapshot's address."""
    known, store = desk.content(desk.freeze(held.session)), Snapshots(database)
    forged = known.replace(b'"format":1', b'"format":2')
    address = hashlib.sha256(known + b" ").hexdigest()
    insert = "INSERT INTO snapshots (sha256, session_id, body, revision) VALUES (%s, %s, %s, NULL)"
    database.run(insert, address, held.session, database.vault.seal(forged, address))
    for read in (store.get, desk.get, desk.content):
        with pytest.raises(SealError, match=f"{address} does not match its address"):
            read(address)
    right = hashlib.sha256(forged).hexdigest()
    database.run(insert, right, held.session, database.vault.seal(forged, right))
    assert store.get(right)["format"] == 2


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_a_kept_snapshot_has_the_card_that_is_kept_with_it_in_a_process_of_its_own(hash_seed: str) -> None:
    """Byte for byte, under the version of the metrics: who changes a figure raises it (tests/golden.py)."""
    made = subprocess.run(
        [sys.executable, "-m", "tests.golden"],
        env=environment(SNAPSHOT.parent, PYTHONHASHSEED=hash_seed),
        capture_output=True,
        check=True,
    ).stdout
    core = json.loads(made)
    assert CORE.exists(), f"there is no card of metrics version {VERSION}: see tests/golden.py"
    assert core == json.loads(CORE.read_bytes()), "a figure changed and VERSION did not"
    assert made == CORE.read_bytes()
    assert core["provenance"]["metricsVersion"] == VERSION
    content = SNAPSHOT.read_bytes()
    assert canonical_json(json.loads(content)) == content
    assert core["provenance"]["snapshotSha256"] == hashlib.sha256(content).hexdigest()


def test_a_correction_is_an_overlay_with_its_original(
    desk: SnapshotDesk, runtime: InterviewRuntime, database: Database, held: Held
) -> None:
    before = runtime.view(held.session)
    asked = before.profile.item_responses[ANGER - 1]
    report = _correct(runtime, held.session, 4)
    assert report.revision == 2
    appendix = next(section.markdown for section in report.sections if section.title == "Item-Level Appendix")
    row = next(line for line in appendix.splitlines() if line.startswith("| L1-03 "))
    assert f"(corrected by the therapist; scored {asked.score})" in row
    assert "**4 · " in row
    anger = {domain.domain: domain.severity_aggregate for domain in report.profile.symptom_summary}["Anger"]
    assert anger == 4
    assert runtime.view(held.session) == before, "nothing of the conversation changed"
    snapshot = desk.get(desk.freeze(held.session))
    assert snapshot.responses[ANGER - 1].score == asked.score
    assert snapshot.item_responses[ANGER - 1].score == 4
    assert [(one.original, one.score, one.reason) for one in snapshot.corrections] == [(asked.score, 4, REASON)]
    assert rows_naming(database, REASON) == {}
    back = _correct(runtime, held.session, asked.score)
    assert back.corrections == ()
    assert [one.score for one in runtime.reports.corrections.history(held.session)] == [4, asked.score]


@pytest.mark.parametrize(
    ("item", "score", "reason"), [(ANGER, 5, "x"), (ANGER, -1, "x"), (24, 1, "x"), (ANGER, 1, " ")]
)
def test_what_is_no_correction_is_refused(
    runtime: InterviewRuntime, held: Held, item: int, score: int, reason: str
) -> None:
    with pytest.raises(InputError):
        runtime.reports.correct(held.session, item, score, reason, "Dr A")
    assert runtime.reports.corrections.history(held.session) == []


def test_an_item_can_be_corrected_while_the_interview_goes_on(runtime: InterviewRuntime, desk: SnapshotDesk) -> None:
    view = answer_until(runtime, runtime.start(), 3)
    assert runtime.reports.correct(view.session_id, 1, 4, REASON, "Dr A") is None
    with pytest.raises(InputError, match="has not been scored"):
        runtime.reports.correct(view.session_id, 20, 4, REASON, "Dr A")
    with pytest.raises(InputError, match="not finished"):
        desk.freeze(view.session_id)


def test_a_stop_after_the_end_takes_the_snapshots_away(
    desk: SnapshotDesk, runtime: InterviewRuntime, database: Database, held: Held
) -> None:
    sha256 = desk.freeze(held.session)
    runtime.reports.write(held.session, "screening")
    job = Jobs(database).enqueue("benchmark", sha256, session_id=held.session)
    view = runtime.submit(held.session, DANGER, expected_turn=runtime.view(held.session).turn)
    assert view.profile.session_status is SessionStatus.TERMINATED
    assert Jobs(database).get(job.id).status == "cancelled"
    refused: list[Callable[[], object]] = [
        lambda: desk.get(sha256),
        lambda: desk.freeze(held.session),
        lambda: desk.freeze(held.session, 2),
        lambda: desk.of_session(held.session),
        lambda: Snapshots(database).get(sha256),
        lambda: runtime.reports.correct(held.session, ANGER, 4, REASON, "Dr A"),
    ]
    for asked in refused:
        with pytest.raises(InputError, match="stopped for safety"):
            asked()
    assert desk.freeze_missing() == []
    assert [one.revision for one in Snapshots(database).of_session(held.session)] == [1], "none was added"
