"""The risk check's second reader, and its teacher.

The teacher, six layers, is trained first on whole messages, then on all their stretches. The gravest stretch speaks for
its message, then as in use. So a stop needs one stretch that says it, and a harmless message teaches that none of its
sentences is a danger by itself. The reader in use learns from what the teacher says of very many texts.
"""

from __future__ import annotations

import json
import random
import re
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from agents.language import read
from agents.language.sentences import joined
from agents.risk.message import Message
from agents.risk.parts import line_parts, parts
from agents.risk.reader import thorough, topic
from tools.figures import DATA, ordinary
from tools.train.distil import distilled, pool, taught_lines
from tools.train.further import resumed
from tools.train.network import RATE, Reader, taught
from tools.train.sentence_graph import read_back
from tools.train.sentences import SentenceReader, Shape
from tools.train.variants import Told

LAYERS, SMOOTH = 6, 0.04
WHOLE_EPOCHS, EPOCHS = 2, 3
MOST = 24  # stretches of a turn
ORDINARY = 2400
FURTHER_KEPT, FURTHER_ANSWERED, FURTHER_ORDINARY = 4000, 1200, 300
FURTHER_TIMES, FURTHER_RATE = 3, 6e-5
SURE = 2.0  # log-odds
LEVELS = {"none": 0, "flag": 1, "stop": 2}
FLAGS = ("suicidalityMentioned", "selfHarmIdeation", "violenceRisk", "substanceAbuseSignal")
OUTPUTS = len(LEVELS) + len(FLAGS)
WEIGHTS = (1.0, 1.0, *(0.125,) * len(FLAGS))
NO_STOP = (1.0, *(0.0,) * (len(WEIGHTS) - 1))
"""Of what patients answered in interviews that nobody had to stop, this alone is known."""
POOL, FURTHER_POOL, FORMS = 450_000, 300_000, 2
PUPIL_FURTHER_EPOCHS, PUPIL_FURTHER_RATE = 2, 6e-4
PUPIL = Shape(outputs=2 + len(FLAGS), width=192, layers=2, inner=2, heads=6)
PUPIL_WEIGHTS = (1.0, 1.0, *(0.15,) * len(FLAGS))


@dataclass(frozen=True)
class Example:
    id: str
    text: str
    item: int
    level: int
    flags: tuple[float, ...]
    weights: tuple[float, ...] = WEIGHTS

    @property
    def author(self) -> str:
        """Turns of one author are more alike than the world is."""
        return self.id.partition("-")[0]


def labelled() -> list[Example]:
    rows = [json.loads(line) for line in (DATA / "risk_tune.jsonl").read_text("utf-8").splitlines()]
    return [_example(row) for row in rows]


def _example(row: dict[str, Any]) -> Example:
    flags = tuple(float(name in row["flags"]) for name in FLAGS)
    return Example(row["id"], read(row["text"]).text, row["item"] or 0, LEVELS[row["level"]], flags)


def harmless() -> list[Example]:
    different = {turn.text.lower(): turn for turn in ordinary()}
    turns = random.Random(0).sample(list(different.values()), ORDINARY)
    return [Example(f"o-{n}", read(turn.text).text, turn.item, 0, (0.0,) * 4) for n, turn in enumerate(turns)]


def answered() -> list[Example]:
    """Answers of whole interviews, and answers that were labelled for their scores: none of them is a stop."""
    interviews = [json.loads(line) for line in (DATA / "impressions_tune.jsonl").read_text("utf-8").splitlines()]
    scored = [json.loads(line) for line in (DATA / "score_tune.jsonl").read_text("utf-8").splitlines()]
    given = [(int(item), text) for one in interviews for item, texts in one["answers"].items() for text in texts]
    given += [(row["item"], row["answer"]) for row in scored]
    different = dict.fromkeys((item, read(text).text) for item, text in given)
    return [Example(f"answer-{n}", text, item, 0, (0.0,) * 4, NO_STOP) for n, (item, text) in enumerate(different)]


def trained(examples: list[Example], seed: int = 0) -> Reader:
    torch.manual_seed(seed)
    return _taught(Reader(OUTPUTS, LAYERS), examples, random.Random(seed), whole_epochs=WHOLE_EPOCHS, epochs=EPOCHS)


def _taught(
    reader: Reader,
    examples: list[Example],
    chance: random.Random,
    *,
    whole_epochs: int,
    epochs: int,
    rate: float = RATE,
) -> Reader:
    neutral = _neutral()

    def loss(epoch: int, batch: list[Example]) -> Tensor:
        texts = [(example, varied(example, chance, neutral)) for example in batch]
        return _loss(reader, texts, whole=epoch < whole_epochs)

    return taught(reader, examples, loss, epochs=epochs, chance=chance, rate=rate)


def _neutral() -> list[str]:
    return [e.text.rstrip(".") for e in harmless() if 10 < len(e.text) < 90 and "day" not in e.text]


def _loss(reader: Reader, batch: list[tuple[Example, str]], *, whole: bool) -> Tensor:
    odds = gravest(reader, [(e.item, [text] if whole else stretched(text)) for e, text in batch])
    wanted = torch.tensor([[float(e.level == 2), float(e.level >= 1), *e.flags] for e, _ in batch])
    soft = wanted * (1 - SMOOTH) + SMOOTH / 2
    losses = functional.binary_cross_entropy_with_logits(odds, soft, reduction="none")
    return (losses * torch.tensor([e.weights for e, _ in batch])).sum(1).mean()


def gravest(reader: Reader, turns: list[tuple[int, list[str]]]) -> Tensor:
    """For each turn, over its stretches: the greatest log-odds of a stop, of any risk, and of each concern."""
    owners = [number for number, (_, texts) in enumerate(turns) for _ in texts]
    outputs = reader.read([(topic(item), text) for item, texts in turns for text in texts])
    stop = outputs[:, 2] - outputs[:, :2].logsumexp(1)
    risk = outputs[:, 1:3].logsumexp(1) - outputs[:, 0]
    odds = torch.cat([stop[:, None], risk[:, None], outputs[:, len(LEVELS) :]], 1)
    index = torch.tensor(owners)[:, None].expand_as(odds)
    return torch.full((len(turns), odds.shape[1]), -1e4).scatter_reduce(0, index, odds, "amax")


def stretched(text: str) -> list[str]:
    """What the risk check would show the reader of this message."""
    message = Message(read(text))
    told = ([part.text for part in shown] for shown in (parts(message), line_parts(message)))
    return list(dict.fromkeys(one for sentences in told for one in joined(sentences)))[:MOST] or [text]


def varied(example: Example, chance: random.Random, neutral: list[str]) -> str:
    """The same message as another would type it: without stops or apostrophes, with a slip, beside another sentence."""
    text, draw = example.text, chance.random()
    if draw < 0.12:
        text = re.sub(r"[.,!?;:]", "", text)
    elif draw < 0.22:
        text = text.replace("'", "")
    if chance.random() < 0.18 and example.item != 11:
        other = chance.choice(neutral)
        text = f"{other}. {text}" if chance.random() < 0.5 else f"{text.rstrip('.!? ')}. {other}."
    if chance.random() < 0.08 and len(text) > 12:
        at = chance.randrange(1, len(text) - 2)
        text = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text


def predicted(reader: Reader, examples: list[Example]) -> dict[str, list[float]]:
    with torch.no_grad():
        return {e.id: gravest(reader, [(e.item, stretched(e.text))])[0].tolist() for e in examples}


def held_out() -> dict[str, list[float]]:
    """What readers say of turns whose authors they have not learned from: the limits are chosen on these."""
    turns = labelled()
    authors = sorted({turn.author for turn in turns})
    found: dict[str, list[float]] = {}
    for held in (authors[::2], authors[1::2]):
        reader = trained([t for t in turns if t.author not in held] + harmless()[: ORDINARY // 2])
        found |= predicted(reader, [t for t in turns if t.author in held])
    return found


def final() -> Reader:
    return trained(labelled() + answered() + harmless())


def further(path: Path, authors: frozenset[str]) -> Reader:
    """The reader in use, taught several times what it errs on or is unsure of, among what keeps it from forgetting.

    Named authors' turns are all kept; what is hard is looked for in everything.
    """
    torch.manual_seed(0)
    chance, turns = random.Random(0), labelled()
    new = [turn for turn in turns if turn.author in authors]
    old = [turn for turn in turns if turn.author not in authors]
    answers = answered()
    hard = [example for example in new + old + answers if _is_hard(example)]
    kept = new + chance.sample(old, FURTHER_KEPT) + chance.sample(answers, FURTHER_ANSWERED)
    sys.stdout.write(f"{len(hard)} hard ones among {len(new) + len(old) + len(answers)}\n")
    sys.stdout.flush()
    reader = resumed(Reader(OUTPUTS, LAYERS), path)
    given = hard * FURTHER_TIMES + kept + harmless()[:FURTHER_ORDINARY]
    return _taught(reader, given, chance, whole_epochs=0, epochs=1, rate=FURTHER_RATE)


def _is_hard(example: Example) -> bool:
    said = [said_by_teacher((example.item, text)) for text in stretched(example.text)]
    stop, risk = max(one[0] for one in said), max(one[1] for one in said)
    if example.level == LEVELS["stop"]:
        return stop < SURE
    wrong_risk = risk < 0 if example.level else risk > 0
    return stop > -SURE or (wrong_risk and example.weights != NO_STOP)


def said_by_teacher(told: Told) -> list[float]:
    """Log-odds that a text is a stop, that it is at least a flag, and of each concern."""
    item, text = told
    said = thorough(text, item)
    return [said.stop, said.risk, *said.concerns.values()]


def pupil(folder: Path, path: Path) -> SentenceReader:
    """Two small layers that have learned to say what the teacher says. The one in use goes on with texts that it has
    not met; where there is none, one begins anew."""
    if not path.exists():
        torch.manual_seed(0)
        lines = taught_lines(folder, lambda: _texts(POOL, 1), said_by_teacher)
        return distilled(SentenceReader(PUPIL), lines, PUPIL_WEIGHTS)
    seed = zlib.crc32(path.read_bytes())
    lines = taught_lines(folder, lambda: _texts(FURTHER_POOL, seed), said_by_teacher)
    return distilled(read_back(path), lines, PUPIL_WEIGHTS, epochs=PUPIL_FURTHER_EPOCHS, rate=PUPIL_FURTHER_RATE)


def _texts(size: int, seed: int) -> list[Told]:
    """Every stretch of everything that is known, the turns as others would type them, and variants."""
    chance, turns, rest = random.Random(seed), labelled(), answered() + harmless()
    told, others = _stretches(turns), _stretches(rest)
    neutral = _neutral()
    forms = [(e.item, one) for _ in range(FORMS) for e in turns for one in stretched(varied(e, chance, neutral))]
    return pool([*told, *others, *forms], told, others, size, seed)


def _stretches(examples: list[Example]) -> list[Told]:
    return list(dict.fromkeys((example.item, one) for example in examples for one in stretched(example.text)))
