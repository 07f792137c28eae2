"""REPORT: passages are retrieved, impressions formed, the report is put together and kept as a revision.

A completed session without a report is work that somebody owes: whoever finished the interview, a worker's sweep, or
the therapist who opens the session. Nothing is written for a session that was stopped; what exists stays readable.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from agents.contract import Agent, AgentResult
from agents.diagnostician import candidates
from agents.report.sections import ReportInput, sections
from errors import CrosscutError, InputError, ModelError, NotFoundError, ServiceError
from graph.basis import Basis, Made
from graph.corrections import CorrectedScore, corrected, standing_corrections
from graph.state import AgentRecord
from graph.view import View
from instruments.disorders import disorders
from instruments.level1 import item_number, level1
from instruments.profile import PatientProfile, SessionStatus, Timestamp, Wire
from instruments.tools import (
    Diagnose,
    Diagnosis,
    DiagnosisSnapshot,
    DiagnosticMode,
    GenerateReport,
    Passage,
    QueryState,
    ReportSection,
    RetrieveDsmPassages,
    Retriever,
)
from storage.corrections import STOPPED, Corrections
from storage.reports import GONE, Reports, Revision

Progress = Callable[[str], None]
_SALIENT_SCORE = 2
log = logging.getLogger("crosscut.report")


class Report(Wire):
    """One revision, with everything it was made from."""

    session_id: str
    mode: DiagnosticMode
    engines: dict[str, str]
    sections: tuple[ReportSection, ...]
    diagnosis: Diagnosis
    passages: tuple[Passage, ...]
    profile: PatientProfile
    corrections: tuple[CorrectedScore, ...] = ()
    """What the therapist corrected; `profile` has their scores, each correction the one that was there before."""
    revision: int = 0
    written_at: Timestamp | None = None
    stopped: bool = False
    """The session was stopped for safety after this was written."""

    @property
    def markdown(self) -> str:
        return "\n\n".join(f"## {section.title}\n\n{section.markdown}" for section in self.sections) + "\n"


@dataclass(frozen=True)
class ReportDesk:
    """`view` gives a session as it stands, `diagnostician` who forms its impressions; `record_calls` accounts for the
    model's calls; `basis` gathers what a revision was made from, to be kept with it.
    """

    reports: Reports
    retriever: Retriever
    diagnostician: Callable[[str], Agent[Diagnose, Diagnosis]]
    view: Callable[[str], View]
    record_calls: Callable[[str, int, str, AgentResult[Any]], None]
    corrections: Corrections
    basis: Callable[[Made], Basis]

    def generate_report(self, call: GenerateReport) -> Iterator[ReportSection]:
        yield from self.newest(call.session_id).sections

    def newest(self, session_id: str, mode: DiagnosticMode | None = None) -> Report:
        """The report as it stands, in this mode if one is named; what is missing is written."""
        found = self.reports.newest(session_id, mode)
        return _read(found) if found else self.write(session_id, mode, again=False)

    def revisions(self, session_id: str) -> list[Report]:
        return [_read(revision) for revision in self.reports.all_of(session_id)]

    def write(
        self,
        session_id: str,
        mode: DiagnosticMode | None = None,
        *,
        again: bool = True,
        on_stage: Progress | None = None,
    ) -> Report:
        """Write a revision; without `again`, only if there is none in this mode."""
        view = self.view(session_id)
        _refuse_unfinished(view)
        with self.reports.writing(session_id):
            if not again and (found := self.reports.newest(session_id, mode)):
                return _read(found)
            report, basis = self._made(view, mode or view.mode, on_stage or (lambda _: None))
            kept = self.reports.add(session_id, report.mode, _bytes(report), _bytes(basis))
        if kept is None:
            raise InputError(GONE)
        return _read(kept)

    def correct(self, session_id: str, item: int, score: int, reason: str, by: str) -> Report | None:
        """Correct an item's score and write the report anew; None while the interview is going on.

        What was scored stays on record, and a correction of it can be made at any time, but not once the session was
        stopped for safety.
        """
        view = self.view(session_id)
        if view.profile.session_status is SessionStatus.TERMINATED:
            raise InputError(STOPPED)
        if item not in [item_number(done) for done in view.profile.question_state.completed_items]:
            raise InputError(f"item {item} has not been scored yet: there is nothing to correct.")
        if score not in range(len(level1().scale)):
            raise InputError(f"a score is 0 to {len(level1().scale) - 1}, not {score}.")
        self.corrections.add(session_id, item, score, reason, by)
        return None if view.open else self.write(session_id, self._newest_mode(session_id))

    def _newest_mode(self, session_id: str) -> DiagnosticMode | None:
        found = self.reports.newest(session_id)
        return _read(found).mode if found else None

    def kept(self, session_id: str, revision: int | None = None) -> tuple[Report, Basis]:
        """A revision, the newest if none is named, with what it was made from."""
        found = [one for one in self.revisions(session_id) if revision in (None, one.revision)]
        if not found:
            raise NotFoundError(f"session {session_id!r} has no revision {revision or 1} of its report.")
        basis = self.reports.basis(session_id, found[-1].revision)
        if basis is None:
            raise InputError(
                f"revision {found[-1].revision} was written by an older version, which did not keep what it was made "
                f"from: `crosscut report {session_id} --again` writes one that can be benchmarked."
            )
        return found[-1], Basis.model_validate_json(basis)

    def write_missing(self) -> list[str]:
        """Write the first report of every completed session that has none; one that fails keeps nobody else's back."""
        return [session_id for session_id in self.reports.unwritten() if self._is_written(session_id)]

    def _is_written(self, session_id: str) -> bool:
        try:
            self.newest(session_id)
        except ServiceError:
            raise
        except CrosscutError as error:  # stopped or deleted meanwhile, or stored bytes that do not open
            log.error("a report was not written: %s", type(error).__name__)
            return False
        return True

    def _made(self, view: View, mode: DiagnosticMode, on_stage: Progress) -> tuple[Report, Basis]:
        corrections = standing_corrections(view.profile, self.corrections.standing(view.session_id))
        profile = corrected(view.profile, corrections)
        call = diagnosis_call(profile, mode)
        on_stage("retrieve")
        passages = self._passages(call)
        _refuse_unfinished(self.view(view.session_id))  # stopped while passages were looked up: no engine is asked
        on_stage("diagnose")
        made = self.diagnostician(view.session_id).run(_with_passages(call, passages))
        self.record_calls(view.session_id, view.turn, "diagnostician", made)
        on_stage("write")
        engines = {**_engines(view), "diagnostician": _engine(made.engine, made.model)}
        originals = {one.item_id: one.original for one in corrections}
        report = Report(
            session_id=view.session_id,
            mode=mode,
            engines=engines,
            sections=tuple(sections(ReportInput(profile, made.output, mode, engines, originals))),
            diagnosis=made.output,
            passages=tuple(map(_without_text, passages)) if mode == "categorical" else passages,
            profile=profile,
            corrections=corrections,
        )
        try:
            return report, self.basis(Made(view, corrections, passages, made))
        except NotFoundError:
            raise InputError(GONE) from None

    def _passages(self, call: Diagnose) -> tuple[Passage, ...]:
        """None for a screening. Where categories are all that may be named, a citation names no more than these."""
        names = candidates(call)
        if not names:
            return ()
        query = QueryState(
            symptom_summary=call.snapshot.symptom_summary, candidate_diagnoses=names, salient_quotes=_salient(call)
        )
        try:
            found = self.retriever.retrieve_dsm_passages(RetrieveDsmPassages(query_state=query)).passages
        except ModelError as error:  # the embedding model is gone; the report says that it has no passages
            log.warning("no passages for a report: %s", type(error).__name__)
            return ()
        return tuple(map(_of_category, found)) if call.diagnostic_mode == "categorical" else found


def diagnosis_call(profile: PatientProfile, mode: DiagnosticMode) -> Diagnose:
    snapshot = DiagnosisSnapshot(
        transcript=profile.transcript,
        item_responses=profile.item_responses,
        symptom_summary=profile.symptom_summary,
        question_state=profile.question_state,
    )
    return Diagnose(session_id=profile.session_meta.session_id, snapshot=snapshot, diagnostic_mode=mode)


def _with_passages(call: Diagnose, passages: tuple[Passage, ...]) -> Diagnose:
    return call.model_copy(update={"snapshot": call.snapshot.model_copy(update={"passages": passages})})


def _salient(call: Diagnose) -> tuple[str, ...]:
    """What was said to the highest items, the highest first."""
    by_score = sorted(call.snapshot.item_responses, key=lambda r: -r.score)
    return tuple(quote for r in by_score if r.score >= _SALIENT_SCORE for quote in r.evidence_quotes[:1])


def _of_category(passage: Passage) -> Passage:
    """Its section's trail cut down to the category; where that is not on it, without a trail."""
    section = passage.source.section_path or ""
    category = next((part for part in section.split(" > ") if part in disorders().categories), "")
    source = passage.source.model_copy(update={"section_path": category or None})
    shorter = passage.citation.replace(section, category) if category else passage.citation.replace(f", {section}", "")
    return passage.model_copy(update={"source": source, "citation": shorter})


def _without_text(passage: Passage) -> Passage:
    """What was read names the disorder that it is about; a report by categories does not."""
    return passage.model_copy(update={"text": ""})


def _engines(view: View) -> dict[str, str]:
    return {
        "interviewer": _of_records(list(view.wordings.values())),
        "scorer": _of_records([record for record in view.records.values() if not record.unanswered]) + _unread(view),
    }


def _unread(view: View) -> str:
    """On how many items an embedded reader failed, so that the rules read alone."""
    count = sum(bool(record.unread) for record in view.records.values())
    return f" (the second reader failed on {count} of {len(level1().items)} items)" if count else ""


def _of_records(records: list[AgentRecord]) -> str:
    """Who did it, and for how many items the rules had to."""
    models = sorted({record.model for record in records if record.engine == "llm" and record.model})
    by_rules = sum(record.engine == "rules" for record in records)
    if not models:
        return "rules"
    return ", ".join(models) + (f" (rules for {by_rules} of {len(level1().items)} items)" if by_rules else "")


def _engine(engine: str, model: str | None) -> str:
    if engine == "llm" and model:
        return model
    return f"rules (after {model} failed)" if model else "rules"


def _refuse_unfinished(view: View) -> None:
    status = view.profile.session_status
    if status is SessionStatus.TERMINATED:
        raise InputError("this session was stopped for safety: no report is written for it.")
    if status is SessionStatus.ACTIVE:
        done, total = view.items_completed, len(level1().items)
        raise InputError(f"this interview is not finished ({done} of {total} items): its report comes when it is.")


def _bytes(value: Wire) -> bytes:
    return value.model_dump_json(by_alias=True).encode()


def _read(revision: Revision) -> Report:
    report = Report.model_validate_json(revision.body)
    kept = {"revision": revision.revision, "written_at": revision.created_at, "stopped": revision.stopped}
    return report.model_copy(update=kept)
