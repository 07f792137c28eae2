"""The five sections of the report, in the PRD's order."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from agents.report.tags import escaped, quote, tagged
from instruments.level1 import Domain, item_number, level1
from instruments.profile import ItemResponse, PatientProfile
from instruments.tools import Diagnosis, DiagnosticMode, Impression, ReportSection

_UNSURE_FROM = 5
_QUOTES_A_DOMAIN = 2


class _Wording(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    summary: dict[str, str]
    flags: dict[str, str]
    table: dict[str, str]
    impressions: dict[str, str]
    limitations: dict[str, str]


@cache
def _wording() -> _Wording:
    text = files("agents.report").joinpath("wording.toml").read_text("utf-8")
    return _Wording.model_validate(tomllib.loads(text))


@dataclass(frozen=True)
class ReportInput:
    """`engines` says who worded, scored and formed impressions; `prose` is a model's summary that passed the checks."""

    profile: PatientProfile
    diagnosis: Diagnosis
    mode: DiagnosticMode
    engines: dict[str, str]
    prose: str = ""


def sections(given: ReportInput) -> Iterator[ReportSection]:
    yield ReportSection(title="Executive Summary", markdown=_summary(given))
    yield ReportSection(title="Symptom Domain Table", markdown=_domains(given.profile))
    yield ReportSection(title="Item-Level Appendix", markdown=_items(given.profile))
    yield ReportSection(title="Provisional Impressions", markdown=_impressions(given))
    yield ReportSection(title="Limitations", markdown=_limitations(given))


def _summary(given: ReportInput) -> str:
    words, profile = _wording().summary, given.profile
    lines = [_flags(profile), _coverage(profile), _raised(profile)]
    needed = profile.question_state.follow_ups_needed
    if needed:
        named = ", ".join(f"{item} ({level1().item(item_number(item)).topic})" for item in needed)
        lines.append(words["clarify"].format(items=named))
    lines.append(escaped(given.prose or given.diagnosis.summary))
    return "\n\n".join(lines)


def _flags(profile: PatientProfile) -> str:
    names = [_wording().flags[name] for name, is_set in profile.risk_flags.model_dump().items() if is_set]
    words = _wording().summary
    return words["flags"].format(flags=", ".join(names)) if names else words["no_flags"]


def _coverage(profile: PatientProfile) -> str:
    done, total = len(profile.question_state.completed_items), len(level1().items)
    words = _wording().summary
    if done < total or profile.completed_at is None:
        return words["partly"].format(done=done, total=total)
    return words["covered"].format(total=total, date=f"{profile.completed_at:%-d %B %Y}")


def _raised(profile: PatientProfile) -> str:
    raised = [domain.name for domain in level1().domains if _reached(domain, profile)]
    words, total = _wording().summary, len(level1().domains)
    if not raised:
        return words["calm"]
    return words["raised"].format(count=len(raised), total=total, domains=", ".join(raised))


def _reached(domain: Domain, profile: PatientProfile) -> bool:
    return _highest(domain, profile) >= domain.threshold


def _highest(domain: Domain, profile: PatientProfile) -> int:
    return max((r.score for r in _responses(domain, profile)), default=0)


def _responses(domain: Domain, profile: PatientProfile) -> list[ItemResponse]:
    return [r for item in domain.items if (r := profile.response(item.id)) is not None]


def _domains(profile: PatientProfile) -> str:
    head = ("Domain", "Highest item", "Threshold", "Reached", "Level-2 measure to consider", "In the patient's words")
    return _table(head, [_domain_row(domain, profile) for domain in level1().domains])


def _domain_row(domain: Domain, profile: PatientProfile) -> tuple[str, ...]:
    words, reached = _wording().table, _reached(domain, profile)
    said = [q for r in _responses(domain, profile) if r.score for q in r.evidence_quotes[:1]][:_QUOTES_A_DOMAIN]
    highest = str(_highest(domain, profile))
    if domain.name in profile.undetermined_domains:
        highest = words["undetermined"].format(score=highest)
    measure = (domain.level2 or words["no_measure"]) if reached else ""
    return (
        tagged("sym", domain.name),
        highest,
        f"≥ {domain.threshold}",
        f"**{words['reached']}**" if reached else words["not_reached"],
        measure,
        " ".join(map(quote, said)) or words["no_words"],
    )


def _items(profile: PatientProfile) -> str:
    head = ("Item", "Asked about", "Score", "Ambiguity", "In the patient's words")
    return _table(head, [_item_row(item.number, profile) for item in level1().items])


def _item_row(number: int, profile: PatientProfile) -> tuple[str, ...]:
    item, response, words = level1().item(number), profile.response(level1().item(number).id), _wording().table
    if response is None:
        return item.id, tagged("sym", item.topic), words["no_words"], words["no_words"], words["no_words"]
    anchor = level1().scale[response.score]
    score = f"{response.score} · {anchor.label}"
    if response.undetermined:
        score = words["undetermined"].format(score=response.score)
    said = " ".join(map(quote, response.evidence_quotes)) or words["no_words"]
    return item.id, tagged("sym", item.topic), score, str(response.ambiguity), said


def _impressions(given: ReportInput) -> str:
    words = _wording().impressions
    if given.mode == "screening":
        return words["screening"]
    if not given.diagnosis.diagnoses:
        return words["none"]
    return "\n\n".join(_impression(n, one) for n, one in enumerate(given.diagnosis.diagnoses, start=1))


def _impression(number: int, one: Impression) -> str:
    words = _wording().impressions
    lines = [
        f"**{number}. {tagged('med', one.name)}** — {words['confidence'].format(confidence=f'{one.confidence:.2f}')}"
    ]
    lines += [f"- {escaped(step)}" for step in one.steps]
    lines += [f"- {quote(text)}" for text in one.quotes]
    if one.item_ids:
        lines.append(f"- {words['rests_on'].format(items=', '.join(one.item_ids))}")
    if one.citations:
        lines.append(f"- {words['cited'].format(citations=escaped('; '.join(one.citations)))}")
    return "\n".join([lines[0], "", *lines[1:]])


def _limitations(given: ReportInput) -> str:
    words = _wording().limitations
    unsure = [r.item_id for r in given.profile.item_responses if r.ambiguity >= _UNSURE_FROM]
    lines = [words["form"], *map(escaped, given.diagnosis.limitations)]
    if unsure:
        lines.append(words["ambiguity"].format(items=", ".join(unsure)))
    lines.append(words["engine"].format(**{role: escaped(engine) for role, engine in given.engines.items()}))
    return "\n".join(f"- {line}" for line in lines)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    ruled = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([*ruled, *("| " + " | ".join(row) + " |" for row in rows)])
