"""What each rule of `frequency.toml` makes of the words it fits: days of fourteen, and how exactly that was said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from agents.language.tagging import Grade, Rule, Token

WINDOW_DAYS = 14
WEEK_DAYS = 7
_WEEKEND_DAYS = 4.0
_WORKDAYS = 10.0
_SEVERITY_OUT_OF = 10
_SCALE_OUT_OF = 4
_NOT_BEFORE_COUNTS = frozenset(
    {
        "IN",
        "FOR",
        "TO",
        "OF",
        "OUT",
        "OR",
        "NUM",
        "SLASH",
        "DASH",
        "WORD",
        "LAST",
        "THE",
        "A",
        "DATE",
        "YEAR",
        "SIGN",
        "EVERY",
    }
)
_AROUND_DATES = ("by", "until", "till", "since", "before", "over", "last", "for", "towards", "after")
_OPEN_RANGE = frozenset({"OR", "TO", "DASH", "BETWEEN", "ABOUT", "SOMETIMES"})
_NEXT = 10  # "forty, fifty"
_SMALL_WORDS = frozenset({"FILL", "ABOUT", "ONLY", "IN", "COMMA", "THERE"})
_AFTER_TWICE = ("the", "as", "that")
_AFTER_ONCE = ("it", "it's", "the", "you", "they", "we", "he", "she")
_BEFORE_ONE = ("was", "is", "been", "well", "yes", "yeah", "so")  # after other verbs it is a pronoun: "I've had one"
_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_AGE = re.compile(r"(?:\b(?:i|he|she|who) (?:was|am|is|turned)|\b(?:i'm|he's|she's|aged|age))$")
_NAMES = ("DOW", "DOWS", "DOWAB")


class Reading(NamedTuple):
    """`low`: the lower end of a range; `form`: another one than the rule's."""

    days: float
    grade: Grade
    low: float | None = None
    form: str | None = None


class Amount(NamedTuple):
    low: float
    high: float
    grade: Grade


@dataclass(frozen=True)
class Match:
    """A rule that fits, with access to the tokens of its named parts."""

    rule: Rule
    tokens: Sequence[Token]
    match: re.Match[str]

    def part(self, *names: str) -> list[Token]:
        groups = self.match.re.groupindex
        for name in names:
            if name in groups and self.match.start(name) >= 0:
                return list(self.tokens[self.match.start(name) : self.match.end(name)])
        return []

    @property
    def all(self) -> Sequence[Token]:
        return self.tokens[self.match.start() : self.match.end()]

    @property
    def before(self) -> Token | None:
        first = self.match.start()
        return self.tokens[first - 1] if first else None

    @property
    def after(self) -> Token | None:
        last = self.match.end()
        return self.tokens[last] if last < len(self.tokens) else None

    @property
    def week(self) -> str | None:
        """'last week' in the expression or next to it, the nearest; what follows comes before what precedes."""
        first, last = self.match.span()
        places = [*range(first, last), last, first - 1, *self._over_small_words(first - 2)]
        if last < len(self.tokens) and self.tokens[last].tag != "STOP":
            places.append(last + 1)
        places.append(first - 2)
        near = (self.tokens[at] for at in places if 0 <= at < len(self.tokens))
        return next((token.text for token in near if token.tag == "LASTWEEK"), None)

    def _over_small_words(self, at: int) -> Iterator[int]:
        """'The first week it was about four days'."""
        while at >= 0 and self.tokens[at + 1].tag in _SMALL_WORDS:
            yield at
            at -= 1


def _amount(tokens: Sequence[Token]) -> Amount | None:
    values = [token.value for token in tokens if token.value is not None]
    if not values:
        return None
    tags = {token.tag for token in tokens}
    shift = (1 if tags & {"MORE", "OVER"} else 0) - (1 if "FEWER" in tags else 0)
    rough = "ROUGH" in tags and "NUM" not in tags and not _is_couple(tokens)
    if not tags & _OPEN_RANGE and max(values) - min(values) > _NEXT:
        values = values[-1:]  # "well over four, 14 days": no range
    low, high = min(values), max(values)
    return Amount(low + shift, high + shift, "rough" if rough else "count")


def _is_couple(tokens: Sequence[Token]) -> bool:
    return any(token.text.endswith("couple") for token in tokens)


def _count(match: Match) -> Reading | None:
    amount = _amount(match.part("q", "q2"))
    if amount is None or amount.low > WINDOW_DAYS or (match.before and match.before.text == "how"):
        return None
    return Reading(amount.high, amount.grade, amount.low)


def _so_many_times(match: Match) -> Reading | None:
    """Not 'twice the dose', nor 'once it gets dark' or 'all at once'."""
    following = match.after.text if match.after else ""
    word = match.all[-1].text if len(match.all) == 1 else ""  # "once or twice as I woke"
    if word == "once" and match.before and match.before.text == "at":
        return None
    if (word == "twice" and following in _AFTER_TWICE) or (word == "once" and following in _AFTER_ONCE):
        return None
    return _count(match)


def _of_them(match: Match) -> Reading | None:
    """'Nine of them', but not 'there are two of them'."""
    return None if match.before and match.before.text in ("are", "were", "got") else _count(match)


def _times(factor: float) -> Callable[[Match], Reading | None]:
    def scaled(match: Match) -> Reading | None:
        amount = _amount(match.part("q", "q2"))
        return Reading(amount.high * factor, amount.grade, amount.low * factor) if amount else None

    return scaled


def _fixed(match: Match) -> Reading:
    return Reading(match.rule.days or 0, "word")


def _all_but(match: Match) -> Reading | None:
    amount = _amount(match.part("q"))
    if amount is None or amount.high > WINDOW_DAYS:
        return None
    return Reading(WINDOW_DAYS - amount.high, "count")


def _all_but_one(match: Match) -> Reading | None:
    """'Apart from the exam day', but not 'apart from the bad days'."""
    several = any(token.tag == "DAY" and token.text.endswith("s") and "'" not in token.text for token in match.all)
    return None if several else Reading(WINDOW_DAYS - 1.0, "count")


def _no_day(match: Match) -> Reading | None:
    last = max(at for at, token in enumerate(match.all) if token.tag in ("DAY", "WINDOW", "THEM"))
    numbers = [token for token in match.all[:last] if token.tag == "NUM"]
    if numbers and numbers[0].value != 1:
        return Reading(0.0, "count", form="count") if numbers[0].value == 0 else None
    hardly = any(token.tag == "HARDLY" for token in match.all)
    return Reading(1.0 if hardly else 0.0, "anchor", form="no_day")


def _share(match: Match) -> Reading | None:
    amount, whole = _amount(match.part("q")), _amount(match.part("of"))
    if amount is None or whole is None or not whole.high > 0 or amount.high > whole.high:
        return None
    days = WINDOW_DAYS * amount.high / whole.high
    if _is_range(match, amount, whole):
        return Reading(whole.high, "count", amount.high)
    if any(token.tag == "DAY" for token in match.all) or whole.high in (WEEK_DAYS, WINDOW_DAYS):
        return Reading(days, "count", WINDOW_DAYS * amount.low / whole.high)
    if match.all[-2].tag == "SLASH" and match.before and match.before.tag in ("IN", "SINCE", "TO"):
        return Reading(1, "count", form="dates") if match.before.text == "on" else None  # "on 3/4"
    if whole.high == _SCALE_OUT_OF:
        return Reading(amount.high, "count", form="scale")
    return Reading(days, "vague", form="severity") if whole.high == _SEVERITY_OUT_OF else None


def _is_range(match: Match, amount: Amount, whole: Amount) -> bool:
    """'3/4 days' are three or four; '6/7 days' are six of a week."""
    slash = [token.tag for token in match.all[-3:]] == ["SLASH", "NUM", "DAY"]
    return slash and whole.high == amount.high + 1 and whole.high not in (WEEK_DAYS, WINDOW_DAYS)


def _share_of_days(match: Match) -> Reading | None:
    amount, of = _amount(match.part("q")), _amount(match.part("of"))
    whole = of.high if of else WINDOW_DAYS
    if amount is None or not amount.high < whole <= WINDOW_DAYS:
        return None
    return Reading(WINDOW_DAYS * amount.high / whole, "count")


def _within(match: Match) -> Reading | None:
    """'Six pints in one evening', but not 'six pints on five evenings'."""
    several = any(token.tag == "NUM" and token.value != 1 for token in match.all[-2:])
    on = any(token.text == "on" for token in match.all[-3:])
    return None if several and on else Reading(1, "word")


def _single(match: Match) -> Reading | None:
    """'One wedding'; not 'two interview …'."""
    numbers = [token.value for token in match.all if token.tag == "NUM"]
    return Reading(1, "count") if not numbers or numbers[0] == 1 or match.all[0].tag == "THE" else None


def _one_week(match: Match) -> Reading:
    return Reading(WEEK_DAYS * (1.5 if match.all[0].text.endswith("half") else 1), "rough")


def _every_nth(match: Match) -> Reading | None:
    step, times = _amount(match.part("n", "n2")), _amount(match.part("k"))
    if step is None or step.low <= 0:
        return None
    return Reading(WINDOW_DAYS / step.low * (times.high if times else 1), "count")


def _part(match: Match) -> Reading | None:
    """More than half is the scale's own anchor; a third, three quarters, 70 percent are shares."""
    lead = {token.tag for token in match.part("lead")}
    words = match.part("part")
    values = {token.tag: token.value or 0 for token in words}
    if "HALF" in values and _is_within_one_day(match):
        return None
    if "HALF" in values:
        share = 0.5 + (0.2 if lead & {"MORE", "OVER"} else 0) - (0.15 if "FEWER" in lead else 0)
        return Reading(WINDOW_DAYS * share, "anchor")
    if "PERCENT" in values:
        return Reading(WINDOW_DAYS * values["NUM"] / 100, "count")
    if "SLASH" in values:
        return _fraction(words[0].value or 0, words[-1].value or 0)
    return Reading(WINDOW_DAYS * values.get("NUM", 1) / values["PART"], "count")


def _fraction(over: float, under: float) -> Reading | None:
    """'2/3 of the days'"""
    return Reading(WINDOW_DAYS * over / under, "count") if 0 < over < under <= WINDOW_DAYS else None


def _percent_alone(match: Match) -> Reading | None:
    """'75%', but not 'I feel 75%'; and '100%' is a strong yes."""
    percent = match.part("part")[0].value or 0
    answers = match.before is None or match.before.tag in ("STOP", "COMMA") or match.before.text in ("yes", "yeah")
    return Reading(WINDOW_DAYS * percent / 100, "rough") if answers and percent < 100 else None


def _half_a_week(match: Match) -> Reading | None:
    """'Half of this week'; 'half of this one' where a week was named before."""
    named = any(token.tag == "LASTWEEK" for token in match.tokens[: match.match.end()])
    return Reading(WEEK_DAYS / 2, "word") if named else None


def _is_within_one_day(match: Match) -> bool:
    """'Awake half the night' says how long, not how often."""
    return match.all[-1].tag == "DAY" and not match.all[-1].text.endswith("s")


# --- days with names ------------------------------------------------------------------------------------------------


def _weekend(match: Match) -> Reading:
    """Two days each; 'last weekend' is one of them, and a date."""
    words = match.all
    single = words[-1].text == "weekend" and any(t.tag == "LAST" or t.text in ("this", "one") for t in words)
    return Reading(2.0, "rough", form="dates") if single else Reading(_WEEKEND_DAYS, "count", form="weekend")


def _weekdays(match: Match) -> Reading:
    """Five days a week, or the days from one name to another; in one week only where that is said."""
    named = [token for token in match.all if token.tag in _NAMES]
    days = _WORKDAYS
    if len(named) >= 2:
        begin, end = (_WEEK.index(token.text[:3]) for token in named[:2])
        days = 2.0 * ((end - begin) % WEEK_DAYS + 1)
    if any(token.tag == "MOST" for token in match.all):
        days = 8.0
    return Reading(days / 2 if match.week else days, "count", form="weekdays")


def _named(match: Match) -> Reading | None:
    names = match.part("dow")
    if all(token.tag == "DOWAB" for token in names if token.tag.startswith("DOW")) and len(names) == 1:
        return None  # "I sat there"
    words = [*match.part("lead"), *names]
    times = [token for token, after in pairwise(words) if token.tag == "NUM" and after.tag == "IN"]
    leads = {token.tag for token in words if token not in times}  # "two on Monday" are not two Mondays
    twice = leads & {"BOTH", "EVERY", "NUM"} or match.part("tail")
    days = _named_days([token for token in names if token.tag in _NAMES], bool(twice))
    form = "weekly" if twice or any(token.tag == "DOWS" for token in names) else "dates"
    return Reading(float(days), "count", form=form)


def _named_days(names: Sequence[Token], twice: bool) -> int:
    """'The Saturday, both Saturdays' are two; a Tuesday of each week are two as well."""
    if twice:
        return 2 * len({token.text[:3] for token in names})
    every = {token.text[:3] for token in names if token.tag == "DOWS"}
    return 2 * len(every) + sum(token.text[:3] not in every for token in names)


def _all_but_named(match: Match) -> Reading:
    names = {token.text[:3] for token in match.part("dow") if token.tag in _NAMES}
    return Reading(WINDOW_DAYS - 2.0 * len(names), "count")


def _all_but_dates(match: Match) -> Reading:
    """'Bar the Wednesday': one day; the Wednesdays are two."""
    names = [token for token in match.part("dow") if token.tag in (*_NAMES, "DATE")]
    return Reading(WINDOW_DAYS - sum(2.0 if token.tag == "DOWS" else 1.0 for token in names), "count")


def _dates(match: Match) -> Reading | None:
    """'On Christmas Eve', but not 'by Christmas'."""
    if match.before and match.before.text in _AROUND_DATES:
        return None
    dates = sum(token.tag in ("DATE", "DOW", "ORDINAL") for token in match.all)
    return Reading(float(dates), "count", form="dates")


def _weekly(match: Match) -> Reading | None:
    """'weekly', 'every week'; 'both weeks' says nothing of how often."""
    every = match.all[0].text.endswith(("weekly", "every week", "each week", "every wk"))
    return Reading(2.0, "word") if every else None


def _scale(match: Match) -> Reading | None:
    """'I'd say a 3'."""
    amount = _amount(match.part("q"))
    return Reading(amount.high, "count", form="scale") if amount and amount.high <= _SCALE_OUT_OF else None


def _bare(match: Match) -> Reading | None:
    """A number with no unit counts only where nothing says that it measures something else."""
    counted = _count(match)
    if counted is None or _is_no_count(match):
        return None
    follows_other = match.before is not None and match.before.tag == "OTHER"
    return counted._replace(form="others") if follows_other else counted


def _which_were_not(match: Match) -> Reading | None:
    """'The other thirteen weren't', but not 'the other nine no bother'."""
    return _count(match) if match.after and match.after.text.endswith("n't") else None


def _goes_on_in_hours(match: Match) -> bool:
    """'Awake at two, three, four o'clock'."""
    last = match.match.end()
    following = [token.tag for token in match.tokens[last : last + 3]]
    return len(following) == 3 and following[0] in ("COMMA", "OR", "DASH", "AND") and following[1:] == ["NUM", "HOUR"]


def _is_no_count(match: Match) -> bool:
    words = {token.text for token in match.all if token.value is not None}
    if words & {"some", "many"} or _goes_on_in_hours(match):
        return True
    if match.before is None:
        return False
    if _AGE.search(
        " ".join(token.text for token in match.tokens[max(0, match.match.start() - 2) : match.match.start()])
    ):
        return True  # "since I was ten"
    ends = match.after is None or match.after.tag in ("STOP", "COMMA")
    if match.before.text == "on" and ends:
        return False
    pronoun = words == {"one"} and match.before.tag == "FILL" and match.before.text not in _BEFORE_ONE
    return pronoun or match.before.tag in _NOT_BEFORE_COUNTS


HOW: dict[str, Callable[[Match], Reading | None]] = {
    "count": _count,
    "of_them": _of_them,
    "so_many_times": _so_many_times,
    "fixed": _fixed,
    "no_day": _no_day,
    "all_but": _all_but,
    "all_but_named": _all_but_named,
    "all_but_one": _all_but_one,
    "all_but_dates": _all_but_dates,
    "share": _share,
    "share_of_days": _share_of_days,
    "within": _within,
    "single": _single,
    "one_week": _one_week,
    "per_week": _times(2),
    "per_month": _times(0.5),
    "every_nth": _every_nth,
    "part": _part,
    "percent_alone": _percent_alone,
    "half_a_week": _half_a_week,
    "weekend": _weekend,
    "weekdays": _weekdays,
    "named": _named,
    "dates": _dates,
    "bare": _bare,
    "which_were_not": _which_were_not,
    "weekly": _weekly,
    "scale": _scale,
}
