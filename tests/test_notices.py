"""The outbox and its delivery, against real loopback HTTP and SMTP servers."""

from __future__ import annotations

import base64
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from ipaddress import ip_address
from pathlib import Path

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import SecretStr

from errors import InputError, NotFoundError, SettingsError
from storage.database import Database
from storage.notices import MAX_TRIES, Channel, Notice, Notices, add_within, wait_after
from storage.sessions import Sessions
from storage.turns import Turns
from tests.loopback import CANARY, Hook, Mailbox
from workers.notify import NoticeSettings, Send, channels_of, deliver, deliver_due, signature

NOTE = "canary-note-of-a-therapist"
ADDRESS = "http://crosscut.clinic.example"
SECRET = "webhook-secret-canary"
BOTH: tuple[Channel, ...] = ("webhook", "mail")
LATER = timedelta(minutes=10)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    with made.running():
        yield made


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    made = Mailbox()
    with made.running():
        yield made


@pytest.fixture
def notices(database: Database) -> Notices:
    return Notices(database)


@pytest.fixture
def session(database: Database) -> str:
    """A session in which something was said that must not leave."""
    made = Sessions(database).create().id
    Turns(database).add(made, 1, "message", CANARY)
    return made


def webhook(hook: Hook, timeout: float = 10.0) -> NoticeSettings:
    return NoticeSettings(ADDRESS, SecretStr(hook.url), SecretStr(SECRET), timeout_seconds=timeout)


def mail(box: Mailbox, login: str = "", timeout: float = 10.0, host: str = "127.0.0.1") -> NoticeSettings:
    url = SecretStr(f"smtp{'s' if box.tls_from_the_start else ''}://{login}{host}:{box.port}")
    return NoticeSettings(
        ADDRESS,
        smtp_url=url,
        mail_from="crosscut@clinic.example",
        mail_to="team@clinic.example",
        timeout_seconds=timeout,
    )


def both(hook: Hook, box: Mailbox) -> dict[Channel, Send]:
    return channels_of(webhook(hook)) | channels_of(mail(box))


def now() -> datetime:
    return datetime.now(UTC)


# --- the outbox


def test_a_session_has_one_open_notice_of_a_kind(notices: Notices, session: str) -> None:
    assert notices.add(session, "flag")
    assert not notices.add(session, "flag")
    assert notices.add(session, "stop")
    assert [notice.kind for notice in notices.unacknowledged()] == ["stop", "flag"]


def test_after_acknowledgement_another_turn_opens_another_notice_and_the_same_turn_does_not(
    notices: Notices, session: str
) -> None:
    assert notices.add(session, "flag", turn=3)
    assert not notices.add(session, "flag", turn=4)
    notices.acknowledge(session, "Dr. Example", "called")
    assert not notices.add(session, "flag", turn=3)
    assert notices.add(session, "flag", turn=5)


def test_a_notice_that_is_rolled_back_was_never_there(notices: Notices, session: str, database: Database) -> None:
    with database.transaction() as connection:
        assert add_within(connection, session, "stop", 1)
        raise psycopg.Rollback
    assert notices.unacknowledged() == []


def test_stops_come_first_then_the_oldest(notices: Notices, database: Database) -> None:
    first, second, third = (Sessions(database).create().id for _ in range(3))
    notices.add(first, "flag")
    notices.add(second, "flag")
    notices.add(third, "stop")
    assert [notice.session_id for notice in notices.unacknowledged()] == [third, first, second]
    assert [notice.session_id for notice in notices.due(BOTH)] == [third, first, second]


def test_nobody_is_called_for_a_synthetic_patient(notices: Notices, database: Database) -> None:
    demo = Sessions(database).create(persona="grey-mornings").id
    assert notices.add(demo, "stop")
    assert [notice.session_id for notice in notices.unacknowledged()] == [demo]
    assert not notices.due(BOTH)
    assert notices.claim(BOTH) is None


def test_an_acknowledgement_closes_all_and_keeps_its_note_sealed(
    notices: Notices, session: str, database: Database
) -> None:
    notices.add(session, "stop")
    notices.add(session, "flag")
    assert notices.acknowledge(session, " Dr. Example ", NOTE) == 2
    assert notices.unacknowledged() == []
    for notice in notices.of_session(session):
        assert (notice.acknowledged_by, notice.note) == ("Dr. Example", NOTE)
        assert notice.acknowledged_at is not None
        assert NOTE not in repr(notice)
    stored = database.all("SELECT notices::text AS row FROM notices")
    assert stored
    assert not any(NOTE.encode().hex() in row["row"] or NOTE in row["row"] for row in stored)


def test_an_acknowledgement_needs_a_name_and_something_to_acknowledge(notices: Notices, session: str) -> None:
    with pytest.raises(NotFoundError, match="nothing open"):
        notices.acknowledge(session, "Dr. Example", NOTE)
    notices.add(session, "flag")
    with pytest.raises(InputError, match="needs the name"):
        notices.acknowledge(session, "  ", NOTE)
    assert notices.acknowledge(session, "Dr. Example") == 1
    with pytest.raises(NotFoundError, match="somebody may have acknowledged"):
        notices.acknowledge(session, "Dr. Other", "a note that must not vanish unseen")


def test_what_is_raised_after_somebody_looked_stays_open(notices: Notices, session: str) -> None:
    notices.add(session, "flag", 3)
    (looked_at,) = notices.of_session(session)
    assert not notices.add(session, "flag", 4), "one notice stands for both"
    with pytest.raises(NotFoundError):
        notices.acknowledge(session, "Dr. Example", NOTE, seen=looked_at.raised_at)
    (raised_again,) = notices.unacknowledged()
    assert raised_again.raised_at > looked_at.raised_at
    assert notices.acknowledge(session, "Dr. Example", NOTE, seen=raised_again.raised_at) == 1


def test_deleting_a_session_deletes_its_notices(notices: Notices, session: str, database: Database) -> None:
    notices.add(session, "stop")
    database.run("DELETE FROM sessions WHERE id = %s", session)
    assert notices.of_session(session) == []


def test_a_claimed_notice_is_nobody_elses_until_the_lease_is_over(notices: Notices, session: str) -> None:
    notices.add(session, "stop")
    start = now()
    claimed = notices.claim(BOTH, start)
    assert claimed is not None
    assert claimed.tries == 1
    assert notices.claim(BOTH, start + timedelta(minutes=4)) is None
    again = notices.claim(BOTH, start + timedelta(minutes=6))
    assert again is not None
    assert (again.id, again.tries) == (claimed.id, 2)


def test_waits_double_up_to_an_hour_and_tries_last_about_two_days() -> None:
    waits = [wait_after(tries) for tries in range(1, MAX_TRIES)]
    assert waits[:4] == [timedelta(minutes=m) for m in (1, 2, 4, 8)]
    assert max(waits) == timedelta(hours=1)
    assert timedelta(days=1.5) < sum(waits, timedelta()) < timedelta(days=2.5)


def test_after_the_last_try_a_notice_is_left_for_the_page_to_show(notices: Notices, session: str) -> None:
    notices.add(session, "stop")
    at, tries = now(), 0
    while notice := notices.claim(BOTH, at):
        notices.settle(notice, [], "webhook: refused", at)
        at, tries = at + timedelta(hours=2), tries + 1
    assert tries == MAX_TRIES
    assert [n.last_error for n in notices.unacknowledged()] == ["webhook: refused"]


# --- delivery


def test_a_stop_is_told_once_over_both_channels(notices: Notices, session: str, hook: Hook, mailbox: Mailbox) -> None:
    notices.add(session, "stop", 1)
    assert deliver_due(notices, both(hook, mailbox)) == 1
    assert deliver_due(notices, both(hook, mailbox)) == 0
    assert deliver_due(notices, both(hook, mailbox), now() + timedelta(days=1)) == 0
    (notice,) = notices.unacknowledged()
    assert notice.webhook_sent_at is not None
    assert notice.mail_sent_at is not None
    assert (notice.tries, notice.last_error) == (1, None)
    assert len(hook.received) == len(mailbox.messages) == 1


def test_what_leaves_is_this_and_nothing_else(
    notices: Notices, session: str, hook: Hook, mailbox: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    notices.add(session, "flag", 7)
    notices.acknowledge(session, "Dr. Example", NOTE)
    notices.add(session, "stop", 8)
    with caplog.at_level(logging.DEBUG):
        deliver_due(notices, both(hook, mailbox))
    (notice,) = notices.unacknowledged()
    at = notice.created_at.astimezone(UTC).isoformat(timespec="seconds")
    assert hook.bodies == [{"notice": notice.id, "kind": "stop", "session": session, "at": at, "address": ADDRESS}]
    (raw,) = mailbox.messages
    message = message_from_bytes(raw, policy=policy.default)
    assert (message["Subject"], message["From"]) == ("Crosscut: a session needs attention", "crosscut@clinic.example")
    text = message.get_content()
    for fact in ("Kind: stop", f"Session: {session}", f"Since: {at}", f"Open: {ADDRESS}"):
        assert fact in text
    assert mailbox.received[0] == b"ehlo [127.0.0.1]\r\n"  # not this machine's name
    everything = hook.everything + mailbox.everything + caplog.text.encode()
    for secret in (CANARY, NOTE, "Dr. Example", SECRET):
        for form in (secret.encode(), base64.b64encode(secret.encode()).rstrip(b"=")[:-1]):
            assert form not in everything


def test_the_signature_covers_time_and_body(notices: Notices, session: str, hook: Hook) -> None:
    notices.add(session, "stop")
    deliver_due(notices, channels_of(webhook(hook)))
    head, _, body = hook.received[0].partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().lower().split("\r\n")[1:])
    timestamp = headers["crosscut-timestamp"]
    assert abs(int(timestamp) - now().timestamp()) < 120
    assert headers["crosscut-signature"] == signature(SECRET, timestamp, body)
    assert headers["crosscut-signature"] != signature(SECRET, timestamp, body + b" ")
    assert headers["crosscut-signature"] != signature(SECRET, str(int(timestamp) + 1), body)
    assert headers["crosscut-signature"] != signature("another secret", timestamp, body)


def test_the_signature_is_the_documented_formula() -> None:
    # printf '1700000000.{}' | openssl dgst -sha256 -hmac secret
    assert signature("secret", "1700000000", b"{}") == (
        "sha256=b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163"
    )


def test_without_a_secret_nothing_is_signed(notices: Notices, session: str, hook: Hook) -> None:
    notices.add(session, "stop")
    assert deliver_due(notices, channels_of(NoticeSettings(ADDRESS, SecretStr(hook.url)))) == 1
    assert b"signature" not in hook.everything.lower()


def test_without_channels_notices_wait_in_the_outbox(notices: Notices, session: str, hook: Hook) -> None:
    notices.add(session, "stop")
    assert channels_of(NoticeSettings(ADDRESS)) == {}
    assert deliver_due(notices, {}) == 0
    assert notices.unacknowledged()[0].tries == 0
    assert deliver_due(notices, channels_of(webhook(hook))) == 1


@pytest.mark.parametrize(
    ("status", "category"),
    [
        (500, "http 500"),
        (404, "http 404"),
        (302, "http 302"),
        (307, "http 307"),
        (0, "disconnected"),
        (None, "timeout"),
    ],
)
def test_a_webhook_that_fails_is_tried_again_later(
    notices: Notices, session: str, hook: Hook, status: int | None, category: str
) -> None:
    notices.add(session, "stop")
    hook.statuses = [status]
    channels = channels_of(webhook(hook, timeout=2.0 if status is None else 10.0))
    assert deliver_due(notices, channels) == 0
    (notice,) = notices.unacknowledged()
    assert (notice.last_error, notice.webhook_sent_at, notice.tries) == (f"webhook: {category}", None, 1)
    assert deliver_due(notices, channels) == 0
    assert len(hook.received) == 1
    assert deliver_due(notices, channels, now() + LATER) == 1
    (notice,) = notices.unacknowledged()
    assert (notice.last_error, notice.tries) == (None, 2)
    assert notice.webhook_sent_at is not None


def test_nobody_listening_is_refused(notices: Notices, session: str) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound, not listening: the port is ours and closed
        gone = Hook(port=held.getsockname()[1])
        away = Mailbox(port=gone.port)
        notices.add(session, "stop")
        assert deliver_due(notices, both(gone, away)) == 0
    assert notices.unacknowledged()[0].last_error == "webhook: refused, mail: refused"


@pytest.mark.parametrize(
    ("replies", "category"),
    [
        ({"CONNECT": "554 go away"}, "smtp 554"),
        ({"MAIL": "451 later"}, "smtp 451"),
        ({"RCPT": f"550 {CANARY}"}, "recipient refused"),
        ({"DATA": "452 full"}, "smtp 452"),
        ({"MESSAGE": "552 too much"}, "smtp 552"),
        ({"CONNECT": Mailbox.HANG}, "timeout"),
        ({"MAIL": Mailbox.HANG}, "timeout"),
    ],
)
def test_a_mail_server_that_fails_is_tried_again_later(
    notices: Notices, session: str, mailbox: Mailbox, replies: dict[str, str], category: str
) -> None:
    notices.add(session, "stop")
    mailbox.replies = replies
    hangs = Mailbox.HANG in replies.values()
    assert deliver_due(notices, channels_of(mail(mailbox, timeout=2.0 if hangs else 10.0))) == 0
    assert notices.unacknowledged()[0].last_error == f"mail: {category}"
    mailbox.replies = {}
    assert deliver_due(notices, channels_of(mail(mailbox)), now() + LATER) == 1
    assert len(mailbox.messages) == (2 if "MESSAGE" in replies else 1)


@pytest.mark.parametrize("goodbye", [Mailbox.HANG, "421 no manners"])
def test_what_a_mail_server_accepted_is_sent_however_it_says_goodbye(
    notices: Notices, session: str, mailbox: Mailbox, goodbye: str
) -> None:
    notices.add(session, "stop")
    mailbox.replies = {"QUIT": goodbye}
    assert deliver_due(notices, channels_of(mail(mailbox, timeout=2.0))) == 1


def test_one_failing_channel_does_not_stop_the_other_nor_repeat_it(
    notices: Notices, session: str, hook: Hook, mailbox: Mailbox
) -> None:
    notices.add(session, "stop")
    hook.statuses = [500]
    assert deliver_due(notices, both(hook, mailbox)) == 0
    (notice,) = notices.unacknowledged()
    assert notice.last_error == "webhook: http 500"
    assert notice.mail_sent_at is not None
    assert deliver_due(notices, both(hook, mailbox), now() + LATER) == 1
    assert (len(hook.received), len(mailbox.messages)) == (2, 1)


def test_one_failing_notice_does_not_stop_the_next(notices: Notices, database: Database, hook: Hook) -> None:
    for _ in range(3):
        notices.add(Sessions(database).create().id, "flag")
    hook.statuses = [500]
    assert deliver_due(notices, channels_of(webhook(hook))) == 2


def test_an_acknowledged_notice_is_not_sent_again(notices: Notices, session: str, hook: Hook) -> None:
    notices.add(session, "stop")
    hook.statuses = [500]
    deliver_due(notices, channels_of(webhook(hook)))
    notices.acknowledge(session, "Dr. Example", NOTE)
    assert deliver_due(notices, channels_of(webhook(hook)), now() + timedelta(days=1)) == 0
    assert len(hook.received) == 1


def test_several_workers_tell_each_notice_once(notices: Notices, database: Database, hook: Hook) -> None:
    sessions = [Sessions(database).create().id for _ in range(20)]
    for identifier in sessions:
        notices.add(identifier, "stop")
    delivered: list[int] = []
    gate = threading.Barrier(4)

    def work() -> None:
        gate.wait(60)
        delivered.append(deliver_due(Notices(database), channels_of(webhook(hook))))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sum(delivered) == 20
    assert sorted(str(body["session"]) for body in hook.bodies) == sorted(sessions)


def test_a_worker_killed_before_it_could_tell_is_replaced_after_the_lease(
    notices: Notices, session: str, hook: Hook
) -> None:
    notices.add(session, "stop")
    assert notices.claim(BOTH) is not None  # and then the power went
    assert deliver_due(notices, channels_of(webhook(hook))) == 0
    assert deliver_due(notices, channels_of(webhook(hook)), now() + LATER) == 1


def test_the_server_is_logged_into_when_a_user_is_given(notices: Notices, session: str, mailbox: Mailbox) -> None:
    mailbox.login = ("team@clinic", "pass:word/100%")
    notices.add(session, "stop")
    settings = mail(mailbox, "team%40clinic:pass%3Aword%2F100%25@")
    assert deliver_due(notices, channels_of(settings)) == 1
    assert mailbox.logged_in == ["team@clinic"]


@pytest.mark.parametrize("login", [("user", "another"), None])
def test_a_login_that_fails_is_told_as_such(
    notices: Notices, session: str, mailbox: Mailbox, login: tuple[str, str] | None
) -> None:
    mailbox.login = login
    notices.add(session, "stop")
    assert deliver_due(notices, channels_of(mail(mailbox, "user:password@"))) == 0
    assert notices.unacknowledged()[0].last_error == "mail: login"


@pytest.mark.parametrize("from_the_start", [False, True])
def test_encryption_is_used_where_offered_and_the_server_is_checked(
    notices: Notices,
    session: str,
    mailbox: Mailbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    from_the_start: bool,
) -> None:
    mailbox.tls_from_the_start = from_the_start
    mailbox.tls, certificate = _server_context(tmp_path)
    mailbox.login = ("user", "password")
    notices.add(session, "stop")
    channels = channels_of(mail(mailbox, "user:password@"))
    assert deliver_due(notices, channels) == 0
    assert notices.unacknowledged()[0].last_error == "mail: tls"
    assert mailbox.logged_in == []
    mailbox.encrypted = False
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert deliver_due(notices, channels, now() + LATER) == 1
    assert mailbox.encrypted
    assert mailbox.logged_in == ["user"]
    assert len(mailbox.messages) == 1


def test_a_password_goes_in_clear_to_this_machine_only(mailbox: Mailbox) -> None:
    mailbox.login = ("user", "password")
    elsewhere = "127.1"  # leads here, but is not plainly this machine
    assert deliver(_notice(), channels_of(mail(mailbox, "user:password@", host=elsewhere))) == {"mail": "tls"}
    assert mailbox.logged_in == []
    assert deliver(_notice(), channels_of(mail(mailbox, host=elsewhere))) == {"mail": None}


def test_a_name_that_does_not_resolve_is_said() -> None:
    assert deliver(_notice(), channels_of(mail(Mailbox(port=25), host="nowhere.invalid"))) == {"mail": "unknown host"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NoticeSettings(ADDRESS, SecretStr("ftp://canary/x")), "CROSSCUT_WEBHOOK_URL must look like"),
        (lambda: NoticeSettings(ADDRESS, SecretStr("https://canary:port/")), "CROSSCUT_WEBHOOK_URL must look like"),
        (lambda: NoticeSettings(ADDRESS, SecretStr("https://canary@h/")), "no user"),
        (lambda: NoticeSettings(ADDRESS, webhook_secret=SecretStr("canary")), "CROSSCUT_WEBHOOK_URL is not"),
        (lambda: NoticeSettings(ADDRESS, smtp_url=SecretStr("smtp://canary@host")), "together"),
        (lambda: NoticeSettings(ADDRESS, None, None, SecretStr("canary"), "a@b", "c@d"), "CROSSCUT_SMTP_URL must look"),
        (lambda: NoticeSettings(ADDRESS, None, None, SecretStr("smtp://u:canary%C3%BC@h"), "a@b", "c@d"), "ASCII"),
        (lambda: NoticeSettings(ADDRESS, None, None, SecretStr("smtp://h"), "a@b", "c@d, e@f"), "CROSSCUT_MAIL_TO"),
        (
            lambda: NoticeSettings(ADDRESS, None, None, SecretStr("smtp://h"), "a@b\nBcc: x", "c@d"),
            "CROSSCUT_MAIL_FROM",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused_without_showing_secrets(
    make: Callable[[], NoticeSettings], message: str
) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        make()
    assert "canary" not in str(caught.value)


def test_settings_do_not_print_their_secrets() -> None:
    hook, mail_server = SecretStr("https://h/canary"), SecretStr("smtp://u:canary@h")
    assert "canary" not in repr(NoticeSettings(ADDRESS, hook, SecretStr("canary"), mail_server, "a@b", "c@d"))


def _notice() -> Notice:
    return Notice(1, "session", "stop", 1, now(), None, None, 1, None, None, None, None, now())


def _server_context(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A certificate for 127.0.0.1 that nobody has signed but itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now() - timedelta(days=1))
        .not_valid_after(now() + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "certificate.pem", folder / "key.pem"
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return context, public
