"""Who is at the workbench: the name under an acknowledgement, a correction or a label."""

from __future__ import annotations


def who() -> str:
    return "therapist"
