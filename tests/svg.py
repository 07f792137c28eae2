"""What a drawn chart says, read out of its SVG: texts with their places, axes, legends and marks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from xml.etree import ElementTree

_NAME = "{http://www.w3.org/2000/svg}"
_MOVED = re.compile(r"translate\(([-\d.e]+),\s*([-\d.e]+)\)")
_TURNED = re.compile(r"rotate\(([-\d.e]+)\)")
_NARROWEST = 0.42
"""Of a sign, in its type's size: less than any font's mean, so that only what surely collides is found to."""
Element = ElementTree.Element


@dataclass(frozen=True)
class Text:
    said: str
    size: float
    role: str
    x: float
    y: float
    angle: float
    anchor: str

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom, a little smaller than it is drawn."""
        width, height = len(self.said) * self.size * _NARROWEST, self.size * 0.6
        left = {"start": 0.0, "middle": -width / 2, "end": -width}[self.anchor]
        turned = [_turned(x, y, self.angle) for x in (left, left + width) for y in (-height, 0.0)]
        xs, ys = [self.x + x for x, _ in turned], [self.y + y for _, y in turned]
        return min(xs), min(ys), max(xs), max(ys)


@dataclass(frozen=True)
class Drawn:
    width: float
    height: float
    ground: str
    texts: tuple[Text, ...]
    axes: tuple[str, ...]
    """What a reader that cannot see is told of each."""
    legends: tuple[str, ...]
    marks: dict[str, int]
    """How many of each kind show data."""

    def said(self, role: str) -> list[str]:
        return [text.said for text in self.texts if text.role == role]

    def outside(self) -> list[str]:
        inside = [(a >= 0 and b >= 0 and c <= self.width and d <= self.height) for a, b, c, d in self._boxes()]
        return [text.said for text, good in zip(self.texts, inside, strict=True) if not good]

    def colliding(self) -> list[tuple[str, str]]:
        pairs = combinations(zip(self.texts, self._boxes(), strict=True), 2)
        return [(one.said, other.said) for (one, a), (other, b) in pairs if _meet(a, b)]

    def _boxes(self) -> list[tuple[float, float, float, float]]:
        return [text.box for text in self.texts]


def read(svg: str) -> Drawn:
    root = ElementTree.fromstring(svg)  # noqa: S314  # our own
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    ground = root.find(f"{_NAME}rect")
    marks: dict[str, int] = {}
    for group in root.iter(f"{_NAME}g"):
        kind, _, role = group.get("class", "").partition(" ")
        if role.startswith("role-mark") and kind != "mark-text":
            drawn = [
                one
                for one in group
                if one.tag != f"{_NAME}g" and one.attrib.get("d", "M1") and one.get("opacity") != "0"
            ]
            marks[kind] = marks.get(kind, 0) + len(drawn)
    return Drawn(
        width,
        height,
        ground.get("fill", "") if ground is not None else "",
        tuple(_texts(root, 0.0, 0.0, 0.0, "")),
        tuple(_told(root, "axis")),
        tuple(_told(root, "legend")),
        marks,
    )


def _told(root: Element, what: str) -> Iterator[str]:
    for group in root.iter(f"{_NAME}g"):
        if group.get("aria-roledescription") == what:
            yield group.get("aria-label", "")


def _texts(element: Element, x: float, y: float, angle: float, role: str) -> Iterator[Text]:
    moved = element.get("transform", "")
    if found := _MOVED.search(moved):
        dx, dy = _turned(float(found[1]), float(found[2]), angle)
        x, y = x + dx, y + dy
    if found := _TURNED.search(moved):
        angle += float(found[1])
    role = element.get("class", "").partition("role-")[2].partition(" ")[0] or role
    if element.tag == f"{_NAME}text":
        size, anchor = float(element.get("font-size", "0px")[:-2]), element.get("text-anchor", "start")
        lines = list(element.iter(f"{_NAME}tspan")) or [element]
        for number, line in enumerate(lines):
            if said := (line.text or "").strip():
                yield Text(said, size, role, x, y + number * size * 1.15, angle, anchor)
        return
    for child in element:
        yield from _texts(child, x, y, angle, role)


def _turned(x: float, y: float, angle: float) -> tuple[float, float]:
    by = math.radians(angle)
    return x * math.cos(by) - y * math.sin(by), x * math.sin(by) + y * math.cos(by)


def _meet(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
