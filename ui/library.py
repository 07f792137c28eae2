"""The library: put a book in and watch it being read, see what is there, look something up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import streamlit as st

from errors import CrosscutError
from rag.ingestion import KIND, REINDEX, Ingestion, open_ingestion
from rag.retrieval import PassageRetriever
from storage.jobs import Job
from storage.library import BookRow
from ui.access import User, may_remove_book
from ui.bench import workbench
from ui.clicks import clicked
from ui.guard import guarded
from ui.identity import me
from ui.markdown import plain
from workers.celery_app import GIVE_VECTORS, INGEST, configure, send

_LOOK_EVERY_SECONDS = 1.0
_PATIENCE = timedelta(seconds=20)
_FAILURES_SHOWN_FOR = timedelta(hours=12)
_RESULTS = 6
_LONGEST_NAME = 120
_LONGEST_QUERY = 1000
_ASKED = "asked for"
_SHARES = {"read": (0.0, 0.2), "embed": (0.2, 0.95), "store": (0.95, 1.0)}
"""Where a stage begins and ends on the bar; most of the time goes into vectors."""
_REASONS = {
    "narrative": "narrative",
    "matter": "front or back matter",
    "introduction": "introduction",
    "unknown": "unknown heading",
}


def show() -> None:
    st.title("Library", anchor=False)
    st.write(
        "Reports cite diagnostic criteria from these books. Bring your own PDF of a manual that you may use: its "
        "criteria are kept in the database, and the file itself is deleted once it has been read."
    )
    if not me().is_local:
        st.caption("Everybody here works with the same books. Whoever put one in, or an admin, can remove it.")
    ingestion = open_ingestion(workbench().settings, workbench().database)
    _offer_upload(ingestion)
    _follow(ingestion)
    _show_books(ingestion)
    _offer_search(ingestion)


# ---- putting a book in ----


def _offer_upload(ingestion: Ingestion) -> None:
    st.subheader("Put a book in", anchor=False)
    with st.form("upload", clear_on_submit=True):
        file = st.file_uploader("The book as a PDF", type="pdf")
        name = st.text_input(
            "The name by which it is cited", max_chars=_LONGEST_NAME, placeholder="else the file’s name"
        )
        if not ingestion.embedder.model.startswith("embedded/"):
            st.caption(f"Its criteria are sent to {plain(ingestion.embedder.model)}, which makes the vectors.")
        with guarded():
            ask = partial(_ask_for, ingestion, file, name.strip(), me())
            if asked := clicked(
                "Put it in",
                ask,
                key="put-in",
                entered=(file and file.file_id, name),
                button=st.form_submit_button,
                type="primary",
            ):
                _begin(asked.result)


def _ask_for(ingestion: Ingestion, file: Any, name: str, user: User) -> Job | None:
    if file is None:
        return None
    cited = (name or file.name.rpartition(".")[0])[:_LONGEST_NAME]
    return ingestion.request(file.getvalue(), cited, owner=user.owner, over_others=user.is_local or user.is_admin)


def _begin(job: Job | None) -> None:
    if job is None:
        st.warning("Choose a PDF first.")
        return
    st.session_state[_ASKED] = job.id
    if job.status == "queued":
        _wake(INGEST, job)


def _wake(task: str, job: Job) -> None:
    bench = workbench()
    configure(bench.settings, database_url=bench.services.database_url, redis_url=bench.services.redis_url)
    send(task, job.id)


# ---- how far it is ----


def _follow(ingestion: Ingestion) -> None:
    busy = any(_is_under_way(job) for job in _jobs(ingestion))
    # Only while something is under way, so that a page that is left open asks for nothing.
    st.fragment(_show_jobs, run_every=_LOOK_EVERY_SECONDS if busy else None)(ingestion, busy=busy)


def _show_jobs(ingestion: Ingestion, *, busy: bool) -> None:
    with guarded():  # it runs by itself as well, where nobody else would catch what goes wrong
        jobs = _jobs(ingestion)
        if busy and not any(_is_under_way(job) for job in jobs):
            st.rerun(scope="app")
        for job in jobs:
            _show_job(job)


def _jobs(ingestion: Ingestion) -> list[Job]:
    """What is under way, what has failed lately and was not mended since, and what was asked for on this page."""
    found = [*ingestion.jobs.newest(REINDEX, limit=1), *ingestion.jobs.newest(KIND)]
    lately = datetime.now(UTC) - _FAILURES_SHOWN_FOR
    shown, names = [], set()
    for job in found:
        failed = job.status == "failed" and job.updated_at > lately and job.asked.get("name") not in names
        if failed or _is_under_way(job) or job.id == st.session_state.get(_ASKED):
            shown.append(job)
        names.add(job.asked.get("name"))
    return shown


def _is_under_way(job: Job) -> bool:
    return job.status in ("queued", "running")


def _show_job(job: Job) -> None:
    name = plain(job.asked.get("name", "New vectors"))
    match job.status:
        case "queued" | "running":
            done, said = how_far(job)
            st.progress(done, text=f"**{name}** · {said}")
            if job.status == "queued" and datetime.now(UTC) - job.updated_at > _PATIENCE:
                st.caption("No worker has taken it yet. `crosscut doctor` tells whether one runs.")
        case "failed":
            what = "could not be put in" if job.kind == KIND else "could not be made"
            st.error(f"**{name}** {what}: {plain(job.error or 'the job was ended.')}")
        case "done":
            st.success(f"**{name}** is in the library." if job.kind == KIND else "All books have new vectors.")


def how_far(job: Job) -> tuple[float, str]:
    """As a part of the whole, and in words."""
    known, stage = job.progress, job.progress.get("stage")
    if job.status == "queued" or stage not in _SHARES:
        return 0.0, "waiting for the worker"
    done, of, said = {
        "read": (known.get("page", 0), known.get("pages", 1), "reading pages"),
        "embed": (known.get("chunk", 0), known.get("chunks", 1), "embedding passages"),
        "store": (0, 1, "storing"),
    }[stage]
    begin, end = _SHARES[stage]
    part = begin + (end - begin) * done / max(of, 1)
    return min(part, 1.0), said if stage == "store" else f"{said}, {done:,} of {of:,}"


# ---- the books ----


def _show_books(ingestion: Ingestion) -> None:
    st.subheader("Books", anchor=False)
    books = ingestion.library.books()
    if not books:
        st.info("The library is empty: reports are written without passages until a book is in.")
    _show_hidden(ingestion, [book for book in books if book.embedding_model != ingestion.embedder.model])
    licensed = any(not book.illustrative for book in books)
    for book in books:
        with st.container(border=True, key=f"book-{book.id[:16]}"):
            _show_book(ingestion, book, is_searched=not (book.illustrative and licensed))


def _show_hidden(ingestion: Ingestion, hidden: list[BookRow]) -> None:
    if not hidden:
        return
    names = ", ".join(plain(book.name) for book in hidden)
    st.warning(
        f"Made with another embedding model than the one that is configured, and therefore not searched: **{names}**. "
        "New vectors make them searchable again (`crosscut reindex`, or the button below)."
    )
    with guarded():
        if asked := clicked("Give them new vectors", ingestion.request_reindex, key="reindex"):
            st.session_state[_ASKED] = asked.result.id
            _wake(GIVE_VECTORS, asked.result)
            st.rerun()


def _show_book(ingestion: Ingestion, book: BookRow, *, is_searched: bool) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        badge = " :orange-badge[illustrative, not DSM-5]" if book.illustrative else ""
        st.markdown(f"**{plain(book.name)}**{badge}", width="content")
        if may_remove_book(me(), book.owner):
            with st.popover("Remove"):
                _offer_removal(ingestion, book)
    added = book.ingested_at.astimezone().strftime("%d %b %Y, %H:%M")
    st.caption(f"{_count(book.pages, 'page')} · {_count(book.passages, 'passage')} · put in {added}")
    if not is_searched:
        st.caption("Not searched while a licensed book is in the library.")
    with st.expander(f"{_count(len(book.kept), 'section')} kept, {len(book.left_out)} left out"):
        kept, left_out = st.tabs(["Kept", "Left out"])
        _list_sections(kept, [_place(section) for section in book.kept])
        _list_sections(
            left_out, [_place(s) | {"Left out as": _REASONS.get(s["reason"], s["reason"])} for s in book.left_out]
        )


def _list_sections(tab: Any, rows: list[dict[str, str]]) -> None:
    if rows:
        tab.dataframe(rows, hide_index=True, height=min(300, 38 + 35 * len(rows)))
    else:
        tab.caption("None.")


def _place(section: dict[str, Any]) -> dict[str, str]:
    """The name of a disorder before its chapter: the end of a long line is cut off on the screen."""
    first, last = section["page_start"], section["page_end"]
    chapter, _, below = section["path"].partition(" > ")
    pages = str(first) if first == last else f"{first}–{last}"
    return {"Pages": pages, "Section": below or chapter, "Chapter": chapter if below else ""}


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _offer_removal(ingestion: Ingestion, book: BookRow) -> None:
    st.write("Its passages leave the library. Reports that cite it stay as they are.")
    with guarded():
        remove = partial(ingestion.library.remove, book.id)
        if clicked("Remove this book", remove, key=f"remove-{book.id}", type="primary"):
            st.session_state.pop(_ASKED, None)
            st.rerun()


# ---- looking something up ----


def _offer_search(ingestion: Ingestion) -> None:
    st.subheader("Look something up", anchor=False)
    query = st.text_input("What to look for", max_chars=_LONGEST_QUERY, placeholder="sudden fear with a racing heart")
    if not query.strip():
        return
    try:
        passages = PassageRetriever(ingestion.library, ingestion.embedder).find(query, limit=_RESULTS)
    except CrosscutError as error:
        st.error(plain(str(error)))
        return
    if not passages:
        st.write("Nothing was found.")
    for passage in passages:
        with st.container(border=True):
            st.caption(f"{plain(passage.citation)} · similarity {passage.similarity:.2f}")
            st.text(passage.text, width="stretch")
