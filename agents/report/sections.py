"""The five sections of the report, in the PRD's order."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from agents.report.domains import HIGHEST_SCORE, DomainRow, domain_rows
from agents.report.tags import escaped, prose, quote, tagged
from instruments.level1 import Item, item_number, level1
from instruments.profile import PatientProfile
from instruments.tools import Diagnosis, DiagnosticMode, Impression, ReportSection

_UNSURE_FROM = 5
_QUOTES_A_DOMAIN = 2


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    domain_head: tuple[str, ...]
    item_head: tuple[str, ...]
    full: str
    void: str
    reached: str
    not_reached: str
    undetermined: str
    corrected: str
    no_measure: str
    no_words: str


class _Wording(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    summary: dict[str, str]
    flags: dict[str, str]
    table: _Table
    impressions: dict[str, str]
    limitations: dict[str, str]


@cache
def _wording() -> _Wording:
    text = files("agents.report").joinpath("wording.toml").read_text("utf-8")
    return _Wording.model_validate(tomllib.loads(text))


@dataclass(frozen=True)
class ReportInput:
    """`engines` says who worded, scored and formed impressions; `originals` what was scored before it was corrected."""

    profile: PatientProfile
    diagnosis: Diagnosis
    mode: DiagnosticMode
    engines: dict[str, str]
    originals: Mapping[str, int] = field(default_factory=dict)


def sections(given: ReportInput) -> Iterator[ReportSection]:
    yield ReportSection(title="Executive Summary", markdown=_summary(given))
    yield ReportSection(title="Symptom Domain Table", markdown=_domains(given.profile))
    yield ReportSection(title="Item-Level Appendix", markdown=_items(given))
    yield ReportSection(title="Provisional Impressions", markdown=_impressions(given))
    yield ReportSection(title="Limitations", markdown=_limitations(given))


def _summary(given: ReportInput) -> str:
    """What a therapist must act upon comes first."""
    profile = given.profile
    lines = (_flags(profile), _to_clarify(profile), _coverage(profile), _raised(profile))
    return "\n\n".join(dict.fromkeys(filter(None, (*lines, prose(given.diagnosis.summary)))))


def _to_clarify(profile: PatientProfile) -> str:
    needed = profile.question_state.follow_ups_needed
    named = ", ".join(f"{item} ({level1().item(item_number(item)).topic})" for item in needed)
    return _wording().summary["clarify"].format(items=named) if needed else ""


def _flags(profile: PatientProfile) -> str:
    names = [_wording().flags[name] for name, is_set in profile.risk_flags.model_dump().items() if is_set]
    words = _wording().summary
    return words["flags"].format(flags=", ".join(names)) if names else words["no_flags"]


def _coverage(profile: PatientProfile) -> str:
    asked_on = f"{profile.completed_at:%-d %B %Y}" if profile.completed_at else "—"
    return _wording().summary["covered"].format(total=len(level1().items), date=asked_on)


def _raised(profile: PatientProfile) -> str:
    raised = [row.name for row in domain_rows(profile) if row.reached]
    words, total = _wording().summary, len(level1().domains)
    if not raised:
        return words["calm"]
    return words["raised"].format(count=len(raised), total=total, domains=", ".join(raised))


def _domains(profile: PatientProfile) -> str:
    return _table(_wording().table.domain_head, [_domain_row(row) for row in domain_rows(profile)])


def _domain_row(row: DomainRow) -> tuple[str, ...]:
    words = _wording().table
    said = [quote for r in row.responses if r.score for quote in r.evidence_quotes[:1]][:_QUOTES_A_DOMAIN]
    highest = f"{row.highest} {words.full * row.highest}{words.void * (HIGHEST_SCORE - row.highest)}"
    if row.undetermined:
        highest = words.undetermined.format(score=highest)
    return (
        tagged("sym", row.name),
        highest,
        f"≥ {row.domain.threshold}",
        f"**{words.reached}**" if row.reached else words.not_reached,
        (row.domain.level2 or words.no_measure) if row.reached else "",
        " ".join(map(quote, said)) or words.no_words,
    )


def _items(given: ReportInput) -> str:
    return _table(_wording().table.item_head, [_item_row(item, given) for item in level1().items])


def _item_row(item: Item, given: ReportInput) -> tuple[str, ...]:
    words, response = _wording().table, given.profile.response(item.id)
    if response is None:
        return item.id, tagged("sym", item.topic), words.no_words, words.no_words, words.no_words
    score = f"{response.score} · {level1().scale[response.score].label}"
    if response.undetermined:
        score = words.undetermined.format(score=response.score)
    if item.id in given.originals:
        score = words.corrected.format(score=score, original=given.originals[item.id])
    said = " ".join(map(quote, response.evidence_quotes)) or words.no_words
    return item.id, tagged("sym", item.topic), score, str(response.ambiguity), said


def _impressions(given: ReportInput) -> str:
    words = _wording().impressions
    if given.mode == "screening":
        return words["screening"]
    if not given.diagnosis.diagnoses:
        return words["unclear" if any(row.reached for row in domain_rows(given.profile)) else "none"]
    return "\n\n".join(_impression(n, one, given.profile) for n, one in enumerate(given.diagnosis.diagnoses, start=1))


def _impression(number: int, one: Impression, profile: PatientProfile) -> str:
    words = _wording().impressions
    confidence = words["confidence"].format(confidence=f"{one.confidence:.2f}")
    lines = [f"**{number}. {tagged('med', one.name)}** — {confidence}"]
    lines += [f"- {prose(step)}" for step in one.steps]
    lines += [f"- {quote(text)}" for text in one.quotes]
    if one.item_ids:
        scored = [f"{item} {r.score}" for item in one.item_ids if (r := profile.response(item))]
        lines.append(f"- {words['rests_on'].format(items=' · '.join(scored))}")
    if one.citations:
        lines.append(f"- {words['cited'].format(citations=escaped('; '.join(one.citations)))}")
    return "\n".join([lines[0], "", *lines[1:]])


def _limitations(given: ReportInput) -> str:
    words = _wording().limitations
    unsure = [r.item_id for r in given.profile.item_responses if r.ambiguity >= _UNSURE_FROM]
    lines = [words["form"], *map(escaped, given.diagnosis.limitations)]
    if given.originals:
        lines.append(words["corrected"].format(items=", ".join(given.originals)))
    if unsure:
        lines.append(words["ambiguity"].format(items=", ".join(unsure)))
    lines.append(words["engine"].format(**{role: escaped(engine) for role, engine in given.engines.items()}))
    return "\n".join(f"- {line}" for line in lines)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    ruled = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([*ruled, *("| " + " | ".join(row) + " |" for row in rows)])
