"""What a turn costs with models behind it: calls, prompt tokens and seconds, against a gateway of a fixed delay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from statistics import mean

from rich.console import Console
from rich.table import Table

from agents.contract import Budget
from agents.models import ModelFactory
from agents.scorer import AnswerToScore, scorer
from graph.assembly import build_runtime
from settings import Settings
from storage.database import Database
from tests.gateway import Gateway, gateway
from tools.bench.aims import Aim
from tools.bench.interviews import PERSONA, Call, Turn, interview
from tools.bench.offline import offline
from tools.bench.stand_in import DELAY_SECONDS, competent
from tools.bench.timing import p50, p95, seconds

EDGE = 5
"""So many calls of an agent are its first, and as many its last; a single one would show one item's length."""

SHARE_AIM = 40
GROWTH_AIM = 1.0
ONE_CALL = AnswerToScore(item=1, question="How often was that so?", answer="Several days.")


@dataclass(frozen=True)
class SetUp:
    """Which roles a model plays, and how many times as long as one call a turn may then take."""

    roles: tuple[str, ...]
    aim: float

    def __str__(self) -> str:
        return " + ".join(self.roles)


SET_UPS = (SetUp(("interviewer", "scorer"), 1.3), SetUp(("interviewer", "scorer", "risk"), 2.3))


@dataclass(frozen=True)
class Figures:
    """Seconds of single calls, and all turns of an interview in each set-up."""

    single: list[float]
    held: dict[SetUp, list[Turn]]


def measure(home: Path, database: Database) -> Figures:
    """Single calls and both set-ups in alternation: whatever else the machine does touches all alike."""
    figures = Figures([], {set_up: [] for set_up in SET_UPS})
    with ExitStack() as stack:
        gate = stack.enter_context(gateway())
        gate.default = competent
        settings = _with_models(home, gate, "scorer")
        models = stack.enter_context(closing(ModelFactory(settings)))
        one = scorer(models.chat("scorer"), Budget.of(settings))
        runtimes = [build_runtime(_with_models(home, gate, *set_up.roles), database) for set_up in SET_UPS]
        interviews = [interview(stack.enter_context(closing(runtime)), gate) for runtime in runtimes]
        for side_by_side in zip_longest(*interviews):
            figures.single.append(seconds(partial(one.run, ONE_CALL)))
            for set_up, turn in zip(SET_UPS, side_by_side, strict=True):
                figures.held[set_up] += [turn] if turn else []
    return figures


def _with_models(home: Path, gate: Gateway, *roles: str) -> Settings:
    models = {f"model_{role}": "stand-in/model" for role in roles}
    return offline(home, gateway_base_url=gate.base_url, gateway_api_key="k", **models)


def show(console: Console, figures: Figures) -> list[Aim]:
    """Both tables, and the aims in them that a run of the bench stands or falls by."""
    paces, shares = _paces(figures), _shares(figures)
    console.print(_time_table(figures, paces))
    console.print(_token_table(figures, shares))
    return [*paces.values(), *shares.values()]


def _paces(figures: Figures) -> dict[SetUp, Aim]:
    """The median turn of each set-up against the median single call of the same run."""
    one = p50(figures.single)
    return {
        set_up: Aim(f"a turn with {set_up}, times one call", _p50(held) / one, set_up.aim)
        for set_up, held in figures.held.items()
    }


def _p50(held: Sequence[Turn]) -> float:
    return p50([turn.seconds for turn in held[1:]])


def _shares(figures: Figures) -> dict[SetUp, Aim]:
    """Prompt tokens of a whole interview, of what they would be with the transcript in every prompt."""
    return {
        set_up: Aim(
            f"prompt tokens with {set_up}, of whole-transcript prompts",
            100 * sum(turn.prompt for turn in held) / sum(turn.prompt_with_transcript for turn in held),
            SHARE_AIM,
            " %",
        )
        for set_up, held in figures.held.items()
    }


def _time_table(figures: Figures, paces: dict[SetUp, Aim]) -> Table:
    title = f"A turn with models, at a gateway that takes {1000 * DELAY_SECONDS:.0f} ms (persona {PERSONA})"
    table = Table(
        "models", "turns", "calls a turn", "prompt tokens a turn", "p50 s", "p95 s", "× one call", "aim",
        title=title, title_justify="left",
    )  # fmt: skip
    one = p50(figures.single)
    table.add_row("one call alone", str(len(figures.single)), "1", "", f"{one:.3f}", f"{p95(figures.single):.3f}", "1")
    for set_up, held in figures.held.items():
        turns = held[1:]
        taken = [turn.seconds for turn in turns]
        table.add_row(
            str(set_up),
            str(len(turns)),
            f"{mean(len(turn.calls) for turn in turns):.2f}",
            f"{mean(turn.prompt for turn in turns):,.0f}",
            f"{p50(taken):.3f}",
            f"{p95(taken):.3f}",
            paces[set_up].shown,
            paces[set_up].verdict,
        )
    return table


def _token_table(figures: Figures, shares: dict[SetUp, Aim]) -> Table:
    table = Table("prompt tokens", *map(str, figures.held), "aim", title="A whole interview", title_justify="left")
    held = figures.held.values()
    ours = [sum(turn.prompt for turn in turns) for turns in held]
    naive = [sum(turn.prompt_with_transcript for turn in turns) for turns in held]
    table.add_row("all calls", *_each(ours, "{:,}"))
    table.add_row("with the transcript in every prompt", *_each(naive, "{:,}"))
    said = [f"{aim.shown}, {aim.verdict}" for aim in shares.values()]
    table.add_row("share of that", *said, f"≤ {SHARE_AIM} %")
    for agent in SET_UPS[-1].roles:
        sizes = [_edges(_calls(turns, agent)) for turns in held]
        table.add_row(f"{agent}: a call, first {EDGE} → last {EDGE}", *sizes)
    growth = [max(_growth(_calls(turns, agent)) for agent in set_up.roles) for set_up, turns in figures.held.items()]
    table.add_row("last to first without the item's own words, at most", *_each(growth, "{:.2f}"), f"{GROWTH_AIM:.2f}")
    return table


def _each(values: Iterable[float], form: str) -> list[str]:
    return [form.format(value) for value in values]


def _edges(calls: Sequence[Call]) -> str:
    if not calls:
        return ""
    first, last = (mean(call.prompt for call in part) for part in (calls[:EDGE], calls[-EDGE:]))
    return f"{first:,.0f} → {last:,.0f}"


def _growth(calls: Sequence[Call]) -> float:
    return mean(call.frame for call in calls[-EDGE:]) / mean(call.frame for call in calls[:EDGE])


def _calls(turns: Sequence[Turn], agent: str) -> list[Call]:
    return [call for turn in turns for call in turn.calls if call.agent == agent]
