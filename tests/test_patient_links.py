"""What a session is started with: the patient's link, the client's label, a model and a locale of its own."""

from __future__ import annotations

from typing import Any

import pytest

from agents.escalation import escalation, known_locales
from benchmark.live import LiveInterviews
from errors import InputError, NotFoundError
from graph.assembly import build_runtime
from graph.runtime import InterviewRuntime
from graph.trial import try_model
from settings import RULES, Settings
from storage.audit import Audit
from storage.clients import ClientLabels
from storage.database import Database
from storage.links import PatientLinks
from storage.sessions import Choice
from tests.gateway import Gateway, text_reply, unauthorised
from tests.support import wait_until
from tests.tables import rows_naming

DANGER = "I am going to kill myself tonight."


def test_a_link_leads_to_its_session_and_no_other_token_does(database: Database, runtime: InterviewRuntime) -> None:
    links, session_id = PatientLinks(database), runtime.start().session_id
    token = links.token(session_id)
    assert links.token(session_id) == token
    assert len(token) >= 43
    assert links.session_id(token) == session_id
    for wrong in ("", token[:-1], token + "A", token.swapcase(), session_id, "\udcff"):
        with pytest.raises(NotFoundError):
            links.session_id(wrong)
    assert rows_naming(database, token) == {}
    renewed = links.renew(session_id)
    assert links.session_id(renewed) == session_id
    with pytest.raises(NotFoundError):
        links.session_id(token)
    runtime.delete(session_id)
    for old in (token, renewed):
        with pytest.raises(NotFoundError):
            links.session_id(old)
    with pytest.raises(NotFoundError):
        links.token(session_id)


def test_equal_labels_of_one_owner_join_interviews(database: Database, runtime: InterviewRuntime) -> None:
    labels = ClientLabels(database)
    first, second, other, foreign = (runtime.start(owner=owner).session_id for owner in ("a", "a", "a", "b"))
    for session_id, owner, label in (
        (first, "a", " C-017 "),
        (second, "a", "c-017"),
        (other, "a", "C-018"),
        (foreign, "b", "C-017"),
    ):
        labels.put(session_id, owner, label)
    assert labels.same_client(first) == [first, second]
    assert labels.same_client(foreign) == [foreign]
    assert labels.of([first, other, "none"]) == {first: "C-017", other: "C-018"}
    assert rows_naming(database, "C-017") == {}
    labels.put(second, "a", "  ")
    assert labels.same_client(first) == [first]
    assert labels.same_client(second) == []
    with pytest.raises(InputError, match="80 characters"):
        labels.put(first, "a", "x" * 81)
    runtime.delete(first)
    assert "client_labels" not in rows_naming(database, first)


def test_owners_see_their_own(runtime: InterviewRuntime) -> None:
    mine, yours = runtime.start(owner="a").session_id, runtime.start(owner="b").session_id
    assert [session.id for session in runtime.sessions.newest(owner="a")] == [mine]
    assert {session.id for session in runtime.sessions.newest()} >= {mine, yours}


def test_a_session_stops_with_the_words_of_its_own_locale(database: Database, runtime: InterviewRuntime) -> None:
    british = runtime.start(choice=Choice(locale="GB"))
    ours = runtime.start()
    assert escalation("GB").script != escalation("en-US").script
    for view, locale in ((british, "GB"), (ours, "en-US")):
        assert runtime.words(view.session_id) == escalation(locale)
        stopped = runtime.submit(view.session_id, DANGER, expected_turn=view.turn, item=view.item)
        assert stopped.lines[-1].text == escalation(locale).script
        (entry,) = [e for e in Audit(database).entries(view.session_id) if e.get("level") == "stop"]
        assert entry["locale"] == escalation(locale).locale
    by_hand = runtime.start(choice=Choice(locale="GB"))
    assert runtime.stop(by_hand.session_id).lines[-1].text == escalation("GB").script


def test_a_session_is_played_by_the_model_it_was_started_with(database: Database, gate: Gateway) -> None:
    """Both ways: a model where the installation has rules, and rules where it has a model."""
    base: dict[str, Any] = {
        "gateway_base_url": gate.base_url,
        "gateway_api_key": "k",
        "model_tries": 1,
        "_env_file": None,
    }
    model = "tests/chosen"
    runtime = build_runtime(Settings(**base), database)
    view = runtime.start(choice=Choice(model=model))
    assert {request.body["model"] for request in gate.requests} == {model}
    assert f"interviewer={model}" in view.profile.session_meta.model_version
    asked = len(gate.requests)
    runtime.start()
    assert len(gate.requests) == asked
    runtime.close()
    driven = build_runtime(Settings(**base, model_interviewer=model, model_scorer=model), database)
    quiet = driven.start(choice=Choice(model=RULES))
    driven.submit(quiet.session_id, "Several days.", expected_turn=quiet.turn, item=quiet.item)
    assert len(gate.requests) == asked
    driven.close()


def test_a_model_whose_key_is_gone_does_not_end_its_session(runtime: InterviewRuntime) -> None:
    view = runtime.start(choice=Choice(model="tests/chosen"))
    after = runtime.submit(view.session_id, "Several days.", expected_turn=view.turn, item=view.item)
    assert after.items_completed == 1


def test_a_model_is_tried_with_one_real_call(gate: Gateway) -> None:
    settings = Settings(
        _env_file=None,
        gateway_base_url=gate.base_url,
        gateway_api_key="k",
        model_scorer="tests/a",
        model_embedding=RULES,
    )
    gate.script(text_reply("Yes."))
    assert "tests/a answered: Yes." in try_model(settings, "scorer").said
    gate.script(unauthorised())
    assert "tests/a" in try_model(settings, "scorer").error
    assert "nothing to call" in try_model(settings, "risk").said
    assert "1536 numbers" in try_model(settings, "embedding").said


def test_every_locale_can_be_chosen() -> None:
    assert all(escalation(name) == words for name, words in known_locales().items())


def test_a_personas_interview_goes_on_by_itself_to_its_report(runtime: InterviewRuntime) -> None:
    live = LiveInterviews(runtime, seconds_a_turn=0)
    session_id = live.start("grey-mornings", owner="a")
    wait_until(lambda: not live.is_running(session_id), 120)
    session = runtime.sessions.get(session_id)
    assert (session.status, session.owner, session.persona) == ("completed", "a", "grey-mornings")
    assert len(runtime.reports.revisions(session_id)) == 1
    live.resume(session_id)  # which has ended: nothing is said any more
    wait_until(lambda: not live.is_running(session_id), 60)
    assert runtime.sessions.get(session_id).next_turn == session.next_turn
    with pytest.raises(InputError):
        live.resume(runtime.start().session_id)
