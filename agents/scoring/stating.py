"""Claims without a number of days: that it was so, that it was not, or something in between."""

from __future__ import annotations

import re

from agents.language.frequency import WINDOW_DAYS
from agents.scoring.answer import Answer
from agents.scoring.claim import LOOSE, MORE_THAN_USUAL, OWN, PLAIN, Claim, Clause
from agents.scoring.parts import Part
from agents.scoring.scope import TURNS
from agents.scoring.tables import UNEXPLAINED, label

_AROUND = 3  # clauses
_HABITS = (21, 22, 23)
_ECHO = re.compile(r"\W*and (?:so )?(?:i|it|they) (?:am|do|did|have|was|is|does|has|are|were)\W*$")
_ELLIPTIC = re.compile(r"\b(?:i|it|they) (?:\w+n't|am not|is not|do not)\W*$|\bi'm not\W*$")
_IT_DID_NOT = re.compile(
    r"\W*(?:but |and |well |no )*(?:it|they|that) (?:just |really )?"
    r"(?:(?:did|has|have|had|do|does|wo)(?:n't| not)|never (?:did|has|have|does))\W*$"
)
_OPENER = re.compile(r"\W*(?:ok|okay|right|alright|all right|well|fine)\W*$")  # "ok, so …"
_NOT_ALL = re.compile(
    r"\W*(?:though |but |well |just )?not (?:quite |nearly )?(?:all|every one|the whole lot|each)(?: of \w+)?\W*$"
)
_AND_NO = re.compile(r"\W*and no\W*$")  # "… every day, and no, it isn't prescribed"


def stated(clause: Clause) -> Claim | None:
    part = clause.part
    if _denies_never(clause):
        return clause.claim("affirmed", PLAIN if part.has("not_never") else LOOSE)
    if never_paused(clause.answer, part):
        return Claim(part, "often", PLAIN, WINDOW_DAYS, "word")
    if part.is_question or part.is_left_open:
        return clause.claim("affirmed", OWN) if part.value > 0 and not part.is_question else None
    if any(f.negated and f.days == 1 for f in part.frequencies):  # "that didn't happen once"
        return _not_once(clause)
    if _says_nothing_new(clause):
        return None
    if part.has("lasting") and not part.has("self"):
        return Claim(part, "often", PLAIN, WINDOW_DAYS, "word")
    if any(f.grade == "vague" and not f.negated for f in part.frequencies) and (part.value >= 0 or clause.is_rest):
        return clause.claim("vague", PLAIN)
    if part.matters:
        return clause.claim("affirmed" if part.value > 0 else "denied", OWN)
    return _in_plain_words(clause)


def never_paused(answer: Answer, part: Part) -> bool:
    """'I wish it had skipped a day, but it didn't.'"""
    before = answer.parts[part.index - 1] if part.index else None
    if before is None or not before.has("pause") or before.is_turned or before.matters:
        return False
    return part.is_bare and not part.has("now") and bool(_IT_DID_NOT.match(part.text))


def says_plainly_no(part: Part) -> bool:
    return part.says_no or part.is_turned


def _denies_never(clause: Clause) -> bool:
    part = clause.part
    not_never = part.has("not_never") and not part.matters
    return not_never or any(f.form == "no_day" and f.negated for f in part.frequencies)


def _not_once(clause: Clause) -> Claim | None:
    """'I don't go into shops. Not once.' says again what was not done."""
    part = clause.part
    before = clause.answer.parts[part.index - 1] if part.index else None
    if _stresses_no_day(clause):
        return None
    if part.is_bare and before and before.lacking:
        return Claim(part, "often", PLAIN, WINDOW_DAYS, "word")
    return clause.claim("denied", OWN if part.matters else PLAIN)


def _stresses_no_day(clause: Clause) -> bool:
    """'There hasn't been a day I enjoyed. Not one.'"""
    part = clause.part
    before = clause.answer.parts[max(0, part.index - _AROUND) : part.index]
    return part.is_bare and any(f.form == "no_day" for p in before for f in p.frequencies)


def _says_nothing_new(clause: Clause) -> bool:
    part = clause.part
    not_so_often = part.is_bare and not part.has("fine") and any(f.negated for f in part.frequencies)
    opens = part.index == 0 and len(clause.answer.parts) > 1 and bool(_OPENER.match(part.text))
    not_all = bool(_NOT_ALL.match(part.text))
    return (
        opens
        or not_all
        or not_so_often
        or bool(_ECHO.match(part.text))
        or _is_named_only(clause)
        or _contrasts(clause)
        or _echoes_not_never(clause)
    )


def _echoes_not_never(clause: Clause) -> bool:
    """'I wouldn't say never, no.': the 'no' is the negation's, said again."""
    at = clause.part.index
    beside = clause.answer.parts[max(0, at - 1) : at + 2]
    return clause.part.is_mere_no and any(part.has("not_never") for part in beside)


def _is_named_only(clause: Clause) -> bool:
    """'Real panic, no': the matter is named, and the answer follows."""
    after = clause.answer.after(clause.part)
    answered = after is not None and after.is_bare and after.says_no and not after.frequencies
    return answered and clause.part.value > 0 and clause.part.who != "self"


def _contrasts(clause: Clause) -> bool:
    """'She has the prescription, I don't.'"""
    before = clause.answer.before(clause.part)
    return clause.part.is_bare and before is not None and before.who == "other" and not before.matters


def _in_plain_words(clause: Clause) -> Claim | None:
    """Without a word of the item's own."""
    part = clause.part
    denies = says_plainly_no(part)
    if part.is_bare and part.is_turned and _takes_back_health(clause):
        return clause.claim("affirmed", PLAIN)
    if part.is_bare and denies:
        return None if _AND_NO.match(part.text) else clause.claim("denied", PLAIN)
    if part.has("quit") and (part.item in _HABITS or part.has("past")):
        return clause.claim("denied", PLAIN)
    if part.others_matter:
        return None
    if part.has("fine"):
        return clause.claim("affirmed" if part.is_turned else "denied", PLAIN if _is_about_me(clause) else LOOSE)
    if part.has("unchanged") and part.item in MORE_THAN_USUAL:
        return clause.claim("denied", PLAIN)
    if part.has("yes"):
        return clause.claim("affirmed", PLAIN)
    if part.has("bad") or (part.has(label(part.item, UNEXPLAINED)) and not part.is_turned):
        return clause.claim("affirmed", PLAIN if part.who == "thing" else LOOSE)
    if denies and part.who in ("self", "unsaid"):
        return clause.claim("denied", PLAIN if part.has("asked") else LOOSE)
    return None


def _takes_back_health(clause: Clause) -> bool:
    """'I sleep fine. Except I don't.'"""
    part = clause.part
    before = clause.answer.parts[part.index - 1] if part.index else None
    if before is None or before.is_turned or not part.begins_with(*TURNS) or not _ELLIPTIC.search(part.text):
        return False
    return before.value < 0 or before.has("fine")


def _is_about_me(clause: Clause) -> bool:
    """'I'm fine', 'all good', 'my memory is fine'; not 'the bus was fine'."""
    part = clause.part
    fine = {word for found in part.marks.get("fine", []) for word in part.words_of(found).split()}
    return part.who in ("self", "thing") or part.names_matter or fine.issuperset(part.content)
