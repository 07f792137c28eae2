"""The graphs for LangGraph Studio, compiled without our saver: Studio brings its own."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # Studio loads this file by its path

from agents.contract import Budget
from agents.escalation import escalation
from agents.interviewer import interviewer as interviewer_agent
from agents.risk.checker import RiskChecker
from agents.scorer import scorer as scorer_agent
from graph.interview import InterviewAgents, build_interview
from settings import load_settings

_settings = load_settings()
interview = build_interview(
    InterviewAgents(
        interviewer=interviewer_agent(None, Budget()),
        scorer=scorer_agent(None, Budget()),
        risk=RiskChecker(),
        script=escalation(_settings.crosscut_locale).script,
        follow_up_threshold=_settings.follow_up_threshold,
    )
).compile()
