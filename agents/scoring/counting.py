"""Claims with a number of days: whether it counts the symptom, its absence, or something else."""

from __future__ import annotations

import re
from bisect import bisect_left

from agents.language import Found
from agents.language.frequency import WINDOW_DAYS, Frequency
from agents.language.tagging import Grade, Token
from agents.scoring.answer import Answer
from agents.scoring.claim import BESIDE, LOOSE, OWN, PLAIN, Claim, Clause, is_definite
from agents.scoring.parts import Part, Sign
from agents.scoring.tables import EVENT, PRESENT, label

_NEARLY_ALWAYS = 12
_NEAR = 12
_AROUND = 4
_SAYING = ("yes", "no", "fine", "bad", "correction", "not_never", "unknown")
_FREE = re.compile(
    r"\s*(?:(?:in |of |over )?(?:this|the|these) (?:past |last )?(?:fortnight|two weeks|14 days|fourteen days) )?"
    r"(?:off\b(?! on)|(?:(?:were|was|are|i was) )?(?:(?:\w+[- ])?free|"
    r"without(?! fail| exception| a break| interruption| pause| a pause| a gap| let)|clear|of peace)\b)"
)
_WITHOUT = re.compile(r"\s*without\b")  # "ten days without interest"
_DAY_WITHOUT = re.compile(r"\s*(?:\w+ ){0,2}without\b")  # "not a day goes by without"
_ALL_BUT = re.compile(r"(?:every|each|all|always)\b")
_EVEN_ONE = re.compile(
    r"(?:a|one) single\b|one day (?:out )?(?:of|in) (?:the |these )?(?:past |last )?(?:fourteen|14)\b"
)
_OFF = re.compile(
    r"\s*(?:'s )?(?:off\b(?! on)|(?:in |of |any |a )?(?:peace|rest|respite|let-?up|break|relief|reprieve)\b)"
)
_EASED = re.compile(
    r"\b(?:rested|eased|let up|lifted|stopped|paused|skipped|missed|spared|quiet)\b"
)  # "has not rested one day"
_LIMIT = re.compile(
    r"(?:\W+\w+){0,4}?\W*\b(?:(?P<less>under|below|less|fewer|before|short of)|over|more|above|past|beyond)\b"
)
_MEASURED: dict[int, Sign] = {4: -1, 21: 1}
"""Items that ask for less than something (hours), or for more (drinks)."""
_THAT_THING = re.compile(r"\W*that (?:same|one|old|awful|horrible|ugly|damn)\b")
_CIRCUMSTANCE = re.compile(r" (?:before|after|at|around|during|over|in the|by|from) (?:\w+ )?\w+\W*$")
_ON_DAYS = ("every ", "each ", "most ", "nearly every ", "almost every ")
_NEAR_VERB = 30  # characters
_RELATIVE = ("when ", "that ", "where ", "which ", "without ", "i ", "on which ", "yet ")


def counted(clause: Clause, frequency: Frequency) -> Claim | None:
    """What an expression of frequency claims; None where it is about something else."""
    if frequency.form == "no_day":
        return _on_no_day(clause, frequency)
    if clause.part.has("answers_no"):  # "every day they ask, and every day I say no"
        return clause.claim("denied", OWN)
    if frequency.form == "exception" and (side := _side_excepted_from(clause, frequency)):
        return clause.claim("often", OWN, frequency.days if side > 0 else WINDOW_DAYS - frequency.days, frequency)
    weight, sign = _about(clause, frequency)
    if weight == 0 or not _counts_days(clause, frequency):
        return None
    lacking = weight == OWN and sign > 0 and _WITHOUT.match(clause.part.text, frequency.end - clause.part.start)
    if (
        frequency.form != "comparison" and is_free(clause.part, frequency) and not lacking
    ):  # "three days were free of it"
        return clause.claim("often", weight, WINDOW_DAYS - frequency.days, frequency)
    if not frequency.days:  # "zero days"
        return clause.claim("denied", max(weight, PLAIN), 0, frequency)
    if sign <= 0 and _is_exception(clause, frequency):
        return clause.claim("often", PLAIN, WINDOW_DAYS - frequency.days, frequency)
    if clause.part.matters and _is_not_even_one(clause.part, frequency):
        return clause.claim("often" if sign > 0 else "denied", OWN, WINDOW_DAYS if sign > 0 else 0, frequency)
    if sign >= 0:
        return clause.claim("often", weight, frequency.days, frequency)
    return _against(clause, frequency, weight)


def _is_exception(clause: Clause, frequency: Frequency) -> bool:
    """'Fine every day bar one, when my back seized': the exception is what was asked for."""
    after = clause.answer.after(clause.part)
    if after is None or not after.begins_with("when ", "where ") or after.value <= 0 or after.frequencies:
        return False
    excepts = frequency.form == "exception" or _ALL_BUT.match(clause.part.text, frequency.start - clause.part.start)
    return bool(excepts) and frequency.days < WINDOW_DAYS


def _side_excepted_from(clause: Clause, exception: Frequency) -> Sign:
    """'Bad except for two nights' leaves twelve; of 'fine' or 'none' the exceptions are all there is."""
    part = clause.part
    said = [*(hit for hit, _ in part.matters), *part.found("fine", "bad", "no")]
    if any(found.start < exception.start for found in said):
        return _side(part, exception.start)
    earlier = clause.answer.parts[: part.index]
    told = next((p for p in reversed(earlier) if p.content or p.says_no or p.frequencies), None)
    begins = part.is_bare or not part.text[: exception.start - part.start].strip()
    if told is None or not begins or not clause.scopes.is_relevant(told):
        return 0
    goes_on = told.sentence == part.sentence or part is clause.answer.sentence(part)[0] or told.is_bare
    return _side(told, told.end) if goes_on else 0


def _side(part: Part, until: int) -> Sign:
    """Which side of the fourteen days a clause speaks of: with it, or without."""
    counts = [f for f in part.frequencies if is_definite(f) and f.form != "exception"]
    on_no_day = any(f.form == "no_day" for f in counts)
    if counts and not on_no_day:
        return 0
    signs = [sign for found, sign in part.matters if found.start < until]
    if signs:
        return -1 if (signs[-1] > 0) == on_no_day else 1
    if part.has("fine"):
        return 1 if part.is_turned else -1
    if part.has("bad") and not part.negators:
        return 1
    if any(is_free(part, f) for f in counts):  # "no day without"
        return 1
    return -1 if part.is_bare and (on_no_day or part.says_no) else 0


def _is_not_even_one(part: Part, frequency: Frequency) -> bool:
    """'Nobody believed me on a single day'; 'I haven't been out one day of the fourteen'."""
    if frequency.days != 1 or not _EVEN_ONE.match(part.text, frequency.start - part.start):
        return False
    return any(n.start < frequency.start for n in part.found("negation")) and not part.has("not_negation")


def _against(clause: Clause, frequency: Frequency, weight: int) -> Claim:
    """It counts when the symptom was not there."""
    if frequency.unit == "time" and frequency.days <= 1:  # "I can't remember being cross once"
        return clause.claim("denied", weight, 0, frequency)
    unsure = frequency.form == "universal" and _is_not_always(clause.part, frequency)
    if unsure or clause.part.told(frequency).startswith("some "):  # "some days I'm fine"
        return clause.claim("affirmed", LOOSE)
    if frequency.days >= _NEARLY_ALWAYS and (frequency.grade != "count" or frequency.days >= WINDOW_DAYS):
        return clause.claim("denied", weight, 0, frequency)
    return clause.claim("often", weight, WINDOW_DAYS - frequency.days, frequency, is_complement=True)


def counted_events(clause: Clause) -> Claim | None:
    """'Three panic attacks'; and 'I haven't slept properly in two weeks', which counts without a number."""
    part = clause.part
    for found in part.marks.get(label(part.item, EVENT), []):
        often = _events(clause.answer, found)
        if often and part.value >= 0:
            return clause.claim("often", OWN, often.days, often)
    if part.value > 0 and part.has("negation") and _lasts(clause):
        return Claim(part, "often", OWN, WINDOW_DAYS, "word")
    return None


def _events(answer: Answer, event: Found) -> Frequency | None:
    at = bisect_left(answer.tokens, event.start, key=lambda token: token.start)
    number: Token | None = answer.tokens[at - 1] if at else None
    if number is None or number.value is None or event.start - number.start > _NEAR:
        return None
    if number.value > WINDOW_DAYS or number.text in ("some", "many"):
        return None
    grade: Grade = "count" if number.tag == "NUM" else "rough"
    return Frequency(number.start, event.end, number.value, grade, "count", "time")


def _lasts(clause: Clause) -> bool:
    """'… in two weeks', '… since the move'."""
    after = clause.answer.after(clause.part)
    since = after is not None and after.begins_with("since ") and "n't" in clause.part.text
    return since or clause.part.names_window


def is_free(part: Part, frequency: Frequency) -> bool:
    return bool(_FREE.match(part.text, frequency.end - part.start))


def _is_not_always(part: Part, frequency: Frequency) -> bool:
    """'I'm not anxious all the time' leaves open how often."""
    present = {found.start for found in part.marks.get(label(part.item, PRESENT), [])}
    denied = [found for found, sign in part.matters if sign < 0 and found.start in present]
    return any(found.end <= frequency.start for found in denied) and not part.has("fine")


def _counts_days(clause: Clause, frequency: Frequency) -> bool:
    part = clause.part
    if frequency.form == "others":
        return bool(part.matters)
    if frequency.form == "universal":
        return not part.has("one_day")  # "all of them in the same night"
    if frequency.form == "bare":  # "a seven out of ten, sometimes eight"
        severity = any(f.form == "severity" for p in _around(clause) for f in p.frequencies)
        return not severity and not part.has("refused")
    return True


def _around(clause: Clause) -> list[Part]:
    """The clauses near this one in its sentence."""
    at = clause.part.index
    near = clause.answer.parts[max(0, at - _AROUND) : at + _AROUND + 1]
    return [part for part in near if part.sentence == clause.part.sentence]


def _about(clause: Clause, frequency: Frequency) -> tuple[int, Sign]:
    """How surely a frequency is about the item, and whether it counts the symptom or its absence."""
    part = clause.part
    if part.matters:
        return OWN, part.value_near(frequency)
    if part.others_matter:
        return 0, 0
    if part.has("fine"):
        return PLAIN, 1 if part.is_turned else -1
    neighbour = _neighbour(clause)
    if part.is_bare:
        if neighbour and neighbour.others_matter and neighbour.index < part.index:
            return 0, 0
        return _bare_weight(clause, neighbour), _bare_sign(clause, frequency, neighbour)
    if part.names_matter:
        return OWN, 0
    if neighbour and neighbour.matters:
        return PLAIN, neighbour.value
    return (PLAIN if _answers(part) else LOOSE), 0


def _answers(part: Part) -> bool:
    """It answers the question, though in words that are not known."""
    begins = part.begins_with("only ", "just ", "but ") or _is_adverbial(part)
    return part.who == "thing" or part.has("yes") or begins or part.names_window


def _is_adverbial(part: Part) -> bool:
    """'…, every night before bed'"""
    head = part.start + len(part.text) - len(part.text.lstrip())
    told = part.told(part.frequencies[0]) if part.frequencies[0].start == head else ""
    return part.who == "unsaid" and told.startswith(_ON_DAYS) and bool(_CIRCUMSTANCE.search(part.text))


def _bare_weight(clause: Clause, neighbour: Part | None) -> int:
    """'I work in a bakery, four mornings a week' is about the bakery; with the two weeks named, it answers."""
    part, before = clause.part, clause.answer.before(clause.part)
    if part.begins_with("so ") or part.names_window:
        return OWN
    if before is None or neighbour or before.has(*_SAYING):
        return PLAIN
    tells = before.who == "self" and not before.is_bare and not before.frequencies
    return BESIDE if tells else PLAIN


def _bare_sign(clause: Clause, frequency: Frequency, neighbour: Part | None) -> Sign:
    part, before = clause.part, clause.answer.before(clause.part)
    if sum(_turns(part, negator, frequency) for negator in part.negators) % 2:
        return -1
    if before and any(f.negated and is_free(before, f) for f in before.frequencies):
        return -1  # "not many days without it: two at most"
    asked = clause.answer.parts[part.index - 1] if part.index else None
    if asked and asked.is_question and asked.matters:
        return asked.value  # "How many days was I calm? Two."
    if neighbour and part.has("now") and neighbour.is_turned and not neighbour.has("now"):
        return 1  # "I was never nervous, now it's every day"
    if neighbour:
        return neighbour.value
    return -1 if frequency.days >= _NEARLY_ALWAYS and _goes_on_about_health(clause) else 0


def _goes_on_about_health(clause: Clause) -> bool:
    """'Head hits the pillow and I'm gone. Every night.'"""
    part = clause.part
    first = clause.answer.sentence(part)[0]
    before = clause.answer.parts[first.index - 1] if first is part and part.index else None
    told = clause.answer.sentence(before) if before else ()
    signs = [p.value for p in told if p.matters]
    counts = any(is_definite(f) for p in told for f in p.frequencies)
    return bool(signs) and max(signs) < 0 and not counts and not any(p.has("negation") for p in told)


def _turns(part: Part, negator: Found, frequency: Frequency) -> bool:
    """'weekends I don't'; not '… and on no other day', nor '… and not | since'."""
    is_last = not part.text[negator.end - part.start :].strip()
    between = part.text[frequency.end - part.start : negator.start - part.start]
    if is_last and not between.strip() and part.words_of(negator) in ("no", "never", "not"):
        return True  # "weekends no"
    return negator.start < frequency.start or (part.words_of(negator) != "no" and not is_last)


def _neighbour(clause: Clause) -> Part | None:
    """The clause beside this one that says what the frequency is about and has none of its own."""
    before = clause.answer.before(clause.part)
    for _ in range(_AROUND):  # "Worries, yes, every day"
        if before and before.is_bare and not before.frequencies and not before.matters:
            before = clause.answer.before(before)
    after = clause.answer.after(clause.part)
    if after and after.is_bare and after.frequencies and all(f.form == "dates" for f in after.frequencies):
        after = clause.answer.after(after)  # "one day, the Saturday, when it did not hurt"
    for other in (before, after):
        if other and other.index not in clause.scopes.rest and _says_what(other):
            return other
    return None


def _says_what(part: Part) -> bool:
    counts = any(is_definite(f) or f.negated for f in part.frequencies)
    return not counts and (bool(part.matters) or part.others_matter)


def _on_no_day(clause: Clause, frequency: Frequency) -> Claim | None:
    """'Not a day without it': so many days on which something was, or was not, so."""
    if _only_stresses(clause):
        return None
    read = [clause.part]
    after = clause.answer.after(clause.part)
    if after and not after.frequencies and len(after.content) == 1 and not after.begins_with(*_RELATIVE):
        after = clause.answer.after(after)  # "Not a day goes by, madam, without …"
    if after and after.begins_with(*_RELATIVE) and not clause.part.negators and not _THAT_THING.match(after.text):
        more = clause.answer.after(after)
        read += [after, more] if more and more.begins_with("or ", "and ") and not after.matters else [after]
        clause.told.update(part.index for part in read[1:])
    signs = [sign for part in read for _, sign in part.matters]
    bound = _bound(clause.part, frequency)
    nearest = 0 if _DAY_WITHOUT.match(clause.part.text, frequency.end - clause.part.start) else -1
    sign = bound or (signs[nearest] if signs else _sign_of_no_day(clause, read, frequency))
    days = frequency.days if sign > 0 else WINDOW_DAYS - frequency.days
    known = bound or signs or sign < 0 or all(part.is_bare or part.has("fine", "bad") for part in read)
    weight = OWN if signs or bound else PLAIN
    return clause.claim("often" if days else "denied", weight if known else LOOSE, days, frequency)


def _bound(part: Part, frequency: Frequency) -> Sign:
    """'Not a day off from it'; 'not one night under six cans', and of hours 'not one night over three'."""
    following = part.text[frequency.end - part.start :]
    if any(sign > 0 and found.start <= frequency.start < found.end for found, sign in part.matters):
        return -1  # "not sleeping any night"
    if any(found.end <= frequency.start for found in part.lacking):
        return -1  # "not felt close to anyone not one day"
    if _OFF.match(following) or _EASED.search(part.told(frequency)):
        return -1
    limit = _LIMIT.match(following) if part.item in _MEASURED else None
    if not limit:
        return 0
    return -1 if (limit["less"] is not None) == (_MEASURED[part.item] > 0) else 1


def _only_stresses(clause: Clause) -> bool:
    """'Every day, there's not been a day since …'"""
    part = clause.part
    if not part.is_bare or part.begins_with("not "):
        return False
    earlier = (p for p in _around(clause) if p.index < part.index)
    return any(f.form == "universal" for p in earlier for f in p.frequencies)


def _sign_of_no_day(clause: Clause, read: list[Part], frequency: Frequency) -> int:
    part, before = clause.part, clause.answer.before(clause.part)
    asked = clause.answer.parts[part.index - 1] if part.index else None
    if part.is_bare and asked and asked.is_question and asked.matters:
        return asked.value  # "Without pain? Not a single day."
    said = before or asked
    if part.is_bare and len(read) == 1 and said and said.matters and said.has("negation"):
        return -said.value  # "I haven't felt close to anybody, not for a single day"
    until = frequency.end + _NEAR_VERB if len(read) == 1 else read[-1].end
    turns = sum(n.start < until for p in read for n in p.negators)
    return -1 if turns % 2 or any(p.has("free", "lasting") for p in read) else 1
