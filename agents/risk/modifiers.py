"""What lowers a cue: who it is about, whether it is denied, only thought, long past, or hangs on a condition.

`LOWERING` is the one place for the order. Each line is asked in turn of a hit that is still above the line's level; a
modifier looks only at the hit's own clause, or at its sentence where the table says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from agents.language import Found
from agents.risk.message import Hit, Sentence
from agents.risk.tables import answers
from agents.risk.verdict import RANK, Level

_OWN = re.compile(
    r"\b(?:myself|my self|my (?:own )?life|by my own hand|i|i'm|i've|i'll|i'd|am|me dead|me gone|without me)\b"
)
_ME = re.compile(r"\bme\b")
_BEGINS_WITH_SELF = re.compile(r"(?:i|i'm|i've|i'll|i'd|we|we'll|we're|my|am)\b")
_CERTAIN = re.compile(r"\b(?:going to|will|'ll|i'll|tonight|tomorrow|decided|intend|plan|planning|about to)\b")
_SAID_IN_JEST = re.compile(r"\b(?:kill|killing|murder|murdering)\b")
_HANDED_ON = re.compile(r"\s*(?:or|nor|let alone|any|anything)\b")
_TOLD_TO = re.compile(r"\b(?:told|tells?|telling|ordered|dared|urged)(?: me| us)? to\b")
_UP_TO_WORDS = re.compile(
    r"(?: to)?(?: me| us| him| her| them| everyone| his \w+| her \w+| my \w+)?(?: in (?:an?|his|her|their) \w+)?"
    r"(?: that| like)?\W*(?:i|i'm|i am|im|i'll|i will|we|we're|i've)?(?: going to| gonna| about to| just)?\s*"
)
_AS_SAID = re.compile(r".*\b(?:as|like|because|what|since)\b")  # 'like she said, I'm …' is one's own
_OPENING, _CLOSING = re.compile(r"(?<!\w)'(?=\w)"), re.compile(r"(?<=[\w.!?,])'(?!\w)")
_LONE_NO = re.compile(
    r"\s*(?:no|nope|nah|never|none|not me|not at all|definitely not|absolutely not|god no|not really)\s*$"
)
_TAKEN_BACK = re.compile(
    r"\s*(?:but|though|although|however|yet|and|no|,|still|obviously|of course|honestly|\s)*(?:i|i'm|i'd|i'll)?\s*"
    r"(?:do not|don't|won't|will not|wouldn't|would not|couldn't|never|never would|never will|haven't|not|didn't|am not"
    r"|i'd never|would never|could never)"
    r"(?:\s+(?:do (?:it|that|so|anything)|act on (?:it|them|that)|go through with (?:it|that)|actually|really|ever"
    r"|going to|of course|want to|mean it|though|either|follow through|be able to|have the guts|dare)"
    r"(?:\s+do (?:it|that))?)*\s*$"
)
_AFFIRMS = re.compile(
    r"\s*(?:yes|yeah|yep|yup|i do|i am|i did|i have|sometimes|maybe|a bit|often|true|(?:he|she|they)(?:'s|'re) right)\b"
)
_DENIES = re.compile(
    r"\s*(?:no|nope|nah|never|not|none|i don't|i'm not|i do not|i haven't|i wouldn't|i never|i have not|god no|hell no"
    r"|course not|of course not|absolutely not|definitely not|the answer is no|i'd never|i won't|nothing)\b"
)
_AFTER_DENIAL = re.compile(
    r"\s*(?:(?:is|are|was|were|has|have|had|would|will|simply|just|really|that|ever|honestly|definitely|it)\s+){0,3}"
    r"(?:isn't|not|aren't|never|wasn't|weren't|hasn't|haven't|doesn't|don't|didn't|wouldn't|won't)\s+"
    r"(?:(?:been|really|ever|even|once|at all|be|currently)\s+){0,2}"
    r"(?:an option|something|on the cards|in my (?:nature|mind|head|plans)|on my mind|what i want|my thing|for me"
    r"|an issue|a problem|a thing|a concern|enter|entered|cross|crossed|occur|occurred|apply|interest|happen|happened"
    r"|appeal|come (?:up|into|to mind)|came (?:up|into)|my (?:plan|intention|way|style))\b"
)


def lowered(hit: Hit) -> Hit:
    """The hit at the level its modifiers leave it. A core or support that one of them blocks counts for nothing."""
    if hit.cue.level in ("core", "support"):
        blocked = any(applies(hit) for applies in _BLOCKING)
        return replace(hit, applied=("blocked",)) if blocked else hit
    for name, applies, level in LOWERING:
        if RANK[hit.level] > RANK[level] and applies(hit):
            hit = replace(hit, level=level, applied=(*hit.applied, name))
    return hit


def _before(hit: Hit, name: str) -> list[Found]:
    """The marks in the hit's scope, before it; 'sometimes I want' reaches over the fresh start that it contains."""
    begin = hit.sentence.scope(hit)[0]
    return [mark for mark in hit.sentence.marks(name, hit.clause.start, hit.start) if begin < mark.end]


def is_story(hit: Hit) -> bool:
    """A film, a game, a dream. A game is not what one does with a real weapon, nor on a given day."""
    sentence = hit.sentence
    if hit.cue.concern == "substance":
        return False
    if sentence.has("play_fights") and hit.cue.concern == "violence":
        return True
    is_played = hit.cue.concern == "violence" or (hit.cue.concern == "suicide" and not _OWN.search(hit.words))
    if is_played and _is_in_a_game(hit):
        return hit.cue.level != "stop" or not sentence.has("earnest")
    if sentence.marks("dreams", hit.clause.start, hit.start):
        return not _CERTAIN.search(hit.words)
    if hit.cue.concern == "voices" and all(hit.start <= m.start < hit.end for m in sentence.marks("stories")):
        return False  # 'the radio told me to …'
    return sentence.has("stories") and not (
        hit.cue.level == "stop" or _OWN.search(hit.words) or sentence.has("looked_up")
    )


def _is_in_a_game(hit: Hit) -> bool:
    """A game named in its clause, or played in its sentence: 'he broke my console' makes no game of a threat."""
    sentence = hit.sentence
    if not sentence.has("games"):
        return False
    if sentence.marks("games", hit.clause.start, hit.clause.end):
        return True
    in_earnest = hit.cue.level == "stop" or hit.cue.attempt
    return not in_earnest or sentence.has("playing") or not sentence.has("game_things")


def is_of_another(hit: Hit) -> bool:
    """Whose act or wish it is: the last person named before it, in its clause or, failing that, its sentence."""
    if hit.cue.concern == "bystander" or (hit.cue.concern == "suicide" and hit.cue.inherent and _ME.search(hit.words)):
        return False
    if _OWN.search(hit.words) or _BEGINS_WITH_SELF.match(hit.words):
        return _is_reported(hit)
    if hit.cue.concern == "voices":
        return False
    person = _last_person(hit.sentence, hit.start, hit.clause.start)
    return person == ("selves" if _is_of_victim(hit) else "others")


def _is_of_victim(hit: Hit) -> bool:
    """'He won't leave it alive': the other is whom it is done to, unless another says so."""
    if hit.cue.concern != "violence":
        return False
    about_victim = hit.cue.inherent or any(mark.start < hit.end for mark in hit.sentence.marks("victims", hit.start))
    return about_victim and not _is_reported(hit)


def _is_reported(hit: Hit) -> bool:
    """Somebody else said it: 'got told to …', 'my ex said I should …', 'in the film he says I will …'."""
    if _TOLD_TO.search(hit.words):
        return hit.cue.concern != "voices"
    begin = hit.clause.start
    if hit.cue.level == "stop" and _OWN.search(hit.words):
        if not hit.sentence.has("stories"):
            return False
        begin = hit.sentence.scope(hit)[0]  # 'mum says watch telly I'm going to …' is one's own
    speech = hit.sentence.marks("speech", begin, hit.start)
    return bool(speech) and _last_person(hit.sentence, speech[-1].start, hit.clause.start) == "others"


def is_reported_speech(hit: Hit) -> bool:
    """Somebody else's own words, right behind their 'said': 'she wrote: I'm ending it'. Or a part that is played."""
    sentence = hit.sentence
    if sentence.has("stories") and _opens_quotation(sentence.plain[: hit.start]):
        return True
    speech = [mark for mark in sentence.marks("speech", 0, hit.start) if mark.end <= hit.start]
    if not speech or not _UP_TO_WORDS.fullmatch(sentence.plain[speech[-1].end : hit.start]):
        return False
    begin = sentence.clauses[sentence.clause_index(speech[-1].start)].start
    if _AS_SAID.match(sentence.plain[begin : speech[-1].start]):
        return False
    return _last_person(sentence, speech[-1].start, begin) == "others"


def _opens_quotation(text: str) -> bool:
    return len(_OPENING.findall(text)) > len(_CLOSING.findall(text)) or text.count('"') % 2 == 1


def _last_person(sentence: Sentence, before: int, clause_start: int) -> str | None:
    for begin, end in ((clause_start, before), (0, clause_start)):
        last = [
            (mark.end, name)
            for name in ("others", "selves")
            for mark in sentence.marks(name, begin, end)[-3:]
            if mark.end <= end
        ]
        if last:
            return max(last)[1]
    return None


def is_asked(hit: Hit) -> bool:
    """'You always ask if I want to kill myself. I don't.' — and one's own question with its answer."""
    sentence, following = hit.sentence, hit.sentence.following
    if sentence.marks("asked", 0, hit.start) and not _CERTAIN.search(hit.words):
        answers_given = [
            clause.of(sentence.text) for clause in sentence.clauses[sentence.clause_index(hit.start) + 1 :]
        ]
        answers_given += [following.text] if following else []
        return not any(_AFFIRMS.match(answer) for answer in answers_given)
    return sentence.number in sentence.message.questions_met_with(_DENIES)  # 'Hurt myself? On purpose? No!'


def is_negated(hit: Hit) -> bool:
    """An odd number of negations before it in its scope, handed on ('or', 'any'), or a denial right after it."""
    if hit.cue.inherent:
        return False
    sentence, clause = hit.sentence, hit.clause
    count = _count(sentence, _before(hit, "negators"))
    index = sentence.clause_index(hit.start)
    if count == 0 and index and _HANDED_ON.match(sentence.text, clause.start):
        previous = sentence.clauses[index - 1]
        count = _count(sentence, sentence.marks("negators", previous.start, previous.end))
    return bool(count % 2) or bool(_AFTER_DENIAL.match(sentence.text[hit.end : clause.end])) or _is_answered_no(hit)


def _count(sentence: Sentence, negations: list[Found]) -> int:
    """Negations, where 'neither … nor' is one and so are 'no … and never' and 'not … and have never'."""
    words = [sentence.text[mark.start : mark.end] for mark in negations]
    if any(word in ("nor", "neither", "no", "none") for word in words):
        return 1
    joint = sentence.text.rfind(" and ", 0, negations[-1].start) if negations else -1
    return sum(mark.start > joint for mark in negations)


def _is_answered_no(hit: Hit) -> bool:
    """'Hurting myself, no.'"""
    sentence = hit.sentence
    index = sentence.clause_index(hit.start) + 1
    if hit.cue.level == "stop" or index >= len(sentence.clauses) or hit.clause.end - hit.end > 20:
        return False
    return _LONE_NO.match(sentence.clauses[index].of(sentence.text)) is not None


def is_cleanly_denied(hit: Hit) -> bool:
    if not is_negated(hit):
        return False
    begin, end = hit.sentence.scope(hit)
    return not hit.sentence.marks("hedges", begin, end)


def is_thought(hit: Hit) -> bool:
    """Thought of, imagined or feared; or between quotation marks, as a voice or a thought is quoted."""
    quoted = hit.sentence.plain[: hit.start].count('"') % 2 == 1
    return quoted or bool(_before(hit, "thought"))


def is_taken_back(hit: Hit) -> bool:
    """'I want to kill myself but I won't.' What is certain is not taken back by that."""
    if _CERTAIN.search(hit.words):
        return False
    sentence = hit.sentence
    following = sentence.clause_index(hit.end - 1) + 1
    rest = [clause.of(sentence.text) for clause in sentence.clauses[following : following + 2]]
    if not rest and sentence.following:
        rest = [sentence.following.text]
    return any(_TAKEN_BACK.match(text) for text in rest)


def is_past(hit: Hit) -> bool:
    """Long ago. A time named before a fresh start ('I used to, now I'm going to') does not hold for what is to come."""
    begin, end = hit.sentence.scope(hit)
    if hit.sentence.marks("past", begin, end) or _is_told(hit):
        return True
    return not _CERTAIN.search(hit.words) and bool(hit.sentence.marks("past", hit.clause.start, hit.clause.end))


def _is_told(hit: Hit) -> bool:
    """'I tried in May'; 'I'm going to in May' lies ahead."""
    place = hit.clause.start, hit.clause.end
    return bool(hit.sentence.marks("maybe_past", *place) and hit.sentence.marks("past_tense", *place))


def is_over(hit: Hit) -> bool:
    return hit.cue.only_now and is_past(hit)


def is_open_condition(hit: Hit) -> bool:
    """A threat that hangs on a condition, with neither a date nor means."""
    return hit.sentence.has("conditions") and not hit.sentence.has("earnest")


def is_idle(hit: Hit) -> bool:
    return bool(_before(hit, "thought"))


def is_joke(hit: Hit) -> bool:
    """Laughed off, and without a day or means. To stab somebody is no joke; for 'kill' see `raising`."""
    if not hit.sentence.has("jokes") or hit.sentence.has("dated"):
        return False
    return hit.cue.id != "violence-intent" or _SAID_IN_JEST.search(hit.words) is not None


def is_lone_no(sentence: Sentence) -> bool:
    """'No.', 'Not at all.'"""
    return _LONE_NO.fullmatch(sentence.text.strip(" .!,")) is not None


def is_denied_answer(sentence: Sentence) -> bool:
    """The sentence begins with a denial."""
    return answers()["denied"].match(sentence.words) is not None


REPORTED = "reported"
_Modifier = tuple[str, Callable[[Hit], bool], Level]

LOWERING: tuple[_Modifier, ...] = (
    # name, when it applies, what it lowers to
    ("story", is_story, "none"),  # sentence: film, game; clause: dream
    ("other", is_of_another, "none"),  # clause, then sentence: whose act or wish
    ("long-past", is_over, "none"),  # clause: use that counts only now
    ("asked", is_asked, "none"),  # sentence and its answer in the next
    ("denied", is_cleanly_denied, "none"),  # clause: negated without a doubt
    (REPORTED, is_reported_speech, "flag"),  # sentence: another's words, or a part in a play
    ("denied-with-doubt", is_negated, "flag"),  # clause: "not yet", "not tonight"
    ("thought", is_thought, "flag"),  # clause
    ("taken-back", is_taken_back, "flag"),  # next clause or sentence: "but I won't"
    ("past", is_past, "flag"),  # clause
    ("conditional", is_open_condition, "flag"),  # sentence
    ("joke", is_joke, "flag"),  # sentence
)
_BLOCKING: tuple[Callable[[Hit], bool], ...] = (is_story, is_of_another, is_negated, is_past, is_idle)
