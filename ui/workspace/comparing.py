"""The Benchmark button: the driver and up to two other models on the same frozen session, made by a worker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import streamlit as st

from benchmark.comparison import Comparison, ComparisonDesk, RunState, as_csv, as_json, as_markdown
from benchmark.comparison.desk import MOST_MODELS
from benchmark.snapshot import Frozen
from errors import CrosscutError, ServiceError
from settings import RULES
from ui.bench import settings
from ui.clicks import clicked
from ui.guard import guarded
from ui.workspace.columns import agreement_table, column_table, diff_of, impression_table
from ui.workspace.markup import badge, draw, text
from ui.workspace.prose import as_html
from ui.workspace.voting import VOTE, go_to, offer_override, show_history, told_apart
from ui.workspace.who import voter

_LOOK_EVERY_SECONDS = 1.0
_PATIENCE = timedelta(seconds=20)
_SAID = {
    "waiting": ("waiting", ""),
    "asked": ("is asked …", ""),
    "answered": ("has answered, is judged …", ""),
    "done": ("done", "pass"),
    "failed": ("failed", "fail"),
}
_ENOUGH = 2
_NO_OTHERS = "No other model is set up here: whoever runs this installation names them with a key (.env.example)."


def show_comparison(desk: ComparisonDesk, frozen: Frozen) -> None:
    _offer_run(desk, frozen, first=not _runs(desk, frozen))
    if runs := _runs(desk, frozen):
        _show_run(desk, _choose(runs))


def _runs(desk: ComparisonDesk, frozen: Frozen) -> list[RunState]:
    return [run for run in desk.runs_of(frozen.session_id) if run.snapshot_sha256 == frozen.sha256]


# ---- asking ----


def _offer_run(desk: ComparisonDesk, frozen: Frozen, *, first: bool) -> None:
    driver = desk.snapshots.get(frozen.sha256).provenance.models["diagnostician"].model
    # A form: what is chosen in it draws nothing anew until it is asked for.
    with st.container(key="ask-comparison"), st.form(f"ask-{frozen.sha256[:12]}"):
        draw(
            f"<p>Driver: <b>{text(_named(driver))}</b></p>"
            '<p class="soft">Only the diagnostician is replayed, on the frozen conversation, scores and passages. No '
            "model sees the report that was written.</p>"
        )
        offered = [model for model in (*settings().offered_models, settings().model_diagnostician) if model != driver]
        if not offered:
            draw(f'<p class="soft">{_NO_OTHERS}</p>')
        models = st.multiselect(
            "Compare it with",
            list(dict.fromkeys(offered)),
            max_selections=MOST_MODELS,
            accept_new_options=True,
            placeholder="up to two models: choose, or type an id",
            key=f"models-{frozen.sha256}",
            format_func=_named,
        )
        try:
            clicked(
                "Benchmark",
                partial(desk.ask, frozen.sha256, models),
                key="compare",
                entered=(frozen.sha256, *models),
                button=st.form_submit_button,
                type="primary" if first else "secondary",
                icon=":material/compare_arrows:",
            )
        except ServiceError:
            raise
        except CrosscutError as error:
            draw(f'<p class="cc-error">{text(str(error))}</p>')


def _named(model: str) -> str:
    return "rules (embedded)" if model == RULES else model


def _choose(runs: Sequence[RunState]) -> RunState:
    if len(runs) == 1:
        return runs[0]
    by_id = {run.run_id: run for run in runs}
    run_id: str = st.selectbox(
        "Comparison",
        list(by_id),
        format_func=told_apart(runs, lambda run: ", ".join(c.model for c in run.columns)).__getitem__,
        key=f"run-{runs[0].run_id}",
    )
    return by_id[run_id]


# ---- while it is made ----


def _show_run(desk: ComparisonDesk, run: RunState) -> None:
    if run.status in ("queued", "running"):
        st.fragment(_follow, run_every=_LOOK_EVERY_SECONDS)(desk, run.run_id)
    elif run.status == "done":
        _show_made(desk, run)
    else:
        draw(f'<p class="cc-error">This comparison was not made: {text(run.error or run.status)}</p>')


def _follow(desk: ComparisonDesk, run_id: str) -> None:
    with guarded():
        run = desk.state(run_id)
        if run.status not in ("queued", "running"):
            st.rerun(scope="app")
        over = sum(column.stage in ("done", "failed") for column in run.columns)
        st.progress(over / len(run.columns), text=f"{over} of {len(run.columns)} models are done")
        rows = "".join(f"<li><b>{text(_named(one.model))}</b> {badge(*_SAID[one.stage])}</li>" for one in run.columns)
        draw(f"<ul>{rows}</ul>", "cc-stages")
        if run.status == "queued" and datetime.now(UTC) - run.asked_at > _PATIENCE:
            st.caption("No worker has taken it yet. `crosscut doctor` tells whether one runs.")


# ---- side by side ----


def _show_made(desk: ComparisonDesk, run: RunState) -> None:
    seen, shown = desk.has_seen(run.run_id, voter()), f"show-columns-{run.run_id}"
    if desk.open_ballot(run.run_id, voter()):
        st.info("You hold a ballot of this comparison. Its columns and figures come after your vote.")
        st.button("To the ballot", key="to-ballot", type="primary", on_click=go_to, args=(VOTE,))
    elif not seen and not st.session_state.get(shown) and desk.can_vote(run.run_id, voter()):
        st.success(
            "The comparison is ready. Vote before you look: once the columns are shown, your vote is no longer blind.",
            icon=":material/check:",
        )
        with st.container(horizontal=True):
            st.button("Vote blind first", key="vote-first", type="primary", on_click=go_to, args=(VOTE,))
            show = partial(st.session_state.__setitem__, shown, True)
            st.button("Show the columns", key="show-columns", on_click=show)
    else:
        _show_columns(desk.comparison(run.run_id, voter()))
        st.fragment(_show_judgements)(desk, run)


def _show_judgements(desk: ComparisonDesk, run: RunState) -> None:
    """An override changes nothing of the columns above it."""
    with guarded():
        offer_override(desk, run)
        show_history(desk, run.run_id)


def _show_columns(made: Comparison) -> None:
    draw(column_table(made), "cc-wide cc-columns")
    if made.impressions:
        st.markdown("#### Impressions", anchors=False)
        draw(impression_table(made), "cc-wide cc-columns")
    if made.agreements:
        st.markdown("#### How far they agree", anchors=False)
        draw(agreement_table(made), "cc-wide")
        st.caption("Agreement is not accuracy: two models can agree and be wrong.")
    for diff in made.diffs:
        with st.expander(f"Word by word, from {_code(diff.left)} to {_code(diff.right)}"):
            draw(diff_of(diff), "cc-diff")
    if sum(bool(column.sections) for column in made.columns) >= _ENOUGH:
        with st.expander("The reports side by side"):
            _show_reports(made)
    _offer_files(made)


def _code(model: str) -> str:
    """For a label, which reads Markdown: an id has no backtick."""
    return f"`{model}`"


def _show_reports(made: Comparison) -> None:
    told = [column for column in made.columns if column.sections]
    for place, column in zip(st.columns(len(told), gap="medium"), told, strict=True):
        with place:
            sections = "".join(
                f"<h3>{text(section.title)}</h3>{as_html(section.markdown, lambda *_: None)}"
                for section in column.sections
            )
            draw(f"<p><b>{text(_named(column.model))}</b></p>{sections}", "cc-report")


def _offer_files(made: Comparison) -> None:
    run_id = made.state.run_id
    with st.container(horizontal=True):
        for name, form, mime, write in (
            ("JSON", "json", "application/json", as_json),
            ("CSV", "csv", "text/csv", as_csv),
            ("Markdown", "md", "text/markdown", as_markdown),
        ):
            st.download_button(
                name,
                partial(_encoded, write(made)),
                file_name=f"comparison-{run_id}.{form}",
                mime=mime,
                icon=":material/download:",
                key=f"comparison-{form}",
                on_click="ignore",
            )


def _encoded(content: str) -> bytes:
    return content.encode()
