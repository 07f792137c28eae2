"""The constant words of a safety stop, with the numbers of the configured locale; never written by a model."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

GENERIC = "generic"
_FILE = "agents/escalation.toml"
_VALID_DAYS = 365

# A lone code is a country; after a language, and perhaps a script, stands the country.
_LOCALE = re.compile(r"(?:[a-z]{2,3}(?:-[a-z]{4})?-)(?P<after>[a-z]{2})(?:-.*)?|(?P<alone>[a-z]{2})")

DateOrNever = Annotated[date | None, BeforeValidator(lambda value: value or None)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Escalation(_Data):
    """`locale` is the matched entry, or `generic`, which has no numbers; `help_line` stays in the patient's view.

    `not_saved` tells a patient that a message was not taken, and has the help line in it.
    """

    locale: str
    version: str
    script: str
    help_line: str
    not_saved: str
    crisis_line: str
    emergency: str
    source: str
    verified_at: date | None

    def verification_problem(self, today: date) -> str | None:
        numbers = " and ".join(filter(None, [self.crisis_line, self.emergency]))
        remedy = f"check {numbers} ({self.source}), then set verified_at of {self.locale} in {_FILE}."
        if self.verified_at is None:
            return f"nobody has verified the emergency numbers of {self.locale}: {remedy}"
        age = (today - self.verified_at).days
        if age < 0:
            return f"the emergency numbers of {self.locale} are said to be verified after today: {remedy}"
        if age > _VALID_DAYS:
            return f"the emergency numbers of {self.locale} were last verified on {self.verified_at}: {remedy}"
        return None


class _Numbers(_Data):
    territories: tuple[Annotated[str, Field(pattern="^[A-Z]{2}$")], ...]
    crisis_line: str = Field(pattern="^[0-9 ]*$")
    emergency: str = Field(pattern="^[0-9 ]+$")
    source: str = Field(min_length=1)
    verified_at: DateOrNever


class _Who(_Data):
    with_crisis_line: str = Field(pattern=r"\{emergency\}.*\{crisis_line\}")
    emergency_only: str = Field(pattern=r"\{emergency\}")
    unknown: str

    def name(self, numbers: _Numbers | None) -> str:
        if numbers is None:
            return self.unknown
        phrase = self.with_crisis_line if numbers.crisis_line else self.emergency_only
        return phrase.format(emergency=numbers.emergency, crisis_line=numbers.crisis_line)


class _Table(_Data):
    version: str = Field(min_length=1)
    script: str = Field(pattern=r"\{who\}")
    help_line: str = Field(pattern=r"\{who\}")
    not_saved: str = Field(min_length=1)
    who: _Who
    locales: dict[str, _Numbers]

    def worded(self, locale: str, numbers: _Numbers | None) -> Escalation:
        who = self.who.name(numbers)
        help_line = self.help_line.format(who=who)
        return Escalation(
            locale=locale,
            version=self.version,
            script=self.script.strip().format(who=who),
            help_line=help_line,
            not_saved=f"{self.not_saved} {help_line}",
            crisis_line=numbers.crisis_line if numbers else "",
            emergency=numbers.emergency if numbers else "",
            source=numbers.source if numbers else "",
            verified_at=numbers.verified_at if numbers else None,
        )


def escalation(locale: str) -> Escalation:
    """What a stop says in `locale`, such as "en-US", "en_US" or "US"; an unknown one gets the text without numbers."""
    known = _by_territory()
    return known.get(_territory(locale), known[GENERIC])


def known_locales() -> dict[str, Escalation]:
    """Every locale there is, by its name; the text without numbers comes last."""
    found = {entry.locale: entry for entry in _by_territory().values() if entry.locale != GENERIC}
    return dict(sorted(found.items())) | {GENERIC: _by_territory()[GENERIC]}


def verification_problem(locale: str, today: date) -> str | None:
    """Why the numbers of `locale` should not be relied on yet, and what to do; None when checked within a year."""
    found = escalation(locale)
    if found.locale == GENERIC:
        return f"no numbers are known for the locale {locale!r}, so the safety script names none: add it to {_FILE}."
    return found.verification_problem(today)


@cache
def _by_territory() -> dict[str, Escalation]:
    return read_table(tomllib.loads(files("agents").joinpath("escalation.toml").read_text("utf-8")))


def read_table(data: dict[str, Any]) -> dict[str, Escalation]:
    """Every script by territory, worded at once, so that a slip in the data shows at start and not at a stop."""
    table = _Table.model_validate(data)
    worded = {GENERIC: table.worded(GENERIC, None)}
    for locale, numbers in table.locales.items():
        if twice := worded.keys() & set(numbers.territories):
            raise ValueError(f"{_FILE} lists {sorted(twice)} under two locales")
        worded |= dict.fromkeys(numbers.territories, table.worded(locale, numbers))
    return worded


def _territory(locale: str) -> str:
    tag = re.split(r"[.@]", locale.strip(), maxsplit=1)[0].replace("_", "-").lower()
    match = _LOCALE.fullmatch(tag)
    return (match["after"] or match["alone"]).upper() if match else ""
