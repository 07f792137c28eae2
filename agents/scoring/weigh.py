"""From claims to one finding: what was counted, what was denied, and which of the two stands."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from agents.language import Found
from agents.language.frequency import WINDOW_DAYS
from agents.language.tagging import Grade
from agents.scoring.amounts import a_night
from agents.scoring.answer import Answer
from agents.scoring.claim import BESIDE, OWN, PLAIN, Claim, is_definite
from agents.scoring.combine import ADDED, Counts, days_since, joined_in
from agents.scoring.contrast import contrasted
from agents.scoring.items import four_drinks_in, only_few_drinks
from agents.scoring.parts import Part, denies_another_part
from agents.scoring.scale import score_of_days
from agents.scoring.scope import TURNS, Scopes
from agents.scoring.stating import never_paused
from agents.scoring.tables import EXPLAINED, label

_AMBIGUITY: dict[Grade, int] = {"count": 2, "anchor": 2, "word": 3, "rough": 3, "vague": 6}
_STRESS = re.compile(r"honestly|to be (?:honest|fair|truthful)|actually|if i'm honest|in fact|sorry")
_OF_TWO_SIDES = (4, 23)  # short nights and energy, medicine and no prescription
_STATED = (4, 9, 23)
_PAINS, _RITUALS, _DRINKS, _MEDICINE = 9, 17, 21, 23
_OF_ALL = re.compile(r"\b(?:14|fourteen)\b")
_NO_BUT = re.compile(
    r"\W*(?:hm+ |well |ok |oh |ah |er |um )?(?:no|nah|nope|naw)\b(?! (?:more|other|less|further|longer|exceptions?)\b)"
)
_AROUND = 3  # clauses
_FEW_LETTERS = 8
_SPREAD = 5
_PLAIN_NO = re.compile(r"\b(?:no|nope|nah|never|none|not at all|not once)\b")
_HABITS = ("universal", "rate", "weekly", "weekend", "weekdays", "per_day")
_DENIED, _IMPLIED, _LOOSE, _UNCLEAR, _HARDLY, _NOTHING = 2, 4, 5, 6, 7, 9


@dataclass(frozen=True)
class Finding:
    """`days` is None where nothing was said of how often; `claims` are what it rests on."""

    days: float | None
    ambiguity: int
    claims: tuple[Claim, ...] = ()
    is_settled: bool = False
    """What the rules read better than the second reader does."""
    overturned: Claim | None = None
    """The sure count that a later denial takes back, as the rules read it."""


class Weighing:
    def __init__(self, answer: Answer, claims: list[Claim], scopes: Scopes) -> None:
        self.answer = answer
        self.scopes = scopes
        current = _current(answer, claims)
        self.complements = [c for c in current if c.kind == "often" and c.is_complement]
        self.counted = self._without_repeats([c for c in current if c.kind == "often" and not c.is_complement])
        self.denied = [c for c in current if c.kind == "denied"]
        self.affirmed = [c for c in current if c.kind in ("affirmed", "vague")]
        self.is_left_open = any(part.is_left_open for part in answer.parts)

    def finding(self) -> Finding:
        """What contradicts itself, or stands in words that are not known, is not sure."""
        contrast = self._contrasted()
        if contrast:
            return contrast
        found = self._found()
        found = replace(found, ambiguity=max(found.ambiguity, self._least(found)))
        return replace(found, is_settled=found.is_settled or self._is_settled(found))

    def _found(self) -> Finding:
        """The first of these that there is."""
        sure = [c for c in self.counted if c.weight >= PLAIN]
        if sure:
            return self._counted(sure)
        return (
            self._by_what_is_left() or self._denied() or self._others_only() or self._loosely() or self._last_resort()
        )

    def _least(self, found: Finding) -> int:
        """How clear it can be at best."""
        sure = [c for c in self.counted if c.weight >= PLAIN]
        denied = any(c.is_outright for c in self._whole_denials)
        differ = len({score_of_days(c.days) for c in sure}) > 1
        strange = bool(found.claims) and found.claims[-1].weight <= PLAIN and not found.claims[-1].part.is_bare
        if differ or (sure and denied) or (found.days == 0 and self.counted) or (found.days and strange):
            return _IMPLIED
        plain = all(part.is_bare for part in self.answer.parts) or any(c.is_zero for c in found.claims)
        hedged = any(c.part.hedges for c in found.claims)
        return _DENIED if (found.days or plain) and not hedged else _DENIED + 1

    def _is_settled(self, found: Finding) -> bool:
        """'Not a day without it'; two weeks added up; a number that follows a correction or a time before."""
        if found.days is None and found.claims and (self.answer.denied_questions or self._is_ordinary(found)):
            return True  # "Every day? No."
        if not found.claims or found.ambiguity > _IMPLIED:
            return False
        last = found.claims[-1]
        if (
            self._is_answered_first(found)
            or self._is_beside_others(found)
            or self._is_prescribed(found)
            or self._is_share(last)
            or self._is_since(found, last)
            or self._is_named(last)
            or self._answers_oneself(last)
            or self._is_of_one_week(last)
            or self._is_too_few(found)
            or self._is_of_known_cause(found)
            or self._is_answered_yes(last)
            or bool(joined_in(self.answer, list(found.claims)))
            or never_paused(self.answer, last.part)
            or (last.form == "exception" and last.weight == OWN and self.answer.item not in _OF_TWO_SIDES)
            or _is_what_is_left(last)
        ):
            return True
        no_day = [c for c in (*found.claims, *self.denied) if c.form == "no_day"]
        if no_day and found.ambiguity < _IMPLIED and (found.days == 0 or last in no_day):
            return found.ambiguity <= _DENIED or OWN in {c.weight for c in (*no_day, last)}
        if last.kind != "often" or last.grade != "count" or not last.part.is_bare:
            return False
        weeks = {c.frequency.week for c in found.claims if c.frequency and c.frequency.week}
        earlier = self.answer.parts[: last.at]
        corrected = any(
            p.has("correction", "not_never") or (p.is_bare and any(f.negated for f in p.frequencies)) for p in earlier
        )
        now = last.part.has("now") or (bool(earlier) and earlier[-1].is_bare and earlier[-1].has("now"))
        before = bool(self.scopes.past) and now and found.ambiguity <= _DENIED
        return len(weeks) > 1 or corrected or before

    def _is_answered_first(self, found: Finding) -> bool:
        """'None whatsoever. I appreciate your asking.': 'no', and nothing after it counts or affirms."""
        first = self.answer.parts[0]
        no = first.is_bare and first.says_no and not first.frequencies and not first.has("not_never", "unknown")
        others = self.counted or self.complements or self.affirmed or self.is_left_open
        taken_back = any(part.has("correction", "now", "limit") for part in self.answer.parts)
        return found.days == 0 and no and not others and not taken_back

    def _is_beside_others(self, found: Finding) -> bool:
        """'I was nervous every day but I slept fine.': besides the count nothing is said but of other matters."""
        last = found.claims[-1]
        if not found.days or last.kind != "often" or last.weight != OWN or self.answer.tells_of_others_or_before:
            return False
        counted = [c.part for c in self.counted]
        others = [part for part in self.answer.parts if part not in counted]
        of_other = [p for p in others if p.index not in self.scopes.asides and _is_of_other(p, counted)]
        silent = [part for part in others if part.is_bare and not part.says_no and not part.is_turned]
        return bool(of_other) and all(part in of_other or part in silent for part in others)

    def _is_prescribed(self, found: Finding) -> bool:
        """'Every night, but it's prescribed.': how often, that it is prescribed, and no more."""
        if found.days != 0 or self.answer.item != _MEDICINE or self.affirmed:
            return False
        return all(part.is_bare or (part.value < 0 and part.says_only_that) for part in self.answer.parts)

    def _is_share(self, last: Claim) -> bool:
        """'13 of 14 no rituals at all'"""
        if not last.is_complement or last.frequency is None or len(self.counted) + len(self.complements) > 1:
            return False
        told = self.answer.reading.text[last.frequency.start : last.frequency.end]
        against = last.part.is_turned or last.part.has("fine", "relief")
        return bool(_OF_ALL.search(told)) and bool(last.part.matters) and (against or not self.affirmed)

    def _is_since(self, found: Finding, last: Claim) -> bool:
        """'It began six days ago, and every day since.'"""
        begun = days_since(self.answer, last.part) if last.form == "universal" else None
        return begun is not None and begun == found.days and len(self.counted) == 1

    def _is_ordinary(self, found: Finding) -> bool:
        """'I count the till every evening, that's my job.'"""
        counts = bool(found.claims[-1].part.frequencies) and self.answer.item == _RITUALS
        return counts and any(part.has("ordinary") for part in self.answer.sentence(found.claims[-1].part))

    def _is_of_known_cause(self, found: Finding) -> bool:
        """'Sunburn. Two days of that.': the cause, how often, and no more."""
        if found.days != 0 or self.answer.item != _PAINS or not self.denied[-1:] or self.denied[-1].frequency is None:
            return False
        cause = label(_PAINS, EXPLAINED)
        told = [part for part in self.answer.parts if part.has(cause) and not part.is_turned]
        return bool(told) and all(part.is_bare or part in told for part in self.answer.parts)

    def _is_too_few(self, found: Finding) -> bool:
        """'Three every night, never four.'"""
        if found.days != 0 or self.answer.item != _DRINKS or not only_few_drinks(self.answer):
            return False
        return bool(a_night(self.answer)) or any(part.has("few_drinks") for part in self.answer.parts)

    def _is_answered_yes(self, last: Claim) -> bool:
        """'Yes, …, once or twice.': 'yes', one count by itself, and nothing that it could be of but what was asked."""
        first = self.answer.parts[0]
        if not (first.is_bare and first.has("yes") and not first.frequencies and last.part.is_bare):
            return False
        others = any(part.others_matter for part in self.answer.parts) or self.answer.tells_of_others_or_before
        one = len(self.counted) == 1 and last.kind == "often" and last.grade == "count" and not self.complements
        return one and not others and not self._whole_denials

    def _is_of_one_week(self, last: Claim) -> bool:
        """'Last week every day, this week not at all.'"""
        if last.frequency is None or not last.frequency.week or not last.part.is_bare:
            return False
        return any(c.is_rest and c.part.is_bare and c.part.has("partly") for c in self.denied)

    def _answers_oneself(self, last: Claim) -> bool:
        """'Every day? No, two days.'"""
        return last.kind == "often" and last.part.is_bare and last.at - 1 in self.answer.denied_questions

    def _is_named(self, last: Claim) -> bool:
        """'Tired, daily. Worry as such? Several days.': what is counted here was named, the rest is about others."""
        before = self.answer.parts[last.at - 1] if last.at else None
        if before is None or last.kind != "often" or not last.part.is_bare or len(self.counted) > 1:
            return False
        asked = before.is_question and bool(before.matters)
        named = before.value > 0 and before.sentence == last.part.sentence and not before.frequencies
        others = any(p.others_matter and p.frequencies for p in self.answer.parts[: before.index])
        return asked or (named and others)

    def _contrasted(self) -> Finding | None:
        """Some days so, the rest not: unless that was corrected, or the item asks for something else."""
        denied_as_stated = self.answer.item in _STATED and not (self.counted or self.complements)
        if denied_as_stated or self.is_left_open:
            return None
        found = contrasted(self.answer, self.scopes)
        if found is None:
            return None
        ambiguity = _DENIED if found.is_sure else _IMPLIED
        return Finding(found.count.days, ambiguity, found.count.claims, is_settled=found.is_sure)

    @cached_property
    def _whole_denials(self) -> list[Claim]:
        return [c for c in self.denied if c.weight >= PLAIN and not c.is_rest]

    # --- counted ---

    def _counted(self, sure: list[Claim]) -> Finding:
        """What was counted stands, unless it is taken back or was about something else after all."""
        if self.is_left_open and self._wavers(sure):
            return Finding(None, _UNCLEAR, tuple(sure[-1:]))
        outright = [c for c in self._whole_denials if c.is_outright]
        after = [c for c in outright if c.at > sure[-1].at and not self._is_of_other(c, sure) and _outweighs(c, sure)]
        if after:
            is_over = any(c.part.has("now", "quit", "correction") or c.part.names_window for c in after)
            return Finding(0, _DENIED + 1, tuple(after[-1:]), overturned=None if is_over else sure[-1])
        over = self._is_over(sure)
        if over:
            return Finding(0, _DENIED + 1, (over,))
        if outright and self._is_by_the_way(outright[0], sure):
            return Finding(0, _DENIED + 1, tuple(outright[:1]))
        return self._combined(sure)

    def _combined(self, often: list[Claim], least: int = 1) -> Finding:
        count = Counts(self.answer, self.scopes, self.counted, self.complements).of(often)
        return Finding(count.days, max(_AMBIGUITY[count.grade], least), count.claims)

    def _wavers(self, sure: list[Claim]) -> bool:
        """Nothing exact was said, and it is taken back, contradicted or rough."""
        if any(c.grade == "count" for c in sure):
            return False
        days = [c.days for c in sure]
        rough = any(c.grade in ("rough", "word") for c in sure)
        return rough or max(days) - min(days) > _SPREAD or any(c.weight >= PLAIN for c in self.denied)

    def _is_of_other(self, denied: Claim, sure: list[Claim]) -> bool:
        """What was counted in the item's own words stands beside how it is borne, another symptom's absence, and a part
        of the item that was not there."""
        own = [c for c in sure if (c.weight == OWN or c.part.is_bare) and self._is_enough(c)]
        part = denied.part
        if self._answers_a_later_question(part, sure):
            return True
        if not own or part.has("now", "quit") or part.index in self.scopes.rest:
            return False
        return _is_of_other(part, [c.part for c in own])

    def _answers_a_later_question(self, part: Part, sure: list[Claim]) -> bool:
        """'Low? Nearly every day. Hopeless? Never.': what is asked oneself after the count is of something else."""
        asked = self.answer.parts[part.index - 1] if part.index else None
        if asked is None or not asked.is_question or asked.frequencies or asked.names_window:
            return False
        return part.is_bare and asked.index > sure[-1].at and bool(asked.content)

    def _is_enough(self, claim: Claim) -> bool:
        """Item 21 counts days with four drinks: 'every evening, but never drunk' tells of fewer."""
        return self.answer.item != _DRINKS or four_drinks_in(self.answer, claim.part) is True

    def _is_over(self, sure: list[Claim]) -> Claim | None:
        """'I had it daily at the old job. In these two weeks I haven't.'; not 'last week daily, this week not'."""
        if any(c.frequency and c.frequency.week for c in sure):
            return None
        if any(c.part.has("now") or c.part.names_window or c.form not in _HABITS for c in sure):
            return None
        later = (c for c in self.denied if c.at > sure[-1].at and c.weight >= PLAIN)
        return next((c for c in later if c.part.names_window or c.part.has("now")), None)

    def _is_by_the_way(self, denied: Claim, sure: list[Claim]) -> bool:
        """'Not at all. I do things once and that's enough.'"""
        if not (denied.part.is_bare and denied.at < sure[0].at) or any(c.weight == OWN for c in sure):
            return False
        between = self.answer.parts[denied.at : sure[-1].at + 1]
        limits = any(part.has("correction", "yes", "limit") or part.begins_with(*TURNS) for part in between)
        return not limits and all(c.part.content for c in sure)

    def _without_repeats(self, counted: list[Claim]) -> list[Claim]:
        """'One afternoon I didn't feel it. Out of two weeks, one afternoon.'"""
        text = self.answer.reading.text
        return [c for c in counted if not any(_repeats(text, c, complement) for complement in self.complements)]

    def _by_what_is_left(self) -> Finding | None:
        """'Only three good nights': the others were not, if anything says so."""
        if self._whole_denials:
            return None
        usable = [c for c in self.complements if not c.is_rest]
        told = [c for c in usable if self.affirmed or _excludes(c) or self._is_limited(c)]
        if told:
            return self._combined(told, least=_DENIED + 1)
        counts = [c for c in usable if c.form not in (*ADDED, *_HABITS, "exception")]
        return replace(self._combined(counts, least=_IMPLIED), is_settled=True) if counts else None

    def _is_limited(self, claim: Claim) -> bool:
        """'I did without it on the Wednesday. Only then.'"""
        following = self.answer.parts[claim.at + 1 : claim.at + 2]
        return any(part.is_bare and part.has("limit") and not part.frequencies for part in following)

    # --- denied ---

    def _denied(self) -> Finding | None:
        if not self._whole_denials:
            return None
        last = self._whole_denials[-1]
        affirmed = [c for c in self.affirmed if c.weight >= PLAIN]
        if affirmed and (self.is_left_open or self._takes_back(last, affirmed[-1])):
            return Finding(None, _UNCLEAR, tuple(affirmed[-1:]))
        if self._only_declines():
            return Finding(None, _NOTHING)
        return Finding(0, _DENIED, (last,))

    def _only_declines(self) -> bool:
        """'No, I'd rather not say.'; 'not really, I don't know'"""
        if not self.is_left_open or not all(c.part.is_bare for c in self._whole_denials):
            return False
        refuses = any(part.has("refused") for part in self.answer.parts)
        return refuses or not any(c.part.has("no") and _PLAIN_NO.search(c.part.text) for c in self._whole_denials)

    def _takes_back(self, denied: Claim, affirmed: Claim) -> bool:
        """A plain 'no' stands, unless what follows it turns against it."""
        if affirmed.at < denied.at:
            same = affirmed.part.sentence == denied.part.sentence
            return affirmed.kind == "vague" and same and not denied.part.begins_with(*TURNS)
        between = self.answer.parts[denied.at + 1 : affirmed.at + 1]
        turned = any(part.has("correction", "yes") or part.begins_with(*TURNS, "well ") for part in between)
        return turned or not denied.part.is_bare or affirmed.kind == "vague"

    def _others_only(self) -> Finding | None:
        """'My husband gets by on four hours. I need my nine.': told of others, and set against oneself."""
        if self.affirmed or self.counted or self.is_left_open:
            return None
        others = (self.answer.parts[at] for at in self.scopes.others)
        about_others = any(part.matters or part.frequencies for part in others)
        own = (part for part in self.answer.parts if part.index not in self.scopes.others)
        return Finding(0, _IMPLIED) if about_others and any(p.has("self") and p.content for p in own) else None

    # --- neither for certain ---

    def _loosely(self) -> Finding | None:
        """In words that are not known: what somebody does every day or so often a week is mostly something else."""
        beside = [c for c in self.counted if c.weight == BESIDE]
        if beside or not self.counted:
            return self._combined(beside, least=_DENIED + 1) if beside else None
        own = [c for c in self.counted if c.part.who == "self"]
        if own == self.counted and all(c.form in _HABITS and c.form != "rate" for c in own):
            return Finding(None, _LOOSE, tuple(own[-1:]))
        lone_date = len(self.counted) == 1 and self.counted[0].form == "dates" and self.counted[0].days == 1
        unsure = lone_date or (bool(own) and all(c.form == "rate" for c in own))
        return self._combined(self.counted, least=_LOOSE if unsure else _IMPLIED)

    def _last_resort(self) -> Finding:
        if self.affirmed:
            return Finding(None, _UNCLEAR, tuple(self.affirmed[:1]))
        partly = [c for c in self.denied if c.weight >= PLAIN]
        if partly:
            return Finding(0, _DENIED, tuple(partly[-1:]))
        if self.is_left_open:
            return Finding(None, _NOTHING)
        if self._was_once():
            return Finding(0, _IMPLIED)
        return Finding(0, _HARDLY, tuple(self.denied[:1])) if self.denied else Finding(None, _NOTHING)

    def _was_once(self) -> bool:
        """It is told of another time, which says that it is over."""
        told = (self.answer.parts[at] for at in self.scopes.past)
        return any(part.matters or part.frequencies or "used to" in part.text for part in told)


def _is_how_often_alone(part: Part) -> bool:
    """'Every night, doctor. …'; not 'I was on my own the whole time, …'."""
    told = sum(f.end - f.start for f in part.frequencies)
    return part.is_bare and part.who == "unsaid" and len(part.text.strip()) - told <= _FEW_LETTERS


def _repeats(text: str, claim: Claim, complement: Claim) -> bool:
    """The same number again, or the date of that day."""
    said, before = claim.frequency, complement.frequency
    if said is None or before is None or complement.at >= claim.at or said.days != before.days:
        return False
    near = claim.part.sentence - complement.part.sentence <= 1 and claim.part.is_bare
    again = near and (said.form in (*ADDED, "bare")) and not claim.part.begins_with("so ")
    return again or text[said.start : said.end].endswith(text[before.start : before.end])


def _current(answer: Answer, claims: list[Claim]) -> list[Claim]:
    """What a later correction takes back is left out; what it puts in its place is the answer."""
    counts = [c.begins for c in claims if c.kind == "often"]
    zeros = [c.begins for c in claims if c.is_zero or (c.kind == "denied" and c.part.is_bare and c.part.says_no)]
    last = max([*counts, *zeros], default=-1)
    marks = (mark for part in answer.parts for mark in _corrections(answer, part) if mark.start <= last)
    taken_back = max([*(mark.start for mark in marks), *_turned_now(claims)], default=-1)
    if taken_back < 0:
        return claims
    later = [replace(c, weight=max(c.weight, PLAIN)) for c in claims if c.begins >= taken_back]
    return [c for c in claims if c.kind in ("affirmed", "denied") and c.begins < taken_back] + later


def _turned_now(claims: list[Claim]) -> list[int]:
    """'Was down to one a week at new year. Now every morning.'"""
    counts = [c for c in claims if c.kind == "often"]
    if len(counts) < 2 or not counts[-1].part.begins_with("now ", "these days ", "nowadays "):
        return []
    earlier = [c for c in counts if c.at < counts[-1].at]
    return [counts[-1].part.start] if earlier and all(c.form in _HABITS for c in earlier) else []


def _corrections(answer: Answer, part: Part) -> list[Found]:
    """'…, honestly.' at the end of a sentence takes nothing back."""
    found = part.marks.get("correction", []) or _implied_correction(answer, part)
    ends = part.is_bare and part.index and part is answer.sentence(part)[-1] and len(answer.sentence(part)) > 1
    return [mark for mark in found if not (ends and _STRESS.match(part.words_of(mark)))]


def _implied_correction(answer: Answer, part: Part) -> list[Found]:
    """'Most days.. nah, like six'; 'Oh, the past two weeks? Then one.'"""
    earlier = answer.parts[max(0, part.index - _AROUND) : part.index]
    if not any(is_definite(f) for other in earlier for f in other.frequencies):
        return []
    if part.is_question and part.is_bare and part.names_window:
        return [Found("correction", part.start, part.end)]
    no = _NO_BUT.match(part.text)
    following = [part, *answer.parts[part.index + 1 : part.index + 2]]
    counts = any(is_definite(f) and f.days for other in following for f in other.frequencies)
    return [Found("correction", part.start, part.start + no.end())] if no and counts and part.is_bare else []


def _is_of_other(part: Part, counted: list[Part]) -> bool:
    """Another symptom, how this one is borne, another matter that is well, or a part of the item that was not there."""
    return part.others_matter or part.is_attitude or part.praises_other or denies_another_part(part, counted)


def _outweighs(denied: Claim, sure: list[Claim]) -> bool:
    """A count that answers the question stands, unless what follows turns against it."""
    turns = denied.part.begins_with(*TURNS, "so ", "no ")
    if not turns and any(c.at == 0 and _is_how_often_alone(c.part) for c in sure):
        return False
    direct = [c for c in sure if c.at == 0 or c.weight == OWN]
    counts = [c for c in direct if c.grade in ("count", "rough") and c.form not in _HABITS]
    return turns or not counts or (denied.weight == OWN and not any(c.at == 0 and c.part.is_bare for c in counts))


def _is_what_is_left(claim: Claim) -> bool:
    """'Fine every day bar one, when my back hurt': the one day is what was asked for."""
    frequency = claim.frequency
    if frequency is None or claim.is_complement or frequency.grade != "count":
        return False
    return frequency.days > claim.days == WINDOW_DAYS - frequency.days


def _excludes(claim: Claim) -> bool:
    """'Only four nights', 'three nights out of the fourteen': what is not counted was otherwise."""
    limits = claim.part.has("limit", "now") or claim.part.is_turned or "fourteen" in claim.part.text
    return limits and claim.form not in (*ADDED, "rate")
