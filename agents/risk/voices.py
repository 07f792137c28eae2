"""Whom a voice that gives orders is after: the patient's life, the patient's body, or somebody else."""

from __future__ import annotations

import re

from agents.risk.message import Hit
from agents.risk.tables import Concern

_AFTER = 24  # characters behind the order, in which its object stands
_OTHERS_END = re.compile(
    r"\b(?:(?:my|the|that|this) (?!i\b)\w+|he|she|they|everyone|everybody) "
    r"(?:must|has to|have to|needs? to|should|is to|are to|ought to) (?:be )?\w+"
    r"|\b(?:him|her|them|(?:my|the|that) \w+) (?:dead|gone)\b"
)
_ONES_BODY = r"(?:my|your|the) (?:own |bad |left |right )?(?:arms?|legs?|wrists?|thighs?|skin|hands?|face|head|body)"
_TO_HURT_ONESELF = re.compile(
    rf"\b(?:hurt|harm|cut|burn|scratch|punish|bite|hit|bash|starve) (?:myself|yourself|{_ONES_BODY})\b"
    r"|\b(?:cut|burn)"
    r"(?! (?:him|her|them|it|my|his|their|the|that|this|these|those|a|an|one|some|people|everyone|down)\b)"
)
_TO_DIE = re.compile(
    r"\b(?:myself|yourself|(?:my|your) (?:own )?life|jump|die|end (?:it|things|everything)|step (?:in front|off)"
    r"|be dead|me dead|overdose|take all|take the pills)\b"
)
_UNSAID = re.compile(r"\bdo (?:it|that)\b")


def commanded(hit: Hit) -> Concern | None:
    """None for an order that leaves it open: 'do it'."""
    words = hit.sentence.text[hit.start : min(hit.end + _AFTER, max(hit.end, hit.clause.end))]
    if _OTHERS_END.search(words):
        return "violence"
    if _TO_HURT_ONESELF.search(words):
        return "self_harm"
    if _TO_DIE.search(words):
        return "suicide"
    return None if _UNSAID.search(words) else "violence"
