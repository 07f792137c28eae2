"""What a session's view means to a therapist: flags in words, items left open and why, the turn a quote is from."""

from __future__ import annotations

from collections.abc import Collection

from graph.state import Line, ScoreRecord
from graph.view import View
from instruments.level1 import item_id, item_number
from instruments.profile import ItemResponse, RiskFlags

FLAG_NAMES = {
    "suicidality_mentioned": "suicidality mentioned",
    "self_harm_ideation": "self-harm ideation",
    "violence_risk": "risk of violence",
    "substance_abuse_signal": "substance signal",
}
PAUSED = "The patient has paused the interview."


def flag_names(flags: RiskFlags) -> list[str]:
    return [label for name, label in FLAG_NAMES.items() if getattr(flags, name)]


def shown_score(response: ItemResponse) -> str:
    return f"not determined (best fit {response.score})" if response.undetermined else str(response.score)


def ambiguity(of_answer: int) -> str:
    """With its scale, which nobody could guess."""
    return f"ambiguity {of_answer} of 10"


def open_points(view: View) -> list[str]:
    """Each item that is left open, and why."""
    found = [f"{identifier}: {why_open(view, identifier)}" for identifier in open_items(view)]
    return [PAUSED, *found] if view.paused else found


def open_items(view: View) -> list[str]:
    disagreed = {item_id(item) for item, record in view.records.items() if disagreement(record) is not None}
    return sorted({*view.profile.question_state.follow_ups_needed, *disagreed})


def why_open(view: View, identifier: str) -> str:
    response, record = view.profile.response(identifier), view.records.get(item_number(identifier))
    if response is None or record is None:
        return "not answered yet"
    if record.unanswered:
        return "no answer was given"
    if (rules := disagreement(record)) is not None:
        return f"the model scored {response.score}, the rules {rules}"
    if response.undetermined:
        return f"not determined (best fit {response.score})"
    unclear = f"unclear (score {response.score}, {ambiguity(response.ambiguity)})"
    return f"{unclear}, or taken up again by the patient later"


def disagreement(record: ScoreRecord) -> int | None:
    """The rules' score, where it is far from the model's."""
    opinion = record.second_opinion
    return opinion.score if opinion and opinion.disagrees else None


def turn_of(quote: str, lines: tuple[Line, ...], items: Collection[int] = ()) -> int | None:
    """The turn in which the patient said this: about these items first, else wherever it was said."""
    said = [line for line in lines if line.role == "patient" and quote and quote in line.text]
    about = [line for line in said if line.item in items]
    return (about or said)[0].turn if said else None


def turn_about(item: int, lines: tuple[Line, ...]) -> int | None:
    """The last turn in which the patient spoke about an item."""
    return next((line.turn for line in reversed(lines) if line.role == "patient" and line.item == item), None)
