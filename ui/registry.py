"""The pages of the workbench, in the order of the navigation. A further system adds its pages by adding them here.

A page's module is loaded when the page is opened, and never on the way to a patient's link.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Literal

Role = Literal["therapist", "researcher", "admin"]
ROLES: tuple[Role, ...] = ("therapist", "researcher", "admin")


@dataclass(frozen=True)
class Page:
    """`name` is its path in the address. `module` has a function `show()` that draws it."""

    name: str
    title: str
    icon: str
    module: str
    roles: frozenset[Role] = frozenset(ROLES)

    def show(self) -> None:
        import_module(self.module).show()


HOME = Page("sessions", "Sessions", ":material/forum:", "ui.sessions")
PAGES: tuple[Page, ...] = (
    HOME,
    Page("batch", "Batch", ":material/science:", "ui.batch", frozenset({"researcher", "admin"})),
    Page("library", "Library", ":material/menu_book:", "ui.library"),
    Page("health", "Settings and health", ":material/monitor_heart:", "ui.health"),
)
