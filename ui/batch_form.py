"""What a batch run is to do, by a form or by a spec; both become the same `RunSpec`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import streamlit as st

from benchmark.personas import load_personas
from benchmark.runs.desk import RunDesk
from benchmark.runs.spec import ALL, RunSpec, parse_spec, spec_in
from errors import CrosscutError, InputError
from instruments.tools import DiagnosticMode
from settings import RULES
from ui.bench import settings
from ui.clicks import clicked
from ui.markdown import plain
from ui.workspace.markup import draw, text

_EXAMPLE = """name: rules and a model
personas: all            # or a list of ids
models: [rules]          # and ids such as openai/gpt-4.1-mini
modes: [diagnostic]
repeats: 3
"""
_MOST_REPEATS = 1000
_ANSWERS = "answers"


def offer_run(desk: RunDesk, on_start: Callable[[str], None], *, owner: str) -> None:
    start = partial(desk.start, owner=owner)
    by_form, by_spec = st.tabs(["By form", "By spec"])
    with by_form, st.form("run", border=False):
        wanted = _by_form()
        _offer_start("Start the run", lambda: start(parse_spec(wanted, "the form")), on_start)
    with by_spec, st.form("spec", border=False):
        said, answers = _by_spec()
        _offer_start("Start from this spec", lambda: _start_from(start, said, answers), on_start)


def _by_form() -> dict[str, Any]:
    people = load_personas()
    name = st.text_input("Name", max_chars=80, placeholder="rules on four personas", key="run-name")
    personas = st.multiselect(
        "Personas",
        list(people),
        key="run-personas",
        placeholder=f"all {len(people)}",
        format_func=lambda one: f"{one}: {people[one].description}",
    )
    models = st.multiselect(
        "Models",
        list(settings().offered_models),
        default=[RULES],
        accept_new_options=True,
        key="run-models",
        help="Choose, or type a model’s id. It words, scores and weighs; `rules` is the embedded engine.",
    )
    if (who := settings().model_patient) != RULES:
        st.caption(f"Personas are played by {plain(who)}; a spec that says `patient: rules` lets their script speak.")
    left, middle, right = st.columns(3, vertical_alignment="bottom")
    modes = left.multiselect("Modes", get_args(DiagnosticMode), default=["diagnostic"], key="run-modes")
    repeats = middle.number_input("Repeats", 1, _MOST_REPEATS, 1, key="run-repeats", help="Of every patient.")
    seed = right.number_input("Seed", 0, 2**32 - 1, 0, key="run-seed", help="The same seed gives the same answers.")
    judge = st.checkbox(
        "Let the judge score every report", key="run-judge", disabled=settings().gateway_api_key is None,
        help="Needs GATEWAY_API_KEY, and costs a call an interview.",
    )  # fmt: skip
    return {
        "name": name.strip() or "Untitled run", "personas": personas or ALL, "models": models, "modes": modes,
        "repeats": repeats, "seed": seed, "judge": judge,
    }  # fmt: skip


def _by_spec() -> tuple[str, Any]:
    file = st.file_uploader("A spec as a file", type=["yaml", "yml"], key="spec-file", help="Else paste it below.")
    pasted = st.text_area("The spec (YAML)", placeholder=_EXAMPLE, height=170, key="spec-text")
    answers = st.file_uploader(
        "Prepared answers",
        type=["jsonl"],
        key="spec-answers",
        help="For a spec that says `answers`: one patient a line.",
    )
    said = file.getvalue().decode("utf-8", "replace") if file else pasted
    return said, answers


def _from_text(said: str, answers: Any, folder: Path) -> RunSpec:
    """A path in it is never read: of this machine's files nothing is anybody's business."""
    if not said.strip():
        raise InputError("paste a spec or choose a file first.")
    spec = spec_in(said)
    if spec.answers is None:
        return spec
    if answers is None:
        raise InputError("the spec says `answers`: choose that file as well, under “Prepared answers”.")
    path = folder / (Path(answers.name).name or _ANSWERS)
    path.write_bytes(answers.getvalue())
    return spec.model_copy(update={"answers": path})


def _start_from(start: Callable[[RunSpec], str], said: str, answers: Any) -> str:
    with TemporaryDirectory() as folder:
        try:
            return start(_from_text(said, answers, Path(folder)))
        except InputError as error:
            raise InputError(str(error).replace(f"{folder}/", "")) from None


def _offer_start(label: str, begin: Callable[[], str], on_start: Callable[[str], None]) -> None:
    submit = partial(st.form_submit_button, type="primary", icon=":material/play_arrow:")
    try:
        begun = clicked(label, begin, key=label, button=submit)
    except CrosscutError as error:
        draw("".join(f'<p class="cc-error">{text(line)}</p>' for line in str(error).splitlines()))
        return
    if begun:
        on_start(begun.result)
        st.rerun()
