"""Progress by domain, and each item's score with its ambiguity and the patient's words."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from agents.report.domains import DomainRow, domain_rows
from graph.view import View
from instruments.level1 import Item, item_number, level1
from instruments.profile import ItemResponse
from ui.workspace.findings import ambiguity, disagreement, open_items, shown_score, turn_about, turn_of, why_open
from ui.workspace.markup import address, badge, linked, text


def scores(view: View, notes: Mapping[str, str]) -> str:
    """`notes` are HTML by item id."""
    return "".join(_domain(view, row, notes) for row in domain_rows(view.profile))


def _domain(view: View, row: DomainRow, notes: Mapping[str, str]) -> str:
    items = "".join(_item(view, item, notes.get(item.id, "")) for item in row.domain.items)
    mark = badge("further inquiry", "flag") if row.responses and row.reached else ""
    head = f'<h3>{text(row.name)} {mark}<span class="soft">{_far(row)}</span></h3>'
    return f'<section class="cc-domain">{head}{items}</section>'


def _far(row: DomainRow) -> str:
    done, total = len(row.responses), len(row.domain.items)
    if not done:
        return f"0 of {total}"
    unclear = ", unclear" if row.undetermined else ""
    return f"{done} of {total} · highest {row.highest}{unclear} · threshold {row.domain.threshold}"


def _item(view: View, item: Item, note: str) -> str:
    response = view.profile.response(item.id)
    name = f"<span>{text(item.id)} {text(item.topic)}</span>"
    if response is None:
        return f'<div class="cc-item soft">{name}<span class="number">not asked yet</span></div>'
    number = f'<span class="number"><b>{text(shown_score(response))}</b> · {ambiguity(response.ambiguity)}</span>'
    words = " ".join(filter(None, (_quotes(view, item.number, response), _opinion(view, item.number), note)))
    return f'<div class="cc-item">{name}{number}<div class="words">{words}</div></div>'


def _quotes(view: View, item: int, response: ItemResponse) -> str:
    return " ".join(quoted(view, words, item) for words in response.evidence_quotes)


def quoted(view: View, words: str, item: int = 0) -> str:
    """The patient's words, leading to the turn they are from."""
    turn = turn_of(words, view.lines, [item])
    shown = f"“{text(words)}”"
    if turn is None:
        return f'<span class="quote">{shown}</span>'
    return linked(shown, address(view.session_id, "chat", turn), "quote")


def _opinion(view: View, item: int) -> str:
    record = view.records.get(item)
    rules = disagreement(record) if record else None
    return badge(f"second opinion: the rules say {rules}", "flag") if rules is not None else ""


def open_list(view: View, settled: Collection[str] = ()) -> str:
    """What is to be clarified in person, each item leading to where it was spoken of; not what a person has decided."""
    left = [identifier for identifier in open_items(view) if identifier not in settled]
    return "".join(f'<li class="cc-open">{_open(view, identifier)}</li>' for identifier in left)


def _open(view: View, identifier: str) -> str:
    number = item_number(identifier)
    name = text(f"{identifier} {level1().item(number).topic}")
    turn = turn_about(number, view.lines)
    shown = linked(name, address(view.session_id, "chat", turn)) if turn else name
    return f"{shown}: {text(why_open(view, identifier))}"
