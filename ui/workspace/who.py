"""Who is at the workbench: the name under a correction, and the identity behind a vote."""

from __future__ import annotations

from ui.access import NAMELESS
from ui.identity import me


def who() -> str:
    """The name under an acknowledgement, a correction or a label."""
    return me().name or NAMELESS


def voter() -> str:
    """Under whom a ballot, a vote, an override and a look at the columns are kept: verified, and nobody else's."""
    return me().signature
