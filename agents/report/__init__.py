"""The therapist's report: assembled by code from validated data, section by section."""

from agents.report.sections import ReportInput, sections

__all__ = ["ReportInput", "sections"]
