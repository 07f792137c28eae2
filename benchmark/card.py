"""The report card of one snapshot: every metric with its grade, item by item, and where it all comes from.

`core` depends on the snapshot and on the benchmark that measures it (code, gold, limits), whose digest it names; by the
same ones its JSON is the same byte for byte whenever it is made. Around it stand the
judge's opinion and BERTScore, which a worker adds when it has them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from benchmark.judge import JUDGE, Judgement, judge_metrics
from benchmark.making import benchmark_digest
from benchmark.metrics import VERSION, Metric
from benchmark.metrics.accuracy import gold_of
from benchmark.snapshot import CorrectedScore, FrozenResponse, Snapshot
from benchmark.thresholds import GRADES, Grade, Thresholds, thresholds
from graph.provenance import Provenance
from instruments.level1 import Score, item_number, level1
from instruments.profile import Ambiguity, Confidence, Wire
from instruments.tools import DiagnosticMode
from storage.snapshots import canonical_json

FORMAT = 1
NO_VERDICT = "—"


class Graded(Metric):
    grade: Grade | None = None
    limit: str | None = None


class Headline(Wire):
    """`grade` is the worst there is."""

    grade: Grade | None
    text: str
    counts: dict[str, int]


class ItemRow(Wire):
    """`turns` are those in which the item was asked and answered. `score` is as it was scored; none where nobody
    answered."""

    item_id: str
    topic: str
    turns: tuple[int, ...]
    score: Score | None = None
    corrected: Score | None = None
    gold: Score | None = None
    ambiguity: Ambiguity | None = None
    confidence: Confidence | None = None
    engine: str | None = None
    followed_up: bool = False
    quotes: tuple[str, ...] = ()


class CardProvenance(Wire):
    snapshot_sha256: str
    metrics_version: str
    benchmark_sha256: str
    """Of the benchmark's code, gold and limits."""
    thresholds_version: str
    interview_models: str
    interview_prompts: str
    engines: dict[str, str]
    report: Provenance


class Core(Wire):
    format: int = FORMAT
    session_id: str
    persona_id: str | None = None
    revision: int
    mode: DiagnosticMode
    headline: Headline
    metrics: tuple[Graded, ...]
    items: tuple[ItemRow, ...]
    corrections: tuple[CorrectedScore, ...]
    provenance: CardProvenance

    def to_bytes(self) -> bytes:
        return canonical_json(self.to_json_dict())


class Card(Wire):
    """`pending` names what a worker still has to bring, `failed` what it could not, and why."""

    core: Core
    headline: Headline
    judge: Judgement
    judged: tuple[Graded, ...]
    bertscore: tuple[Graded, ...]
    pending: tuple[str, ...]
    failed: dict[str, str]
    unscored: int

    @property
    def metrics(self) -> tuple[Graded, ...]:
        return (*self.core.metrics, *self.judged, *self.bertscore)


def core_of(
    snapshot: Snapshot, metrics: Sequence[Metric], limits: Thresholds | None = None, *, made_by: str | None = None
) -> Core:
    """`made_by` is the digest of the benchmark that measured; this one's if none is given."""
    limits = limits or thresholds()
    graded_metrics = graded(metrics, limits)
    return Core(
        session_id=snapshot.session_id,
        persona_id=snapshot.persona_id,
        revision=snapshot.revision,
        mode=snapshot.mode,
        headline=headline_of(graded_metrics),
        metrics=graded_metrics,
        items=tuple(item_rows(snapshot)),
        corrections=snapshot.corrections,
        provenance=CardProvenance(
            snapshot_sha256=snapshot.sha256,
            metrics_version=VERSION,
            benchmark_sha256=made_by or benchmark_digest(),
            thresholds_version=limits.version,
            interview_models=snapshot.session_meta.model_version,
            interview_prompts=snapshot.session_meta.prompt_version,
            engines=snapshot.engines,
            report=snapshot.provenance,
        ),
    )


def card_of(
    core: Core,
    judgement: Judgement | None,
    bertscore: Sequence[Metric] | None,
    *,
    pending: Sequence[str] = (),
    failed: dict[str, str] | None = None,
) -> Card:
    judge = judgement or _without_judgement(pending, failed or {})
    judged = graded(judge_metrics(judge)) if judge.status != "pending" else ()
    alike = graded(bertscore or ())
    return Card(
        core=core,
        headline=headline_of((*core.metrics, *judged, *alike)),
        judge=judge,
        judged=judged,
        bertscore=alike,
        pending=tuple(pending),
        failed=failed or {},
        unscored=judge.unscored,
    )


def _without_judgement(pending: Sequence[str], failed: Mapping[str, str]) -> Judgement:
    """One that is still to come, or whose job failed, is not one that was not run."""
    if JUDGE in failed:
        return Judgement(status="failed", failures=(failed[JUDGE],))
    return Judgement(status="pending" if JUDGE in pending else "not run")


def graded(metrics: Sequence[Metric], limits: Thresholds | None = None) -> tuple[Graded, ...]:
    limits = limits or thresholds()
    return tuple(
        Graded(
            **metric.model_dump(),
            grade=limits.grade(metric),
            limit=limits.limits[metric.name].shown(metric.unit) if metric.name in limits.limits else None,
        )
        for metric in metrics
    )


def headline_of(metrics: Sequence[Graded]) -> Headline:
    found = Counter(metric.grade for metric in metrics if metric.grade)
    counts = {grade: found[grade] for grade in GRADES}
    worst = next((grade for grade in reversed(GRADES) if found[grade]), None)
    total = sum(counts.values())
    text = f"{counts['PASS']} of {total} graded metrics pass"
    for grade, said in (("FAIL", "fail"), ("WARN", "warn")):
        if named := [metric.label for metric in metrics if metric.grade == grade]:
            text += f"; {said}: {', '.join(named)}"
    return Headline(grade=worst, text=text + ".", counts=counts)


def item_rows(snapshot: Snapshot) -> list[ItemRow]:
    by_item = {response.item_id: response for response in snapshot.responses}
    corrected = {one.item_id: one.score for one in snapshot.corrections}
    gold = gold_of(snapshot)
    rows = []
    for item in level1().items:
        lines = [line for line in snapshot.lines if line.item_id == item.id]
        row = ItemRow(
            item_id=item.id,
            topic=item.topic,
            turns=tuple(sorted({line.turn for line in lines if line.role == "patient"})),
            corrected=corrected.get(item.id),
            gold=gold.scores.get(item_number(item.id)) if gold else None,
            followed_up=any(line.kind == "follow_up" for line in lines),
        )
        response = by_item.get(item.id)
        rows.append(row.model_copy(update=_scored(response)) if response else row)
    return rows


def _scored(response: FrozenResponse) -> dict[str, object]:
    if response.unanswered:
        return {"engine": "nobody"}
    engine = response.model if response.engine == "llm" else "rules"
    return {
        "score": response.score,
        "ambiguity": response.ambiguity,
        "confidence": response.confidence,
        "engine": engine,
        "quotes": response.evidence_quotes,
    }
