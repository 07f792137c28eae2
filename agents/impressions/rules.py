"""The rules engine of the diagnostician: ranked impressions with the items, words and passages that they rest on."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from agents.impressions.ranking import Ranked, ranked
from agents.impressions.telling import Told, sentences_of, told
from instruments.disorders import Disorder, disorders
from instruments.level1 import item_id, item_number, level1
from instruments.profile import ItemResponse
from instruments.tools import Diagnose, Diagnosis, Impression, Passage, Removed


class _Limits(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    shown: int
    least: float
    told: float
    quotes: int
    high: int


class _Wording(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    summary: dict[str, str]
    steps: dict[str, str]
    limitations: dict[str, str]
    limits: _Limits


@cache
def _wording() -> _Wording:
    return _Wording.model_validate(
        tomllib.loads(files("agents.impressions").joinpath("wording.toml").read_text("utf-8"))
    )


def candidates(call: Diagnose) -> tuple[str, ...]:
    """Names worth looking up in a handbook, the likeliest first; none for a screening, nor where nothing is raised."""
    if call.diagnostic_mode == "screening" or not _raised_domains(call):
        return ()
    return tuple(one.disorder.name for one in _likely(call, _told(call)))


def diagnose_by_rules(call: Diagnose) -> Diagnosis:
    passages = call.snapshot.passages or ()
    domains = _raised_domains(call)
    if not domains or call.diagnostic_mode == "screening":
        return _of_domains(call, domains)
    heard = _told(call)
    found = _likely(call, heard)
    formed = [(one, _impression(one, call, heard, passages)) for one in found]
    rests = [(one, impression) for one, impression in formed if impression.item_ids and impression.quotes]
    if call.diagnostic_mode == "categorical":
        return _diagnosis(call, _by_category(rests, passages))
    return _diagnosis(call, tuple(impression for _, impression in rests))


def _told(call: Diagnose) -> Told:
    return told(sentences_of(call.snapshot.transcript))


def _likely(call: Diagnose, heard: Told) -> list[Ranked]:
    scores = {item_number(r.item_id): 0 if r.undetermined else r.score for r in call.snapshot.item_responses}
    every = ranked({item: scores.get(item, 0) for item in range(1, 24)}, heard)
    limits = _wording().limits
    likely = [one for one in every if one.probability >= limits.least and is_spoken_for(one.disorder, call, heard)]
    return likely[: limits.shown]


def is_spoken_for(disorder: Disorder, call: Diagnose, heard: Told | None = None) -> bool:
    """Whether a screening has anything of a disorder's own; without that, nothing else is evidence of it.

    Its domains have a score, or what marks it was told: a high of last year leaves no score behind.
    """
    scored = {d.domain for d in call.snapshot.symptom_summary if d.severity_aggregate}
    if scored.issuperset(disorder.required_domains):
        return True
    strengths = (heard or _told(call)).strengths
    return any(strengths.get(mark, 0) >= _wording().limits.told for mark in disorder.features_of("required"))


def _raised_domains(call: Diagnose) -> tuple[str, ...]:
    reached = {domain.name: domain.threshold for domain in level1().domains}
    return tuple(d.domain for d in call.snapshot.symptom_summary if d.severity_aggregate >= reached[d.domain])


def _impression(one: Ranked, call: Diagnose, heard: Told, passages: tuple[Passage, ...]) -> Impression:
    items = _typical_items(one, call)
    features = [f for role in ("required", "typical") for f in one.disorder.features_of(role)]
    named = [f for f in features if heard.strengths.get(f, 0) >= _wording().limits.told]
    cited = _cited(one.disorder.name, passages)
    return Impression(
        name=one.disorder.name,
        confidence=round(one.probability, 2),
        item_ids=tuple(items),
        quotes=_quotes(named, items, call, heard),
        citations=cited,
        steps=_steps(one, items, named, cited),
    )


def _typical_items(one: Ranked, call: Diagnose) -> list[str]:
    high = {r.item_id for r in call.snapshot.item_responses if r.score >= _speaks_from(r) and not r.undetermined}
    by_weight = sorted(one.disorder.item_weights.items(), key=lambda pair: -pair[1])
    return [item_id(number) for number, _ in by_weight if item_id(number) in high]


def _speaks_from(response: ItemResponse) -> int:
    """The score from which an item speaks for something: where once is reason to inquire, once."""
    return min(_wording().limits.high, level1().domain_of(item_number(response.item_id)).threshold)


def _cited(name: str, passages: tuple[Passage, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(p.citation for p in passages if _is_about(name, p)))


def _is_about(name: str, passage: Passage) -> bool:
    """By its section's trail; that a category is named after one of its disorders says nothing of the section."""
    trail = (passage.source.section_path or "").split(" > ")
    categories = disorders().categories
    return any(name.casefold() in part.casefold() for part in trail if name in categories or part not in categories)


def _topics(items: Iterable[str]) -> str:
    return ", ".join(level1().item(item_number(item)).topic for item in items)


def _quotes(named: list[str], items: list[str], call: Diagnose, heard: Told) -> tuple[str, ...]:
    """What tells its features, then what was said to its items."""
    by_strength = sorted(named, key=lambda feature: -heard.strengths[feature])
    said = [heard.sentences[feature].text for feature in by_strength]
    evidence = {r.item_id: r.evidence_quotes for r in call.snapshot.item_responses}
    said += [quote for item in items for quote in evidence.get(item, ())[:1]]
    return tuple(dict.fromkeys(said))[: _wording().limits.quotes]


def _steps(one: Ranked, items: list[str], named: list[str], cited: tuple[str, ...]) -> tuple[str, ...]:
    words = _wording().steps
    steps = [words["items"].format(items=_topics(items))] if items else []
    reached = [name for name in one.disorder.required_domains if one.signs["domains"] == 1]
    steps += [words["domains"].format(domains=name) for name in reached]
    steps += [words["told"].format(feature=disorders().feature(feature).description) for feature in named]
    steps += [words["passage"]] if cited else []
    return tuple(steps)


def _by_category(found: list[tuple[Ranked, Impression]], passages: tuple[Passage, ...]) -> tuple[Impression, ...]:
    """The categories alone, each as likely as its disorders are together; nothing that names one of these."""
    grouped: dict[str, list[Impression]] = {}
    for one, impression in found:
        grouped.setdefault(one.disorder.category, []).append(impression)
    merged = [_merged(category, of_it, passages) for category, of_it in grouped.items()]
    return tuple(sorted(merged, key=lambda impression: -impression.confidence))


def _merged(category: str, found: list[Impression], passages: tuple[Passage, ...]) -> Impression:
    items = tuple(dict.fromkeys(item for one in found for item in one.item_ids))
    return Impression(
        name=category,
        confidence=round(min(1.0, sum(one.confidence for one in found)), 2),
        item_ids=items,
        quotes=tuple(dict.fromkeys(quote for one in found for quote in one.quotes))[: _wording().limits.quotes],
        citations=_cited(category, passages),
        steps=(_wording().steps["items"].format(items=_topics(items)),),
    )


def _of_domains(call: Diagnose, domains: tuple[str, ...]) -> Diagnosis:
    words = _wording().summary
    summary = words["screening"].format(domains=_joined(domains)) if domains else words["none"]
    return Diagnosis(
        summary=summary, diagnoses=(), reasoning=(), citations=(), limitations=limitations_of(call), rag_used=False
    )


def _diagnosis(call: Diagnose, impressions: tuple[Impression, ...]) -> Diagnosis:
    words = _wording().summary
    names = _joined([impression.name for impression in impressions[:2]])
    cited = tuple(dict.fromkeys(c for impression in impressions for c in impression.citations))
    return Diagnosis(
        summary=words[call.diagnostic_mode].format(names=names) if impressions else words["unclear"],
        diagnoses=impressions,
        reasoning=tuple(step for impression in impressions[:1] for step in impression.steps),
        citations=cited,
        limitations=limitations_of(call),
        rag_used=bool(cited),
    )


def limitations_of(call: Diagnose, removed: Removed = Removed(), *, by_rules: bool = True) -> tuple[str, ...]:  # noqa: B008
    words = _wording().limitations
    found = [words["screening"]]
    if call.diagnostic_mode != "screening" and by_rules:
        found.append(words["engine"].format(count=len(disorders().disorders)))
    unclear = [r.item_id for r in call.snapshot.item_responses if r.undetermined]
    if unclear:
        found.append(words["ambiguous"].format(items=", ".join(unclear)))
    if call.diagnostic_mode != "screening" and _raised_domains(call):
        found += _about_passages(call.snapshot.passages or ())
    if any(removed.model_dump().values()):
        found.append(words["removed"].format(**removed.model_dump()))
    return tuple(found)


def _about_passages(passages: tuple[Passage, ...]) -> list[str]:
    words = _wording().limitations
    if not passages:
        return [words["no_passages"]]
    return [words["illustrative"]] if any(passage.is_illustrative for passage in passages) else []


def _joined(names: list[str] | tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
