"""What the workspace draws as HTML: whatever anybody wrote comes out as text, letter for letter."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.report.tags import quote, tagged
from agents.risk import Span
from agents.risk.tables import cues
from graph.interview import NODES
from graph.runtime import InterviewRuntime
from graph.state import Line, RiskRecord, ScoreRecord, SecondOpinion
from graph.view import View
from tests.answers import answer_until
from tests.workspace import say
from ui.workspace.findings import open_items, turn_of, why_open
from ui.workspace.markup import text
from ui.workspace.prose import as_html
from ui.workspace.risk import scored_flags
from ui.workspace.scores import open_list, quoted, scores
from ui.workspace.transcript import Marks, fresh_line, marked, transcript
from ui.workspace.words import rule_told, steps

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "</span></div></ol><a href='javascript:alert(1)'>x</a>",
    '" onmouseover="alert(1)" x="',
    "&lt;b&gt; &#60;b&#62; <!-- x --> <![CDATA[ y ]]>",
    "[a](javascript:alert(1)) ![b](http://evil.example/b.png) `c` **d** | e",
    "<quote>mine</quote> <sym>yours</sym>",
)
OURS = {"div", "span", "ol", "ul", "li", "mark", "a", "b", "p", "table", "thead", "tbody", "tr", "th", "td", "h3",
        "section", "i"}  # fmt: skip
ANYTHING = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=80) | st.sampled_from(HOSTILE)


class Read(HTMLParser):
    """What a browser would make of it."""

    def __init__(self, body: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.tags = "", list[str]()
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(body)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.tags.append(f"comment {data}")

    @property
    def is_ours(self) -> bool:
        known = {"class", "href", "id", "style", "aria-current", "data-head"}
        links = [value or "" for name, value in self.attributes if name == "href"]
        return (
            set(self.tags) <= OURS
            and {name for name, _ in self.attributes} <= known
            and all(link.startswith("?session=") for link in links)
        )


def line(turn: int, said: str, role: str = "patient", kind: str = "answer", item: int = 1) -> Line:
    return Line(turn=turn, role=role, kind=kind, text=said, item=item, at=NOW)


@pytest.fixture
def view(runtime: InterviewRuntime) -> View:
    return say(runtime, runtime.start(seed=3), "Several days.", "Nearly every day.")


@given(said=ANYTHING, begins=st.integers(-3, 60), length=st.integers(0, 90))
def test_marked_words_are_the_words(said: str, begins: int, length: int) -> None:
    begins = max(0, begins)
    spans = (Span(start=begins, end=begins + length, cue="x"), Span(start=begins + 1, end=begins + 3, cue="y"))
    read = Read(marked(said, spans, "flag"))
    assert read.text == said
    assert set(read.tags) <= {"mark"}


@given(said=ANYTHING)
def test_a_report_shows_what_was_said_and_nothing_of_it_acts(said: str) -> None:
    def where(words: str, _: str) -> str | None:
        return "?session=s&turn=1" if words == said else None

    table = f"| a | b | c |\n| --- | --- | --- |\n| {tagged('sym', said)} | {quote(said)} | x |"
    for markdown in (f"- {quote(said)}", f"**1. {tagged('med', said)}** yes", table):
        read = Read(as_html(markdown, where))
        assert said.strip() in read.text or not said.strip()
        assert read.is_ours


def test_html_in_a_report_that_is_not_ours_is_shown_as_text() -> None:
    prose = "a <img src=x onerror=alert(1)> <b>b</b> [c](http://evil.example)"
    raw = f'{prose}\n\n<div onclick="x">d</div>\n\n    code <i>e</i>\n'
    read = Read(as_html(raw, lambda *_: None))
    assert set(read.tags) == {"p"}
    assert "<img src=x onerror=alert(1)>" in read.text
    assert '<div onclick="x">d</div>' in read.text


def test_a_quote_in_a_table_is_asked_for_with_what_its_row_is_about() -> None:
    asked: list[tuple[str, str]] = []
    rows = f"| L1-03 | {quote('yes')} |\n| {tagged('sym', 'Sleep')} | {quote('no')} |"
    as_html(f"| a | b |\n| --- | --- |\n{rows}\n\n- {quote('so')}", lambda *call: asked.append(call))
    assert asked == [("yes", "L1-03"), ("no", "Sleep"), ("so", "")]


@pytest.mark.parametrize("said", HOSTILE)
def test_a_transcript_shows_what_was_said_and_nothing_of_it_acts(view: View, said: str) -> None:
    lines = (line(1, said, "interviewer", "question"), line(1, said), line(2, said, "interviewer", "question", 2))
    risk = RiskRecord(level="stop", rule="r", spans=(Span(start=2, end=9, cue="x"),))
    hostile = replace(view, lines=lines, risks={1: risk})
    for marks in (Marks(), Marks(chosen=1, fresh=lines[-1])):
        read = Read(transcript(hostile, marks))
        assert read.text.count(said) == 3
        assert read.is_ours
        assert "mark" in read.tags


def test_scores_and_quotes_lead_to_the_turn_they_are_from(view: View) -> None:
    drawn = scores(view, {"L1-01": "<b>noted</b>"})
    assert Read(drawn).is_ours
    assert "<b>noted</b>" in drawn
    assert re.findall(r"turn=(\d+)", drawn) == ["1", "2"]
    assert "not asked yet" in Read(drawn).text
    hostile = quoted(replace(view, lines=(line(7, HOSTILE[2]),)), HOSTILE[2])
    assert Read(hostile).is_ours
    assert Read(hostile).text == f"“{HOSTILE[2]}”"
    assert "turn=7" in hostile


def test_a_quote_is_looked_for_where_its_item_was_spoken_of() -> None:
    lines = (line(1, "Several days.", item=1), line(2, "Several days, I think.", item=2), line(3, "No.", "interviewer"))
    assert turn_of("Several days", lines, [2]) == 2
    assert turn_of("Several days", lines) == 1
    assert turn_of("No.", lines) is None  # the interviewer's word, not the patient's
    assert turn_of("", lines) is None


def test_a_model_that_the_rules_contradict_is_left_open_even_where_they_say_zero(view: View) -> None:
    opinion = SecondOpinion(score=0, ambiguity=2, disagrees=True)
    record = ScoreRecord(engine="llm", model="m", prompt_version="1", tries=1, seconds=0.1, second_opinion=opinion)
    doubted = replace(view, records={**view.records, 1: record})
    assert open_items(doubted) == ["L1-01"]
    assert why_open(doubted, "L1-01") == "the model scored 2, the rules 0"
    assert "second opinion: the rules say 0" in scores(doubted, {})
    assert "L1-01" in open_list(doubted)
    assert open_list(doubted, {"L1-01"}) == ""  # a person has decided


def test_what_came_while_somebody_looked_on_appears_word_by_word(view: View) -> None:
    newest = view.lines[-1]
    assert fresh_line(view, seen=view.turn) is None
    assert fresh_line(view, seen=view.turn - 1) is newest
    drawn = transcript(view, Marks(fresh=newest))
    assert drawn.count('class="word"') == len(newest.text.split(" "))
    assert newest.text in Read(drawn).text


def test_signs_that_a_page_cannot_show_are_left_out() -> None:
    assert text("a\x00b\x1b[31m\tc\nd") == "ab[31m\tc\nd"


def test_every_step_and_every_rule_is_told_in_words_with_its_name_beside_it() -> None:
    rules = [cue.id for cue in cues().values() if cue.level in ("flag", "stop")]
    assert len(rules) > 20
    for name in (*rules, "self-plan:decided+soon", "second-reader", "model", "unreadable", "clinician"):
        words, _, named = rule_told(name, "stop").partition(" <small")
        assert f">{text(name)}</small>" in named
        assert words not in (name, name.replace("-", " "))
    assert rule_told("language:French", "stop").startswith("danger, said in French <small")
    assert rule_told("suicide-intent", "flag").startswith("intent to die, said outright; here denied, past, ")
    assert rule_told("suicide-thought", "flag").startswith("thoughts of suicide <small")
    assert rule_told("item-11-dated", "stop").startswith("a yes to the question about it <small")
    for node in (*NODES, "START"):
        assert steps([node]).partition(" <small")[0] != node.lower().replace("_", " ")
    assert steps(["SCORE_ITEM", "DRAFT"]) == ("answer scored, next question worded <small>SCORE_ITEM + DRAFT</small>")
    assert "<b>" not in rule_told("<b>", "flag") + steps(["<b>"])


def test_a_flag_that_only_a_score_has_set_names_the_item_and_the_words(runtime: InterviewRuntime) -> None:
    view = answer_until(runtime, runtime.start(seed=1), 11, "Not at all.")
    view = say(runtime, view, "On two days <b>truly</b>")
    alone = replace(view, risks={})
    (row,) = scored_flags(alone)
    assert "self-harm ideation, by the score of L1-11" in row
    assert text("On two days <b>") in row
    assert all(tag in OURS for tag in re.findall(r"<(\w+)", row))
    assert list(scored_flags(view)) == [], "it is told with the words that the check found"
