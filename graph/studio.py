"""The graphs for LangGraph Studio, compiled without our saver: Studio brings its own."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # Studio loads this file by its path

from agents.contract import Budget  # noqa: E402
from agents.interviewer import interviewer as interviewer_agent  # noqa: E402
from agents.risk import check_risk  # noqa: E402
from agents.scorer import scorer as scorer_agent  # noqa: E402
from graph.interview import InterviewAgents, build_interview  # noqa: E402
from settings import load_settings  # noqa: E402

_settings = load_settings()
interview = build_interview(
    InterviewAgents(
        interviewer=interviewer_agent(None, Budget()),
        scorer=scorer_agent(None, Budget()),
        check_risk=check_risk,
        follow_up_threshold=_settings.follow_up_threshold,
    )
).compile()
