"""The safety script: constant bytes, the right numbers, and a warning while nobody has checked them."""

from __future__ import annotations

import copy
import hashlib
import re
import tomllib
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import agents.escalation
from agents.escalation import GENERIC, Escalation, escalation, read_table, verification_problem

DATA: dict[str, Any] = tomllib.loads(Path(agents.escalation.__file__).with_suffix(".toml").read_text("utf-8"))
TODAY = date(2030, 6, 15)

NUMBERS = {
    "US": ("988", "911"),
    "CA": ("988", "911"),
    "GB": ("116 123", "999"),
    "IE": ("116 123", "999"),
    "AU": ("13 11 14", "000"),
    "IN": ("14416", "112"),
    "EU": ("", "112"),
}

# Never edit a line: when a script changes, give it a new version and add that version here. Audits name versions.
PINNED = {
    "2": {
        "US": "3b9a5fa12647c712302873ffc651457952f184339f8db9a11384d6ef48fdfd1b",
        "CA": "3b9a5fa12647c712302873ffc651457952f184339f8db9a11384d6ef48fdfd1b",
        "GB": "b09b1ab681f64712f3933ad67bc48db50d9aca1f263433aed0d0b839393d45e5",
        "IE": "b09b1ab681f64712f3933ad67bc48db50d9aca1f263433aed0d0b839393d45e5",
        "AU": "75e21b3f72d91b7d2b117fa829e70519503e20bf3380497d88c211ad2b150d07",
        "IN": "7ec7291cd38ad57a33a1f63c4e03e66ee168fc4efbcbc30b8754917496921b8c",
        "EU": "82fe7ecc0b700f7f748a5608cbe9e6bde9338118234fc268cf30abcab34e5541",
        "generic": "02cf594f72dd7becc580206db2dd080f3a2725768c430f7a37edb7f9fbbb2c8e",
    }
}


def test_the_american_script_is_these_bytes() -> None:
    found = escalation("en-US")
    digest = hashlib.sha256(found.script.encode()).hexdigest()
    assert digest == "3b9a5fa12647c712302873ffc651457952f184339f8db9a11384d6ef48fdfd1b"
    assert re.findall(r"\d+", found.script) == ["911", "988"]
    assert escalation("en-US").script == found.script


def test_a_changed_text_needs_a_new_version() -> None:
    every = {found.locale: found for found in read_table(DATA).values()}
    assert set(every) == {*NUMBERS, GENERIC}
    pinned = PINNED[DATA["version"]]
    assert {name: hashlib.sha256(e.script.encode()).hexdigest() for name, e in every.items()} == pinned
    assert {e.version for e in every.values()} == {DATA["version"]}


@pytest.mark.parametrize(("locale", "numbers"), NUMBERS.items())
def test_script_and_help_line_name_the_numbers_of_the_locale_and_no_others(
    locale: str, numbers: tuple[str, str]
) -> None:
    found = escalation(locale)
    crisis_line, emergency = numbers
    assert (found.locale, found.crisis_line, found.emergency) == (locale, crisis_line, emergency)
    for text in (found.script, found.help_line):
        assert _digits(text) == _digits(emergency + crisis_line)
        assert crisis_line in text
        assert emergency in text
    assert ("crisis line" in found.script) == bool(crisis_line)


@pytest.mark.parametrize(
    ("locale", "matched"),
    [
        ("en-US", "US"),
        ("en_US", "US"),
        ("US", "US"),
        ("us", "US"),
        ("EN-us", "US"),
        (" en_US.UTF-8 ", "US"),
        ("es-Latn-US", "US"),
        ("fr-CA", "CA"),
        ("en-GB", "GB"),
        ("UK", "GB"),
        ("ga-IE", "IE"),
        ("en-AU", "AU"),
        ("hi_IN", "IN"),
        ("de-DE", "EU"),
        ("de-DE-1996", "EU"),
        ("ca-ES-valencia", "EU"),
        ("EU", "EU"),
    ],
)
def test_a_locale_is_matched_by_its_country(locale: str, matched: str) -> None:
    assert escalation(locale).locale == matched


@pytest.mark.parametrize("locale", ["", "en", "xx-XX", "pt-BR", "generic", "ca-valencia", "en-u-us", "US!", "en-001"])
def test_an_unknown_locale_gets_the_text_without_numbers(locale: str) -> None:
    found = escalation(locale)
    assert found.locale == GENERIC
    assert _digits(found.script + found.help_line) == ""
    assert "local emergency number" in found.script
    assert "no numbers are known" in (verification_problem(locale, TODAY) or "")


@pytest.mark.parametrize("locale", [*NUMBERS, ""])
def test_every_script_is_short_plain_and_says_what_it_must(locale: str) -> None:
    found = escalation(locale)
    assert len(found.script.split()) <= 120
    assert found.script == found.script.strip()
    assert not set("<>&*_#`[](){}~|\\$") & set(found.script + found.help_line)
    assert found.script.isascii()
    assert not re.search(r"^([ \t]|[-+>=]|\d+[.)])", found.script, re.MULTILINE)
    for meaning in ("stopping the questions", "matters more", "you or someone else", "stay with", "not watched live"):
        assert meaning in found.script
    assert found.help_line.count(".") == 1
    assert "\n" not in found.help_line
    assert "watches this page live" in found.help_line


def test_numbers_are_a_problem_until_a_person_verified_them() -> None:
    problem = _verified("").verification_problem(TODAY) or ""
    assert "nobody has verified the emergency numbers of US" in problem
    assert "988 and 911" in problem
    assert "SAMHSA" in problem


@pytest.mark.parametrize(
    ("days", "problem"), [(0, None), (1, None), (365, None), (366, "last verified"), (-1, "after")]
)
def test_a_verification_lasts_a_year(days: int, problem: str | None) -> None:
    found = _verified((TODAY - timedelta(days=days)).isoformat()).verification_problem(TODAY)
    assert (found is None) if problem is None else (problem in (found or ""))


def test_the_shipped_locales_report_what_their_own_dates_say() -> None:
    for locale in NUMBERS:
        assert verification_problem(locale, TODAY) == escalation(locale).verification_problem(TODAY)


@pytest.mark.parametrize(
    "change",
    [
        {"script": "Call somebody."},
        {"help_line": "Call somebody."},
        {"script": "Call {who} or {nobody}."},
        {"extra": 1},
        {"who": {**DATA["who"], "emergency_only": "the police"}},
        {"locales": {"US": {**DATA["locales"]["US"], "emergency": "nine one one"}}},
        {"locales": {"US": {**DATA["locales"]["US"], "verified_at": "lately"}}},
        {"locales": {"US": DATA["locales"]["US"], "XX": DATA["locales"]["US"]}},
    ],
)
def test_a_slip_in_the_data_shows_when_it_is_read(change: dict[str, Any]) -> None:
    with pytest.raises((ValidationError, ValueError, KeyError)):
        read_table({**DATA, **change})


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _verified(on: str) -> Escalation:
    data = copy.deepcopy(DATA)
    data["locales"]["US"]["verified_at"] = on
    return read_table(data)["US"]
