"""The scorer's second reader, trained on labelled answers together with what the rules counted in them.

Answers that the rules were written on would teach it to believe them too much: of those it is told the counts alone.
"""

from __future__ import annotations

import json
import random
import re
import sys
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from agents.scoring import reader as scoring_reader
from agents.scoring.answer import Answer
from agents.scoring.rules import Read, read_by_rules
from agents.scoring.scope import scopes
from benchmark.personas import ITEMS, load_personas
from benchmark.simulator import SimulatedPatient
from instruments.profile import SessionStatus
from tools.figures import DATA
from tools.train.further import resumed
from tools.train.network import RATE, Reader, taught

LAYERS, EPOCHS, SMOOTH = 6, 4, 0.05
SIMULATED, SIMULATED_SEED = "sim", 5
RULES_KNOW = frozenset("amnopqrs") | {f"s{number}" for number in range(8, 21)} | {"s23", SIMULATED}
KEPT_BACK = 0.3
BEST_FIT_WEIGHT = 0.3
OUTPUTS = 6
FURTHER_OLD, FURTHER_TIMES, FURTHER_EPOCHS, FURTHER_RATE = 8000, 3, 2, 1e-4
SURE = 0.6
MOVED = 2000
NEAR = (
    (1, 2, 11, 18, 19, 20),
    (2, 14),
    (4, 5, 14),
    (6, 7, 8, 16, 17),
    (9, 10),
    (12, 13, 16, 18),
    (15, 18),
    (21, 22, 23),
)
"""Items that one answer may be about at once: from these to one another none is moved."""


@dataclass(frozen=True)
class Example:
    id: str
    read: Read
    score: int
    is_vague: bool
    is_scored: bool = True
    """Else it only teaches that nothing is clear here."""

    @property
    def author(self) -> str:
        return self.id.partition("-")[0]


def labelled() -> list[Example]:
    return [
        Example(
            row["id"],
            read_by_rules(row["item"], row["question"], row["answer"]),
            row["score"],
            row["clarity"] != "clear",
        )
        for row in _rows()
    ]


def _rows() -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (DATA / "score_tune.jsonl").read_text("utf-8").splitlines()]
    return [row for row in rows if "follow_up_answer" not in row]


def moved(most: int = MOVED) -> list[Example]:
    """Clear answers that name their own matter, as if another item had been asked: how often headaches come tells
    nothing of voices, however plainly it is said."""
    chance = random.Random(0)
    given = [row for row in _rows() if row["clarity"] == "clear" and row["score"]]
    found: list[Example] = []
    for row in chance.sample(given, len(given)):
        item = chance.choice([other for other in ITEMS if not _are_near(row["item"], other)])
        if len(found) < most and _names_matter(own := read_by_rules(row["item"], "", row["answer"])):
            read = read_by_rules(item, "", row["answer"])
            if not _names_matter(read) and any(part.frequencies for part in own.answer.parts):
                found.append(Example(f"moved-{row['id']}", read, 0, is_vague=True, is_scored=False))
    return found


def told_elsewhere() -> list[Example]:
    """Clear denials without what was said of oneself and now: what is left tells of others, or of a time before."""
    found = []
    for row in _rows():
        if row["clarity"] == "clear" and not row["score"]:
            answer = read_by_rules(row["item"], row["question"], row["answer"]).answer
            if text := _without_own(answer):
                read = read_by_rules(row["item"], row["question"], text)
                found.append(Example(f"elsewhere-{row['id']}", read, 0, is_vague=True))
    return found


def _without_own(answer: Answer) -> str:
    """The leading sentences all of whose clauses are of others or of a time before; empty where all are, or none."""
    found = scopes(answer)
    away, sentences = found.others | found.past, list(answer.sentences.values())
    elsewhere = list(takewhile(lambda parts: all(part.index in away for part in parts), sentences))
    if not elsewhere or len(elsewhere) == len(sentences) or not any(p.matters or p.frequencies for p in elsewhere[0]):
        return ""
    return answer.reading.original[: answer.reading.span(0, elsewhere[-1][-1].end)[1]]


def _are_near(one: int, other: int) -> bool:
    return one == other or any(one in near and other in near for near in NEAR)


def _names_matter(read: Read) -> bool:
    return any(part.names_matter for part in read.answer.parts)


def simulated() -> list[Example]:
    """What the synthetic patients say when asked how often, which is clear."""
    found = []
    for name, persona in load_personas().items():
        if persona.outcome is SessionStatus.COMPLETED:
            patient = SimulatedPatient(persona, SIMULATED_SEED)
            for item in ITEMS:
                read = read_by_rules(item, "", patient.answer(item, is_follow_up=True, question=""))
                found.append(Example(f"{SIMULATED}-{name}-{item}", read, persona.scores[item], is_vague=False))
    return found


def trained(examples: list[Example], seed: int = 0) -> Reader:
    torch.manual_seed(seed)
    return _taught(Reader(OUTPUTS, LAYERS), examples, random.Random(seed), epochs=EPOCHS)


def _taught(
    reader: Reader, examples: list[Example], chance: random.Random, *, epochs: int, rate: float = RATE
) -> Reader:
    def loss(_: int, batch: list[Example]) -> Tensor:
        return _loss(reader, batch, chance)

    return taught(reader, examples, loss, epochs=epochs, chance=chance, rate=rate)


def _loss(reader: Reader, batch: list[Example], chance: random.Random) -> Tensor:
    outputs = reader.read([_shown(example, chance) for example in batch])
    scores = torch.tensor([example.score for example in batch])
    vague = torch.tensor([float(example.is_vague) for example in batch])
    by_score = functional.cross_entropy(outputs[:, :5], scores, label_smoothing=SMOOTH, reduction="none")
    by_clarity = functional.binary_cross_entropy_with_logits(outputs[:, 5], vague * (1 - SMOOTH) + SMOOTH / 2)
    weights = torch.tensor([_score_weight(example) for example in batch])
    return (by_score * weights).mean() + by_clarity


def _score_weight(example: Example) -> float:
    if not example.is_scored:
        return 0.0
    return BEST_FIT_WEIGHT if example.is_vague else 1.0


def _shown(example: Example, chance: random.Random) -> tuple[str, str]:
    kept_back = example.author in RULES_KNOW or chance.random() < KEPT_BACK
    answer, draw = example.read.answer, chance.random()
    text = answer.reading.text
    if draw < 0.12:
        text = re.sub(r"[.,!?;:]", "", text)
    elif draw < 0.2:
        text = text.replace("'", "")
    return scoring_reader.about(answer, None if kept_back else example.read.finding), text


def predicted(reader: Reader, examples: list[Example]) -> dict[str, list[float]]:
    with torch.no_grad():
        return {
            e.id: reader.read([(scoring_reader.about(e.read.answer, e.read.finding), e.read.answer.reading.text)])[
                0
            ].tolist()
            for e in examples
        }


def held_out() -> dict[str, list[float]]:
    """What readers say of answers whose authors they have not learned from: the limits are chosen on these."""
    answers = labelled()
    fresh = sorted({answer.author for answer in answers} - RULES_KNOW)
    found: dict[str, list[float]] = {}
    for held in (fresh[::2], fresh[1::2]):
        reader = trained([a for a in answers if a.author not in held] + simulated())
        found |= predicted(reader, [a for a in answers if a.author in held])
    return found


def final() -> Reader:
    return trained(labelled() + moved() + told_elsewhere() + simulated())


def further(path: Path, authors: frozenset[str]) -> Reader:
    """The reader in use, taught several times what it errs on, among what keeps it from forgetting.

    Named authors' answers are all kept; what is hard is looked for in everything.
    """
    torch.manual_seed(0)
    chance, answers = random.Random(0), labelled()
    new = [answer for answer in answers if answer.author in authors]
    old = [answer for answer in answers if answer.author not in authors] + simulated()
    hard = [answer for answer in new + old if _is_hard(answer)]
    sys.stdout.write(f"{len(hard)} hard ones among {len(new) + len(old)}\n")
    sys.stdout.flush()
    reader = resumed(Reader(OUTPUTS, LAYERS), path)
    given = hard * FURTHER_TIMES + new + chance.sample(old, FURTHER_OLD) + told_elsewhere() + moved()
    return _taught(reader, given, chance, epochs=FURTHER_EPOCHS, rate=FURTHER_RATE)


def _is_hard(example: Example) -> bool:
    found = scoring_reader.opinion(example.read.answer, example.read.finding)
    if found is None:  # too long to be read, hence nothing to learn from
        return False
    wrong_score = found.scores[example.score] < SURE and not example.is_vague
    return wrong_score or (found.vague > 1 - SURE) != example.is_vague
