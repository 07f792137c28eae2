"""A report card on the screen: the verdict first, then charts, metrics, the judge's notes, items and origins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from benchmark.card import NO_VERDICT, Card, Graded, ItemRow
from benchmark.card_files import TITLES, figure, provenance_lines, why_no_verdict
from ui.workspace.grades import KINDS, bars, radar, reliability
from ui.workspace.markup import address, badge, draw, linked, text

_PENDING = "pending: how far it is stands above"


def show_card(card: Card) -> None:
    draw(_headline(card), "cc-verdict")
    left = f"<div><figure>{radar(card)}</figure><figure>{reliability(card)}</figure></div>"
    draw(f"{left}<figure>{bars(card)}</figure>", "cc-figures")
    draw("".join(_groups(card)), "cc-metrics")
    st.markdown("#### Judge", anchors=False)
    draw(_judge(card), "cc-metrics")
    st.markdown("#### Item by item", anchors=False)
    draw(_items(card), "cc-wide")
    with st.expander("Where this comes from"):
        lines = "".join(f"<li>{text(line)}</li>" for line in provenance_lines(card))
        draw(f"<ul>{lines}</ul>", "cc-origin")


def graded(grade: str | None) -> str:
    return badge(grade, KINDS[grade]) if grade else f'<span class="soft">{NO_VERDICT}</span>'


def _headline(card: Card) -> str:
    core, shown = card.core, card.headline
    of = f"Revision {core.revision}, {core.mode} mode, snapshot {core.provenance.snapshot_sha256[:12]}"
    return (
        f"<p>{graded(shown.grade)}</p><div><p><b>{text(shown.text)}</b></p>"
        f'<p class="soft">{text(of)}. The verdict is the worst of all metrics.</p></div>'
    )


# ---- metrics ----


def _groups(card: Card) -> Iterable[str]:
    metrics = (*card.core.metrics, *card.bertscore)
    for group in dict.fromkeys(metric.group for metric in metrics):
        yield f"<h3>{text(TITLES[group])}</h3>"
        yield _table([metric for metric in metrics if metric.group == group])
    if "bertscore" in card.pending:
        yield f"<h3>{text(TITLES['bertscore'])}</h3><p class='soft'>{text(_PENDING)}</p>"


def _table(metrics: Sequence[Graded]) -> str:
    rows = "".join(
        f'<tr><td>{text(one.label)}</td><td class="figure">{text(figure(one))}</td>'
        f'<td class="limit">{text(one.limit or "")}</td><td>{graded(one.grade)}</td>'
        f'<td class="how"><span class="text">{text(one.explanation)}</span></td></tr>'
        for one in metrics
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _judge(card: Card) -> str:
    if card.judge.status == "pending":
        return f'<p class="soft">{text(_PENDING)}</p>'
    if why := why_no_verdict(card):
        return f'<p class="soft">{text(why[:1].upper() + why[1:])}. Nothing is made up in its place.</p>'
    by = f"By {card.judge.model}, prompt {card.judge.prompt_version}."
    left_out = f" {card.unscored} criteria are unscored; they are counted here and averaged nowhere."
    return f'<p class="soft">{text(by + (left_out if card.unscored else ""))}</p>{_table(card.judged)}'


# ---- items ----


def _items(card: Card) -> str:
    has_gold = any(item.gold is not None for item in card.core.items)
    names = ["Item", "Asked about", "Score", *(["Gold"] if has_gold else []), "Ambiguity", "By", "Turn"]
    head = "".join(f"<th>{name}</th>" for name in names)
    rows = "".join(_item(card.core.session_id, item, has_gold=has_gold) for item in card.core.items)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _item(session_id: str, item: ItemRow, *, has_gold: bool) -> str:
    score = _or_nothing(item.score)
    if item.corrected is not None:
        score = f"{score} → <b>{item.corrected}</b> {badge('corrected', 'good')}"
    wrong = has_gold and item.gold is not None and item.gold != item.score
    gold = f"<b>{item.gold}</b>" if wrong else _or_nothing(item.gold)
    turns = " ".join(linked(f"turn {turn}", address(session_id, "chat", turn)) for turn in item.turns)
    cells = [
        text(item.item_id), text(item.topic), score, *([gold] if has_gold else []), _or_nothing(item.ambiguity),
        text(item.engine or NO_VERDICT), turns,
    ]  # fmt: skip
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _or_nothing(value: int | None) -> str:
    return NO_VERDICT if value is None else str(value)
