"""The judge: one locked model scores a conversation and its report on the five criteria of the PRD.

A verdict that fails, whatever the reason, is unscored and counted as such; it is never a zero. No rules take the
model's place: without a key the judge is not run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from agents.contract import Agent, AgentResult, Budget, JsonOutput, LLMEngine
from agents.models import ModelFactory
from agents.prompts import Prompt, PromptLibrary, as_data
from benchmark.metrics.base import Metric
from benchmark.snapshot import FrozenLine, Snapshot
from errors import RejectedOutput
from instruments.profile import Wire
from settings import Settings

JUDGE_MODEL = "openai/gpt-4.1"
"""Locked: figures of two judges are not to be compared. Its temperature is 0."""
JUDGE = "judge"
"""The agent under which its calls are accounted for."""
NOT_RUN = "judge not run: GATEWAY_API_KEY is not set"
Criterion = Literal["coverage", "relevance", "flow", "justification", "empathy"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
LABELS: dict[Criterion, str] = {
    "coverage": "Coverage of the items",
    "relevance": "Clinical relevance of the questions",
    "flow": "Logical flow and coherence",
    "justification": "Justification and explainability",
    "empathy": "Empathy and professionalism",
}
_LINE_ENDS = str.maketrans({end: f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"})
_SENTENCE_END = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s|$)")
_OPENING = " \t\n\"'“‘(["
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|vs|cf|approx|incl|esp|resp|dr|mr|mrs|ms|prof|st|fig)$", re.IGNORECASE)
_MOST_SENTENCES = 2
_LONGEST_NOTE = 600


class _Closed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Opinion(_Closed):
    score: Annotated[int, Field(ge=1, le=5)]
    note: str


class Verdict(_Closed):
    coverage: Opinion
    relevance: Opinion
    flow: Opinion
    justification: Opinion
    empathy: Opinion


@dataclass(frozen=True)
class ToJudge:
    lines: Sequence[FrozenLine]
    report: str


class Judgement(Wire):
    """`verdict` is there exactly when `status` is scored; `failures` are the kinds of what went wrong on the way.

    Unscored is a verdict that could not be used, failed a job that ended without any; not run is a judge without a key.
    """

    status: Literal["scored", "unscored", "failed", "pending", "not run"]
    verdict: Verdict | None = None
    failures: tuple[str, ...] = ()
    model: str = JUDGE_MODEL
    prompt_version: str | None = None
    prompt_sha256: str | None = None
    tries: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float = 0.0

    @property
    def unscored(self) -> int:
        """How many criteria the judge was asked for and gave no usable score."""
        return len(CRITERIA) if self.status in ("unscored", "failed") else 0


@dataclass(frozen=True)
class Judge:
    """Without a key there is no agent, and no judgement."""

    agent: Agent[ToJudge, Verdict | None] | None
    prompt: Prompt

    @property
    def version(self) -> str:
        """Another prompt is another judge."""
        return f"{JUDGE_MODEL}@{self.prompt.version}+{self.prompt.sha256[:12]}"

    def of(self, snapshot: Snapshot) -> tuple[Judgement, AgentResult[Verdict | None] | None]:
        return self.judge(ToJudge(snapshot.lines, snapshot.markdown))

    def judge(self, given: ToJudge) -> tuple[Judgement, AgentResult[Verdict | None] | None]:
        """The judgement, and what is to be accounted for."""
        if self.agent is None:
            return Judgement(status="not run"), None
        made = self.agent.run(given)
        judgement = Judgement(
            status="scored" if made.output else "unscored",
            verdict=made.output,
            failures=tuple(failure.kind for failure in made.failures),
            prompt_version=made.prompt_version,
            prompt_sha256=made.prompt_sha256,
            tries=made.tries,
            prompt_tokens=made.prompt_tokens,
            completion_tokens=made.completion_tokens,
            cost_usd=made.cost_usd,
            seconds=round(made.seconds, 6),
        )
        return judgement, made


def judge_of(settings: Settings) -> Judge:
    prompt = PromptLibrary(settings.crosscut_prompts).get("judge")
    if settings.gateway_api_key is None:
        return Judge(None, prompt)
    client = ModelFactory(settings).named(JUDGE_MODEL)
    assert client is not None  # noqa: S101  # the locked model is not the embedded rules
    engine: LLMEngine[ToJudge, Verdict | None] = LLMEngine(
        client, prompt, _variables, JsonOutput(Verdict), checks=(_briefly_noted,)
    )
    return Judge(Agent(JUDGE, _nobody, engine, Budget.of(settings)), prompt)


def judge_metrics(judgement: Judgement) -> tuple[Metric, ...]:
    """A criterion without a score has no value, and says why."""
    return tuple(_metric(criterion, judgement) for criterion in CRITERIA)


def _metric(criterion: Criterion, judgement: Judgement) -> Metric:
    opinion: Opinion | None = getattr(judgement.verdict, criterion, None)
    missing = NOT_RUN if judgement.status == "not run" else f"unscored: {', '.join(judgement.failures)}"
    return Metric(
        name=f"judge.{criterion}",
        label=LABELS[criterion],
        value=opinion.score if opinion else None,
        unit="of 5",
        explanation=opinion.note if opinion else missing,
        metadata={"model": judgement.model, "status": judgement.status},
    )


def _nobody(_: ToJudge) -> None:
    """What rules would be: nobody judges in the model's place."""


def _variables(given: ToJudge) -> dict[str, str]:
    """One JSON string a line, so that nothing a patient types can look like another speaker's line."""
    said = [f"{line.role}: {json.dumps(line.text, ensure_ascii=False).translate(_LINE_ENDS)}" for line in given.lines]
    return {"transcript": as_data("transcript", "\n".join(said)), "report": as_data("report", given.report)}


def _briefly_noted(_: ToJudge, verdict: Verdict | None) -> Verdict | None:
    for criterion in CRITERIA:
        opinion: Opinion = getattr(verdict, criterion)
        note = opinion.note.strip()
        if not note:
            raise RejectedOutput(f"{criterion}: its note must not be empty")
        if len(note) > _LONGEST_NOTE or _sentences(note) > _MOST_SENTENCES:
            raise RejectedOutput(f"{criterion}: its note must be one or two sentences")
    return verdict


def _sentences(note: str) -> int:
    """A stop ends a sentence before a capital or at the end of the note, and not after an abbreviation: a verdict is
    not lost because of an `e.g.`, and whatever slips through is held by the length."""
    return sum(_ends_sentence(note, found) for found in _SENTENCE_END.finditer(note))


def _ends_sentence(note: str, found: re.Match[str]) -> bool:
    rest = note[found.end() :].lstrip(_OPENING)
    return not rest or (rest[0].isupper() and not _ABBREVIATED.search(note[: found.start()]))
