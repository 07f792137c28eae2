"""What the second reader may change: the score, and whether the answer is clear. A quote is always the patient's."""

from __future__ import annotations

import logging
import tomllib
from dataclasses import replace
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from agents.faults import reader_failed
from agents.language.encoder import is_known_word
from agents.language.frequency import Frequency
from agents.scoring import reader
from agents.scoring.answer import Answer
from agents.scoring.claim import LOOSE, NOT_DAYS, OWN, Claim
from agents.scoring.items import AS_STATED
from agents.scoring.parts import WORD, Part
from agents.scoring.reader import Opinion
from agents.scoring.scale import CLEAR_UNTIL, NOTHING_FROM, SCALE_DAYS, score_of, score_of_days
from agents.scoring.weigh import Finding

_SURE = 2
_IMPLIED, _LOOSE, _GUESS, _NOTHING = 4, 5, 6, 9
_FAR = 2  # points
_NEVER_MISSED = (11, 12, 13)
log = logging.getLogger("crosscut.scoring")


class Limit(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    own: float
    sure: float
    otherwise: float

    def beside(self, answer: Answer, finding: Finding) -> float:
        if _is_own_count(answer, finding):
            return self.own
        return self.sure if finding.ambiguity <= _SURE else self.otherwise


class Trust(BaseModel):
    """What is added to the likelihood of the rules' own score, by how sure the rules were."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sure: float
    clear: float
    implied: float
    otherwise: float

    def of(self, finding: Finding) -> float:
        if finding.ambiguity <= _SURE:
            return self.sure
        if finding.ambiguity < CLEAR_UNTIL:
            return self.clear
        return self.implied if finding.ambiguity == CLEAR_UNTIL else self.otherwise


class Limits(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    vague: Limit
    trust: Trust
    far: float
    nothing: float
    lost: float
    overturned: float


@cache
def _limits() -> Limits:
    return Limits.model_validate(tomllib.loads(files("agents.scoring").joinpath("reader.toml").read_text("utf-8")))


def with_second_opinion(answer: Answer, finding: Finding) -> Finding:
    """An anchor or a number alone needs none. A reader that fails leaves what the rules found, and is noted."""
    if _is_plain(answer, finding):
        return finding
    try:
        opinion = reader.opinion(answer, finding)
    except Exception as error:
        log.error("the second reader failed on an answer: %s", type(error).__name__)
        reader_failed("scoring")
        return finding
    if opinion is None or (opinion.score == 0 and _is_affirmed(answer, finding)):
        return finding
    if finding.overturned is not None and opinion.score == 0 and _is_in_doubt(answer, opinion):
        return Finding(finding.overturned.days, _GUESS, (finding.overturned,))
    is_vague = opinion.vague > _limits().vague.beside(answer, finding) or _is_lost(finding, opinion)
    read = _left_open(answer, finding, opinion) if is_vague else _clear(answer, finding, opinion)
    return read if opinion.is_of_whole else replace(read, ambiguity=max(read.ambiguity, finding.ambiguity))


def _is_plain(answer: Answer, finding: Finding) -> bool:
    if not answer.parts or not any(sign.isalnum() for sign in answer.reading.text):
        return True
    if finding.ambiguity >= NOTHING_FROM and not _says_something(answer):
        return True
    if all(part.has("unknown", "reference") and not part.frequencies for part in answer.parts):
        return True  # "Yes and no.", "That's all I can say."
    bare = all(part.is_bare for part in answer.parts)
    return (bare and (finding.ambiguity < CLEAR_UNTIL or _is_severity(answer))) or finding.is_settled


def _is_severity(answer: Answer) -> bool:
    """'2/10': how bad, and not how often."""
    forms = {frequency.form for part in answer.parts for frequency in part.frequencies}
    return forms == {"severity"}


def _says_something(answer: Answer) -> bool:
    """Not a row of keys, one word over and over, a pointer to another answer, or the weather: 'lkjh', 'as I said'."""
    if all(map(_is_off_topic, answer.sentences.values())):
        return False
    if any(part.names_matter or part.frequencies or part.has("yes", "no") for part in answer.parts):
        return True
    if all(part.is_bare or part.has("reference") for part in answer.parts):
        return not any(part.has("reference") for part in answer.parts)
    words = WORD.findall(answer.reading.text)
    known = {word for word in words if len(word) > 1 and is_known_word(word)}
    return len(known) > 1 or (bool(known) and len(words) == 1)


def _is_off_topic(sentence: tuple[Part, ...]) -> bool:
    """A clause that is, and none beside it that says anything."""
    told = [part for part in sentence if not part.is_off_topic]
    return len(told) < len(sentence) and not any(
        part.names_matter or part.frequencies or part.has("yes", "no") for part in told
    )


def _is_affirmed(answer: Answer, finding: Finding) -> bool:
    """'I wouldn't say never', 'I'm never calm', 'ten years of it, and these weeks no different': of what affirms by
    negating, the reader sees only that something is negated. Unless of these weeks it is denied."""
    if finding.days is not None or finding.ambiguity >= NOTHING_FROM:
        return False
    is_over = any(part.has("now") and part.says_no and not part.has("as_before") for part in answer.parts)
    return not is_over and any(part.has("not_never", "as_before") or part.is_never_well for part in answer.parts)


def _is_in_doubt(answer: Answer, opinion: Opinion) -> bool:
    """Whether what is denied after a count may be another part of the item, or that anything was done: 'A voice, most
    evenings. No commands.' What must not be missed is always asked about."""
    return answer.item in _NEVER_MISSED or opinion.scores[0] < _limits().overturned


def _is_lost(finding: Finding, opinion: Opinion) -> bool:
    """A count that the reader makes nothing of, without being sure that it was denied: what is about another matter
    scores 0 as well."""
    return bool(finding.days) and opinion.score == 0 and opinion.vague > _limits().lost


def _left_open(answer: Answer, finding: Finding, opinion: Opinion) -> Finding:
    """A denial that is in doubt, or a count beside the item's own words; or nothing to go on, or it is there and how
    often is a guess."""
    denied = finding.days == 0 and finding.ambiguity <= CLEAR_UNTIL
    if denied or (finding.days and not opinion.score and any(part.names_matter for part in answer.parts)):
        return replace(finding, ambiguity=max(finding.ambiguity, _GUESS))
    found_nothing = finding.ambiguity >= NOTHING_FROM
    if opinion.score == 0 or (found_nothing and opinion.scores[0] > _limits().nothing):
        return finding if found_nothing else Finding(None, _NOTHING)
    claims = finding.claims if score_of(finding) == opinion.score else ()
    ambiguity = finding.ambiguity if CLEAR_UNTIL < finding.ambiguity < NOTHING_FROM else _GUESS
    return Finding(SCALE_DAYS[opinion.score], ambiguity, claims or _support(answer, opinion.score))


def _clear(answer: Answer, finding: Finding, opinion: Opinion) -> Finding:
    found = score_of(finding)
    if _is_healthy_habit(finding) and opinion.score:
        return finding
    if opinion.scores[found] + _limits().trust.of(finding) >= opinion.scores[opinion.score]:
        return replace(finding, ambiguity=min(finding.ambiguity, _IMPLIED), days=SCALE_DAYS[found])
    far = abs(opinion.score - found) >= _FAR and finding.ambiguity <= CLEAR_UNTIL
    if far and opinion.scores[opinion.score] < _limits().far:
        between = _between(opinion, found, _limits().trust.of(finding))
        return Finding(SCALE_DAYS[between], _GUESS, _support(answer, between))
    ambiguity = _GUESS if far and _is_own_count(answer, finding) else _IMPLIED
    return Finding(SCALE_DAYS[opinion.score], ambiguity, _support(answer, opinion.score))


def _is_own_count(answer: Answer, finding: Finding) -> bool:
    """A sure count in the item's own words, and nothing of others or of a time before that could make it mean another
    thing: what differs widely from it is asked about, however likely it seems."""
    last = finding.claims[-1] if finding.claims else None
    if last is None or last.kind != "often" or last.weight < OWN or finding.ambiguity > _SURE:
        return False
    if answer.item in AS_STATED:  # what it comes to hangs on more than the count
        return False
    return not answer.tells_of_others_or_before


def _is_healthy_habit(finding: Finding) -> bool:
    """'I'm grateful every day': the count is of something else, and makes no symptom clear."""
    return finding.ambiguity == _LOOSE and any(c.part.has("healthy") and not c.part.matters for c in finding.claims)


def _between(opinion: Opinion, found: int, trust: float) -> int:
    """Where the two differ widely and neither is likely enough: the score of least expected squared error."""
    weights = [likely + trust * (score == found) for score, likely in enumerate(opinion.scores)]
    return round(sum(score * weight for score, weight in enumerate(weights)) / sum(weights))


def _support(answer: Answer, score: int) -> tuple[Claim, ...]:
    """The last clause that counts just this, or else that names the matter, or else the longest."""
    if score == 0:
        return ()
    counting = [(part, f) for part in answer.parts for f in part.frequencies if f.form not in NOT_DAYS]
    exact = [pair for pair in counting if score_of_days(pair[1].days) == score and not pair[1].negated]
    if exact:
        return (_claim(*exact[-1], score),)
    naming = [part for part in answer.parts if part.matters] or [max(answer.parts, key=lambda p: p.end - p.start)]
    return (_claim(naming[-1], None, score),)


def _claim(part: Part, frequency: Frequency | None, score: int) -> Claim:
    return Claim(part, "often", LOOSE, SCALE_DAYS[score], frequency=frequency)
