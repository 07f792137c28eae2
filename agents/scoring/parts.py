"""One clause of an answer, with what it says of the item's matter, and of whom."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Literal

from agents.language import Found
from agents.language.frequency import Frequency
from agents.scoring.keeping import kept
from agents.scoring.stretches import Placed, Stretches, beginning_in, outermost
from agents.scoring.tables import ABSENT, NAME, NEUTRAL, PRESENT, UNEXPLAINED, before_person, fillers, label, topics

Who = Literal["self", "other", "thing", "unsaid"]
Sign = Literal[-1, 0, 1]
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ME = re.compile(r"\b(?:me|i|i'm|i've|myself|my (?:thoughts|thinking|mind|head|brain|name|illness|pain|symptoms))\b")
# "I enjoy nothing": these turn a statement round from behind, too.
_FROM_BEHIND = frozenset({"nothing", "nobody", "no one", "none"})
_ANSWERS_FIRST = re.compile(
    r"\W*(?:(?:oh|ah|well|er|um|hm+) )?no (?:i|i'm|i've|i'd|it|it's|my|we|they|not|never|none|nothing|just|only)\b"
)
_WHO: tuple[tuple[str, Who], ...] = (("self", "self"), ("person", "other"), ("they", "thing"), ("thing", "thing"))
_NEAR, _FAR = 25, 200  # characters
_STEM = 4
_MEDICINE = 23
_ITS_NAME = re.compile(r"\b(?:my|the) (?:\w+ )?\w+ (?:is|was|are|were|has been|have been|'s|stays|stayed|feels|felt)\b")
# Here it is others who do it: they hear one's thoughts, speak in one's head, do not believe one.
_DONE_BY_OTHERS = (10, 12, 13)
_SOMEONE = re.compile(r"(?:s?he(?:'s|'d|'ll)?|someone|somebody|people|everyone|everybody|others)$")
_REASON = re.compile(r"\b(?:for|because of|out of|due to) (?:sheer |pure |the |all the |my )?$")
_DENIES = re.compile(r"(?:no|not|nothing|never|without|hasn't|haven't)\b")
_CLOSE = {"without": 12, "no": 25, "zero": 25, "free of": 25, "free from": 25}
_WINDOW = re.compile(
    r"\b(?:in|for|these|the (?:past|last)) (?:past |last |the |whole )*(?:two|2|fourteen|14) (?:weeks|days)|fortnight"
)
_A_BIT = re.compile(r"(?:a|one) (?:little )?(?:bit|little)$")
_VERB_NEGATED = re.compile(r"(?:\w+n't|(?:do|does|did|is|was|were|are|has|have|had) not)$")
_MERE_NO = re.compile(r"\W*(?:(?:well|oh|hm+|but|so) )?(?:no|nope|nah|not really)\W*$")
_JOINS = ("and ", "but ", "then ")
_OR = re.compile(r"(?: \w+){0,2} (?:or|nor) (?:\w+ )?")
_LESS = re.compile(r"\b(?:less|little|lost|losing|lose|low|lower) (?:\w+ )?$")


@dataclass(eq=False)
class Part:
    """Positions are those of the reading's text."""

    index: int
    start: int
    end: int
    sentence: int
    text: str
    ending: str
    item: int
    marks: dict[str, list[Found]] = field(default_factory=dict)
    frequencies: list[Frequency] = field(default_factory=list)
    covered: int = 0
    """How far an expression of frequency reaches over from the clause before."""

    def has(self, *names: str) -> bool:
        return not self.marks.keys().isdisjoint(names)

    def found(self, *names: str) -> list[Found]:
        marks = self.marks
        return [found for name in names if name in marks for found in marks[name]]

    @kept
    def is_left_open(self) -> bool:
        """'I can't say', 'next question'; not 'I can't remember' where that is what was asked."""
        return any(not self._own.touch(found.start, found.end) for found in self.found("unknown", "refused"))

    @kept
    def hedges(self) -> list[Found]:
        """'I don't know', 'not sure'; not where that is what was asked: 'not sure who I am'."""
        found = self.found("hedge")
        why = Stretches(self.found(label(self.item, UNEXPLAINED)) if found else ())
        return [h for h in found if not self._own.touch(h.start, h.end) and not why.touch(h.start, h.end)]

    def words_of(self, found: Found) -> str:
        return self.text[found.start - self.start : found.end - self.start]

    def begins_with(self, *words: str) -> bool:
        return self.first_words.startswith(words)

    @kept
    def first_words(self) -> str:
        return self.text.strip() + " "

    @kept
    def matters(self) -> list[tuple[Found, Sign]]:
        """The item's own words in the clause, each for or against it once negation is taken into account."""
        found = [(found, self._turned(found, sign)) for found, sign in self._hits]
        turned = [n.start for n in self.negators if _VERB_NEGATED.match(self.words_of(n))] if len(found) > 1 else []
        if turned and found[-1][0].start > turned[-1]:  # "my stomach did not hurt": what is said of it decides
            found = [hit for hit in found if hit[0].start > turned[-1]]
        return _carried_on(found, self.text, self.start)

    @kept
    def names_matter(self) -> bool:
        """It speaks of the item's matter, if only by name: 'my sleep'."""
        return bool(self.matters) or self.has(label(self.item, NEUTRAL))

    @kept
    def _hits(self) -> list[tuple[Found, int]]:
        absent = () if self.is_beyond else self._named(ABSENT)
        hits = [(found, 1) for found in self._named(PRESENT)] + [(found, -1) for found in absent]
        told = [found for found, _ in hits]
        hits += [(found, -1) for found in self._named(NEUTRAL) if self._is_negated(found, told)]
        chosen: list[tuple[Found, int]] = []
        for hit in sorted(hits, key=lambda hit: (hit[0].start, -hit[0].end)):
            if not chosen or hit[0].start >= chosen[-1][0].end:  # of two that overlap, the one that begins first
                chosen.append(hit)
        return chosen

    @kept
    def is_beyond(self) -> bool:
        """'Double the dose that the doctor gave me'; not 'never more than the doctor wrote'. Of item 23 alone."""
        beyond = self.found("beyond") if self.item == _MEDICINE else []
        return any(not any(n.start < found.start for n in self._negations) for found in beyond)

    def _named(self, side: str) -> list[Found]:
        found = self.found(label(self.item, side))
        return [one for one in found if not self._idioms.hold(one)] if found else found

    @kept
    def _idioms(self) -> Stretches:
        return Stretches(self.found("idiom"))

    def _is_negated(self, found: Found, told: list[Found]) -> bool:
        """'No memory of it'; in 'no problems with my memory' it is the problems that there are none of."""
        last = max((hit.start for hit in told if hit.end <= found.start), default=0)
        near = beginning_in(self._negations, max(last, found.start - _FAR), found.start)
        return any(self._in_reach(n, found) and not self._negates_frequency(n) for n in near)

    def _turned(self, found: Found, sign: int) -> Sign:
        if self._denials.hold(found):
            return -1  # "no trouble"
        if self._is_relieved is not None:
            return -1 if self._is_relieved else 1
        near = beginning_in(self.negators, found.start - _FAR, found.start + _FAR)
        turns = sum(self._reaches(negator, found) for negator in near)
        if sign < 0 and _LESS.search(self._before(found)):  # "less keen than usual"
            turns += 1
        return 1 if (sign > 0) == (turns % 2 == 0) else -1

    @kept
    def _is_relieved(self) -> bool | None:
        """'The pictures stayed away', or 'never left me alone'; None where nothing of the kind is said."""
        relief = [found for found in self.found("relief") if not self._own.hold(found)]
        return len([n for n in self.negators if n.start < relief[0].start]) % 2 == 0 if relief else None

    @kept
    def _own(self) -> Stretches:
        return Stretches(found for found, _ in self._hits)

    @kept
    def _denials(self) -> Stretches:
        return Stretches(fine for fine in self.found("fine") if _DENIES.match(self.words_of(fine)))

    def _reaches(self, negator: Found, found: Found) -> bool:
        if self._own.hold(negator):  # "no illness to be taken seriously"
            return False
        if negator.start > found.start:
            joined = self._before(negator).endswith(_JOINS)  # "… the first week and none in the second"
            return (self.words_of(negator) in _FROM_BEHIND and not joined) or self._answers_last(negator)
        return self._in_reach(negator, found)

    def _answers_last(self, negator: Found) -> bool:
        """'Voices no.'"""
        is_last = not self.text[negator.end - self.start :].strip()
        return is_last and self.words_of(negator) in ("no", "never")

    def _in_reach(self, negator: Found, found: Found) -> bool:
        """'without weed everything is boring': some negate only what follows closely, and none a reason."""
        if _REASON.search(self._before(found)):
            return False
        after_no_day = any(f.form == "no_day" and 0 <= negator.start - f.end < _NEAR for f in self.frequencies)
        close = (
            _FAR if after_no_day else _CLOSE.get(self.words_of(negator), _FAR)
        )  # "not a day without a thought of it"
        return found.start - negator.end < close

    def _before(self, found: Found) -> str:
        """The words just before something."""
        at = found.start - self.start
        return self.text[max(0, at - _NEAR) : at]

    @kept
    def _negations(self) -> list[Found]:
        return outermost(self.found("negation"))

    @kept
    def negators(self) -> list[Found]:
        """Words that turn a statement round; not the 'no' that only answers, nor those in 'not every day'."""
        unread = Stretches(
            self.found("not_negation", "fine", "lasting", label(self.item, UNEXPLAINED)),
            self.hedges,
            (f for f in self.frequencies if f.form != "comparison"),
            (found for found, sign in self._hits if sign > 0),  # "couldn't face" has its own
        )
        found = [n for n in self._negations if not unread.touch(n.start, n.end)]
        if found and _ANSWERS_FIRST.match(self.text) and self.words_of(found[0]) == "no":
            found = found[1:]
        return [n for n in found if not self._negates_frequency(n)]

    @property
    def lacking(self) -> list[Found]:
        """What is there because its opposite is not: 'don't feel close'."""
        turned = self.negators[0].start if self.negators else self.end
        return [found for found, sign in self.matters if sign > 0 and turned <= found.start]

    @property
    def is_never_well(self) -> bool:
        """'I'm never calm.'"""
        never = next((n.end for n in self.negators if self.words_of(n) == "never"), self.end)
        opposite = Stretches(self._named(ABSENT) if never < self.end else ())
        return any(sign > 0 and never <= found.start and opposite.hold(found) for found, sign in self.matters)

    def _negates_frequency(self, negator: Found) -> bool:
        near = beginning_in(self.frequencies, negator.end, negator.end + _NEAR)
        counts = (f for f in near if f.negated and f.form != "within")  # "haven't had four drinks in a day"
        return any(not _A_BIT.match(self.told(f)) for f in counts)  # "not a bit tired" is not tired

    def told(self, frequency: Frequency) -> str:
        return self.text[frequency.start - self.start : frequency.end - self.start]

    @kept
    def names_window(self) -> bool:
        """'In these two weeks.'"""
        return bool(_WINDOW.search(self.text))

    @kept
    def says_no(self) -> bool:
        unread = Stretches(self.found("not_negation"))
        return any(not unread.hold(found) for found in self.found("no"))

    @property
    def is_turned(self) -> bool:
        return len(self.negators) % 2 == 1

    @kept
    def stems(self) -> set[str]:
        """How the item's own words in the clause begin; enough to tell whether two clauses speak of the same."""
        present = self.found(label(self.item, PRESENT))
        return {word[:_STEM] for found in present for word in WORD.findall(self.words_of(found))}

    @property
    def says_only_that(self) -> bool:
        """It has no words of its own beside the item's."""
        words = {word for found, _ in self._hits for word in WORD.findall(self.words_of(found))}
        return words.issuperset(self.content)

    @kept
    def is_attitude(self) -> bool:
        """How it is borne, and no more: 'but I'm fine', 'it doesn't bother me', 'no complaints'."""
        told = Stretches(self.found("attitude"))
        denials = [*self.found("no"), *self.negators]
        return self.has("attitude") and not self.names_matter and all(told.hold(found) for found in denials)

    @kept
    def praises_other(self) -> bool:
        """'… but my mood was good': what is well has a name of its own, and it is not this item's."""
        fine = Stretches(self.found("fine"))
        names = any(not fine.hold(found) for found, _ in self._hits) or self.has(label(self.item, NEUTRAL))
        return bool(_ITS_NAME.search(self.text)) and self.has("fine") and not names and not self.says_no

    @kept
    def is_off_topic(self) -> bool:
        """'The weather has been awful': what is bad there is not what was asked about."""
        bad = Stretches(self.found("bad"))
        return self.has("off_topic") and all(bad.hold(found) for found, _ in self.matters)

    @kept
    def others_matter(self) -> bool:
        """Another symptom's name, and no word of this one."""
        if self.names_matter:
            return False
        known = {label(number, NAME) for number in (self.item, *topics().items[self.item].related)}
        names = (name for name in self.marks if name.endswith("/" + NAME) and name not in known)
        return any(not self._idioms.hold(found) for found in self.found(*names))

    @kept
    def value(self) -> Sign:
        """For or against the item, as far as the clause itself tells."""
        signs = {sign for _, sign in self.matters}
        if topics().items[self.item].both_sides and -1 in signs:
            return -1
        if 1 in signs:
            return 1
        return -1 if signs else 0

    def value_near(self, frequency: Placed) -> Sign:
        """What the nearest of the item's words says."""
        if not self.matters or topics().items[self.item].both_sides:
            return self.value
        at = bisect_left(self.matters, frequency.start, key=lambda hit: hit[0].start)
        _, sign = min(self.matters[max(0, at - 2) : at + 2], key=lambda hit: _distance(hit[0], frequency))
        return sign

    @kept
    def who(self) -> Who:
        if self.has("asks_me") and not self.has("answers_no"):
            return "other"
        if self.has("reported") or (self.matters and _ME.search(self.text)):
            return "self"
        firsts = [(m, who) for name, who in _WHO if (m := self._first_subject(name))]
        if not firsts:
            return "unsaid"
        subject, who = min(firsts, key=lambda first: first[0].start)
        is_someone = who == "other" and bool(_SOMEONE.match(self.words_of(subject)))
        return "thing" if is_someone and self.item in _DONE_BY_OTHERS else who

    def _first_subject(self, name: str) -> Found | None:
        """Not a person that comes after a preposition ('with my wife'), nor the 'this' of 'this morning'."""
        found_all = self.found(name)
        often = Stretches(self.frequencies if found_all else ())
        left_over = Stretches(self.found("leftover") if found_all else ())
        for found in found_all:
            before = WORD.findall(self._before(found))
            after_preposition = name == "person" and before and before[-1] in before_person()
            is_no_person = name == "person" and left_over.hold(found)  # "on all the others it hurt"
            if not after_preposition and not is_no_person and not (name == "thing" and often.hold(found)):
                return found
        return None

    @kept
    def content(self) -> list[str]:
        """The words that are neither filler nor part of a frequency or of an answer."""
        told = Stretches(self.frequencies, self.found("yes", "no"), self.hedges)
        begins = max(0, self.covered - self.start)
        words = (
            m for m in WORD.finditer(self.text, begins) if not told.touch(self.start + m.start(), self.start + m.end())
        )
        return [m[0] for m in words if m[0] not in fillers() and not m[0].isdigit() and not m[0].endswith("n't")]

    @property
    def is_bare(self) -> bool:
        """Nothing but how often, yes or no: it speaks of what was asked."""
        return not self.content

    @property
    def is_mere_no(self) -> bool:
        return bool(_MERE_NO.match(self.text))

    @property
    def is_question(self) -> bool:
        return self.ending == "?"

    @property
    def asks_how_often(self) -> bool:
        """'Every day?'"""
        return self.is_question and self.is_bare and any(f.grade != "vague" for f in self.frequencies)


def denies_another_part(denied: Part, counted: list[Part]) -> bool:
    """'Worried most days. No panic though.': an item that names several things is there with any one of them; not
    '…, but that's hardly unpleasant', '… nothing frightened me', nor where only what is denied is the item's name."""
    if denied.value >= 0 or topics().items[denied.item].both_sides or denied.has(label(denied.item, ABSENT), "thing"):
        return False
    name = label(denied.item, NAME)
    if denied.has(name) and not any(part.has(name) for part in counted):
        return False
    if denied.has("they") or any(denied.words_of(negator) in _FROM_BEHIND for negator in denied.negators):
        return False
    counts = {found for part in counted for found in part.stems}
    return bool(counts) and bool(denied.stems) and not counts & denied.stems


def _carried_on(hits: list[tuple[Found, Sign]], text: str, start: int) -> list[tuple[Found, Sign]]:
    """What follows at once, or after 'or', is turned together with what it follows: 'without checking or tapping'."""
    for at, (found, _) in enumerate(hits[1:], start=1):
        before, sign = hits[at - 1]
        between = text[before.end - start : found.start - start]
        if sign < 0 and (len(between) <= 1 or _OR.fullmatch(between)):
            hits[at] = (found, sign)
    return hits


def _distance(found: Found, frequency: Placed) -> int:
    return max(0, found.start - frequency.end, frequency.start - found.end)
