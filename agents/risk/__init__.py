"""The risk check. The rules are a pure function that reads every message of a patient before anything else does."""

from agents.risk.rules import check_risk, warm_up
from agents.risk.verdict import Level, RiskVerdict, Span

__all__ = ["Level", "RiskVerdict", "Span", "check_risk", "warm_up"]
