"""Who is at the workbench: the name under an acknowledgement, a correction or a label."""

from __future__ import annotations

from ui.identity import me

_NAMELESS = "therapist"
"""The one user of an installation without a login."""


def who() -> str:
    return me().name or _NAMELESS
