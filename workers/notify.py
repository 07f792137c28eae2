"""Tells an absent therapist that a session needs attention, by webhook and e-mail; never what was said in it."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import json
import smtplib
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import SecretStr

from errors import SettingsError
from settings import Settings
from storage.notices import Channel, Notice, Notices

Send = Callable[[Notice], None]

# What each failure is called in the outbox. Servers' own words may repeat anything, so they are not kept.
_CATEGORIES: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((TimeoutError,), "timeout"),
    ((ConnectionRefusedError,), "refused"),
    ((ssl.SSLError,), "tls"),
    ((socket.gaierror,), "unknown host"),
    ((smtplib.SMTPAuthenticationError, smtplib.SMTPNotSupportedError), "login"),
    ((smtplib.SMTPRecipientsRefused,), "recipient refused"),
    ((smtplib.SMTPServerDisconnected, ConnectionError), "disconnected"),
    ((http.client.HTTPException, smtplib.SMTPException), "protocol"),
    ((OSError,), "unreachable"),
    ((ValueError,), "malformed"),
)


@dataclass(frozen=True)
class NoticeSettings:
    """Where notices go; without a webhook and without a mail server they stay in the outbox for the page to show."""

    address: str
    webhook_url: SecretStr | None = None
    webhook_secret: SecretStr | None = None
    smtp_url: SecretStr | None = None
    mail_from: str | None = None
    mail_to: str | None = None
    timeout_seconds: float = 10.0

    def __post_init__(self) -> None:
        self._check_webhook()
        self._check_mail()

    def _check_webhook(self) -> None:
        if self.webhook_url is None:
            if self.webhook_secret:
                raise SettingsError("CROSSCUT_WEBHOOK_SECRET is set but CROSSCUT_WEBHOOK_URL is not: set that too.")
        elif _split("CROSSCUT_WEBHOOK_URL", self.webhook_url, "http", "https").username is not None:
            raise SettingsError(
                "CROSSCUT_WEBHOOK_URL takes no user or password: CROSSCUT_WEBHOOK_SECRET signs instead."
            )

    def _check_mail(self) -> None:
        mail = (self.smtp_url, self.mail_from, self.mail_to)
        if any(mail) and not all(mail):
            raise SettingsError("e-mail needs CROSSCUT_SMTP_URL, CROSSCUT_MAIL_FROM and CROSSCUT_MAIL_TO together.")
        if self.smtp_url:
            url = _split("CROSSCUT_SMTP_URL", self.smtp_url, "smtp", "smtps")
            if not (unquote(url.username or "") + unquote(url.password or "")).isascii():
                raise SettingsError(
                    "the user and password in CROSSCUT_SMTP_URL must be ASCII: choose another password."
                )
        for name, address in (("CROSSCUT_MAIL_FROM", self.mail_from), ("CROSSCUT_MAIL_TO", self.mail_to)):
            if address and (address.count("@") != 1 or not address.isascii() or set(address) & set(" ,;<>\r\n\t")):
                raise SettingsError(f"{name} must be one plain address, such as team@clinic.example; got {address!r}.")


def notice_settings(settings: Settings) -> NoticeSettings:
    return NoticeSettings(
        address=settings.address,
        webhook_url=settings.crosscut_webhook_url,
        webhook_secret=settings.crosscut_webhook_secret,
        smtp_url=settings.crosscut_smtp_url,
        mail_from=settings.crosscut_mail_from,
        mail_to=settings.crosscut_mail_to,
    )


def channels_of(settings: NoticeSettings) -> dict[Channel, Send]:
    """The configured channels."""
    channels: dict[Channel, Send] = {}
    if settings.webhook_url:
        channels["webhook"] = lambda notice: _post(notice, settings)
    if settings.smtp_url:
        channels["mail"] = lambda notice: _mail(notice, settings)
    return channels


def deliver_due(notices: Notices, channels: Mapping[Channel, Send], at: datetime | None = None) -> int:
    """Deliver what is due, and say how many notices went out over every channel. `at` is the clock, for tests."""
    delivered = 0
    while (notice := notices.claim(channels.keys(), at)) is not None:
        outcome = deliver(notice, channels)
        failed = {channel: error for channel, error in outcome.items() if error}
        errors = ", ".join(f"{channel}: {error}" for channel, error in failed.items())
        notices.settle(notice, outcome.keys() - failed.keys(), errors or None, at)
        delivered += not failed
    return delivered


def deliver(notice: Notice, channels: Mapping[Channel, Send]) -> dict[Channel, str | None]:
    """Send over each channel it has not gone over yet; None where it went, else the kind of failure."""
    return {channel: _failure(send, notice) for channel, send in channels.items() if not notice.was_sent(channel)}


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """What the receiver computes too: HMAC-SHA256 over the timestamp, a full stop and the body."""
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _failure(send: Send, notice: Notice) -> str | None:
    try:
        send(notice)
    except (OSError, http.client.HTTPException, ValueError) as error:
        return _category(error)
    return None


def _category(error: BaseException) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"http {error.code}"
    cause = getattr(error, "reason", None) or error.__context__
    if isinstance(error, urllib.error.URLError | smtplib.SMTPServerDisconnected) and isinstance(cause, Exception):
        return _category(cause)  # both only wrap what happened
    if isinstance(error, smtplib.SMTPResponseException) and not isinstance(error, smtplib.SMTPAuthenticationError):
        return f"smtp {error.smtp_code}"
    return next((name for types, name in _CATEGORIES if isinstance(error, types)), "unexpected")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would turn the POST into a GET somewhere else; it is a failure, as `http 302`."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _post(notice: Notice, settings: NoticeSettings) -> None:
    assert settings.webhook_url is not None  # noqa: S101  # else there is no such channel
    body = json.dumps(_facts(notice, settings)).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "Crosscut"}
    if settings.webhook_secret:
        timestamp = str(int(time.time()))
        headers["Crosscut-Timestamp"] = timestamp
        headers["Crosscut-Signature"] = signature(settings.webhook_secret.get_secret_value(), timestamp, body)
    request = urllib.request.Request(settings.webhook_url.get_secret_value(), body, headers)  # noqa: S310  # checked
    try:
        urllib.request.build_opener(_NoRedirects).open(request, timeout=settings.timeout_seconds).close()
    except urllib.error.HTTPError as error:
        error.close()
        raise


def _facts(notice: Notice, settings: NoticeSettings) -> dict[str, str | int]:
    """All that ever leaves: no words, names, scores or flags."""
    return {
        "notice": notice.id,
        "kind": notice.kind,
        "session": notice.session_id,
        "at": notice.created_at.astimezone(UTC).isoformat(timespec="seconds"),
        "address": settings.address,
    }


def _mail(notice: Notice, settings: NoticeSettings) -> None:
    assert settings.smtp_url is not None  # noqa: S101  # else there is no such channel
    url = urlsplit(settings.smtp_url.get_secret_value())
    smtp = _connect(url, settings.timeout_seconds)
    try:
        _secure(smtp, url)
        smtp.send_message(_message(notice, settings))
    finally:
        with suppress(OSError):  # what the server accepted is sent, however it says goodbye
            smtp.quit()


def _connect(url: SplitResult, timeout: float) -> smtplib.SMTP:
    # An address literal as our name: the default looks this machine's name up and tells it.
    name = "[127.0.0.1]"
    host = url.hostname or ""
    if url.scheme == "smtps":
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(host, url.port or 465, name, timeout=timeout, context=context)
    return smtplib.SMTP(host, url.port or 587, name, timeout=timeout)


def _secure(smtp: smtplib.SMTP, url: SplitResult) -> None:
    """STARTTLS where offered; a password goes in clear to this machine only."""
    encrypted = url.scheme == "smtps"
    smtp.ehlo_or_helo_if_needed()
    if not encrypted and smtp.has_extn("starttls"):
        smtp.starttls(context=ssl.create_default_context())
        encrypted = True
    if url.username:
        if not encrypted and not _is_loopback(url.hostname or ""):
            raise ssl.SSLError("the mail server offers no encryption for the password")
        smtp.login(unquote(url.username), unquote(url.password or ""))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _message(notice: Notice, settings: NoticeSettings) -> EmailMessage:
    facts = _facts(notice, settings)
    message = EmailMessage()
    message["Subject"] = "Crosscut: a session needs attention"
    message["From"], message["To"] = settings.mail_from, settings.mail_to
    message["Date"] = format_datetime(datetime.now(UTC))
    # The same notice sent twice is the same message to a mailbox that looks.
    message["Message-ID"] = f"<{notice.session_id}.{notice.id}@{str(settings.mail_from).partition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(
        "A session in Crosscut needs a therapist's attention.\n\n"
        f"Kind: {facts['kind']}\nSession: {facts['session']}\nSince: {facts['at']}\nOpen: {facts['address']}\n\n"
        "For the patient's privacy this message says no more than that.\n"
    )
    return message


def _split(name: str, url: SecretStr, *schemes: str) -> SplitResult:
    """The parts of a URL that may hold a secret, so that a complaint shows none of it."""
    try:
        parts = urlsplit(url.get_secret_value())
        usable = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise SettingsError(f"{name} must look like {schemes[0]}://host:port or {schemes[1]}://host:port.")
    return parts
