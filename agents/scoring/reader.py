"""A second reader beside the rules: a small encoder that has learned from labelled answers what no table can list.

The rules count well and do not know every way of telling a symptom; the encoder knows more ways and counts badly. So it
is told what the rules counted and made of it, and reads the answer with that. `python -m tools.train scorer` makes it
(`reader.onnx`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from agents.language.encoder import Encoder
from agents.scoring.claim import NOT_DAYS
from agents.scoring.scale import score_of, score_of_days
from instruments.level1 import level1

if TYPE_CHECKING:
    from agents.language.frequency import Frequency
    from agents.scoring.answer import Answer
    from agents.scoring.weigh import Finding

_ENCODER = Encoder("agents.scoring")
_NUMBERS = ("zero", "one", "two", "three", "four")
_SURENESS = ((2, "sure"), (4, "clear"), (7, "guess"), (10, "nothing"))
_MOST_COUNTS = 8
_ENDS = " .!…"  # how a sentence ends says nothing of how often


@dataclass(frozen=True)
class Opinion:
    """How likely each score is, and how likely that the answer leaves it open; whether all of it was read."""

    scores: tuple[float, ...]
    vague: float
    is_of_whole: bool = True

    @property
    def score(self) -> int:
        return int(np.argmax(self.scores))


def opinion(answer: Answer, finding: Finding) -> Opinion | None:
    """Of an answer that is longer than what the encoder reads, of the sentences that count or name the matter; None
    where these are too long as well, or there are none. What is cut off unseen could say the opposite."""
    matter, whole = about(answer, finding), answer.reading.text.rstrip(_ENDS)
    is_whole = _ENCODER.holds(matter, whole)
    text = whole if is_whole else _telling(answer)
    if not text or not (is_whole or _ENCODER.holds(matter, text)):
        return None
    *scores, vague = _ENCODER.read(matter, text)
    powers = np.exp(np.array(scores) - max(scores))
    return Opinion(tuple((powers / powers.sum()).tolist()), float(1 / (1 + np.exp(-vague))), is_whole)


def _telling(answer: Answer) -> str:
    told = (s for s in answer.sentences.values() if any(part.frequencies or part.names_matter for part in s))
    return ". ".join(answer.reading.text[s[0].start : s[-1].end].strip() for s in told)


def forget() -> None:
    _ENCODER.forget()


def about(answer: Answer, finding: Finding | None) -> str:
    """What the answer is about, what was counted in it, and what the rules made of that; `None` keeps the last back."""
    counted = [f for part in answer.parts for f in part.frequencies if f.form not in NOT_DAYS]
    told = f"{level1().item(answer.item).topic} ; {' '.join(map(_said, counted[:_MOST_COUNTS]))}"
    return told if finding is None else f"{told} ; {_NUMBERS[score_of(finding)]} {_sureness(finding)}"


def _said(frequency: Frequency) -> str:
    number = "vague" if frequency.grade == "vague" else _NUMBERS[score_of_days(frequency.days)]
    return f"not {number}" if frequency.negated else number


def _sureness(finding: Finding) -> str:
    return next(word for limit, word in _SURENESS if finding.ambiguity <= limit)
