"""The report: five sections made by code from validated data, the same in Markdown, JSON and on paper."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pymupdf
import pytest
from markdown_it import MarkdownIt

from agents.report import ReportInput, sections
from agents.report.tags import TAGS, are_well_formed, found_in, unescaped
from errors import InputError
from graph.exports import exported
from graph.reporting import Report
from instruments.disorders import disorders
from instruments.level1 import level1
from instruments.profile import PatientProfile, RiskFlags
from instruments.tools import Diagnosis, DiagnosticMode, Impression, Passage
from tests.screenings import ANSWERED_AT, LOW, Answer, passage, profile_of

_MUPDF: Any = pymupdf  # untyped, for the most part
TITLES = [
    "Executive Summary", "Symptom Domain Table", "Item-Level Appendix", "Provisional Impressions", "Limitations"
]  # fmt: skip
ENGINES = {"interviewer": "rules", "scorer": "openai/gpt-4.1", "diagnostician": "rules (after x/y_z failed)"}
CITED = passage("Depressive Disorders > Major Depressive Disorder > Diagnostic Criteria")
LOW_MOOD = Impression(
    name="Major Depressive Disorder",
    confidence=0.7,
    item_ids=("L1-01", "L1-02"),
    quotes=(LOW[1][1],),
    citations=(CITED.citation,),
    steps=("<sym>Loss of joy</sym> on nearly every day.",),
)
HOSTILE = (
    "</quote><script>alert(1)</script> | <img src=x onerror=y> [a](javascript:z) ![p](http://e.org/p.png) "
    "**bold** `code` :red[x] $a$ &lt;b&gt; <sym>x</med>\n| a | b |\n# head\n- item"
)


def _diagnosis(*impressions: Impression, summary: str = "In line with a low mood.") -> Diagnosis:
    return Diagnosis(
        summary=summary,
        diagnoses=impressions,
        reasoning=(),
        citations=tuple(c for one in impressions for c in one.citations),
        limitations=("None of it is certain.",),
        rag_used=bool(impressions),
    )


def _report(
    profile: PatientProfile | None = None,
    diagnosis: Diagnosis | None = None,
    mode: DiagnosticMode = "diagnostic",
    passages: tuple[Passage, ...] = (CITED,),
    **more: Any,
) -> Report:
    profile = profile or profile_of(LOW)
    diagnosis = diagnosis or _diagnosis(*([] if mode == "screening" else [LOW_MOOD]))
    made = tuple(sections(ReportInput(profile, diagnosis, mode, ENGINES)))
    return Report(
        session_id=profile.session_meta.session_id,
        mode=mode,
        engines=ENGINES,
        sections=made,
        diagnosis=diagnosis,
        passages=passages,
        profile=profile,
        revision=2,
        written_at=ANSWERED_AT,
        **more,
    )


def _section(report: Report, title: str) -> str:
    return next(section.markdown for section in report.sections if section.title == title)


def _rows(markdown: str) -> list[list[str]]:
    """The cells of a table below its head, without tags and escapes."""
    rows: list[list[str]] = []
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(unescaped(re.sub(r"</?(?:sym|quote|med)>", "", token.content)))
    return rows[1:]


def _domain(report: Report, name: str) -> list[str]:
    return next(row for row in _rows(_section(report, "Symptom Domain Table")) if row[0] == name)


def _item(report: Report, number: int) -> list[str]:
    return _rows(_section(report, "Item-Level Appendix"))[number - 1]


# ---- sections and tables ----


@pytest.mark.parametrize("mode", ["screening", "categorical", "diagnostic"])
def test_there_are_five_sections_in_the_prds_order(mode: DiagnosticMode) -> None:
    report = _report(mode=mode)
    assert [section.title for section in report.sections] == TITLES
    assert re.findall(r"^## (.*)$", report.markdown, re.MULTILINE) == TITLES
    assert all(section.markdown.strip() for section in report.sections)


def test_the_domain_table_has_a_row_for_each_of_the_13_domains() -> None:
    report = _report()
    rows = _rows(_section(report, "Symptom Domain Table"))
    assert [row[0] for row in rows] == [domain.name for domain in level1().domains]
    assert {len(row) for row in rows} == {6}
    assert _domain(report, "Depression") == [
        "Depression", "4 ●●●●", "≥ 2", "**yes**", "PROMIS Depression short form", f"{LOW[1][1]} {LOW[2][1]}"
    ]  # fmt: skip
    assert _domain(report, "Personality Functioning")[1:5] == ["2 ●●○○", "≥ 2", "**yes**", "none recommended"]
    assert _domain(report, "Psychosis") == ["Psychosis", "0 ○○○○", "≥ 1", "no", "", "—"]


def test_a_domain_below_its_threshold_gets_no_measure_but_keeps_its_words() -> None:
    report = _report(profile_of({3: (1, "Once I shouted."), 22: (1, "One cigarette.")}))
    assert _domain(report, "Anger") == ["Anger", "1 ●○○○", "≥ 2", "no", "", "Once I shouted."]
    assert _domain(report, "Substance Use")[3:5] == ["**yes**", "NIDA-modified ASSIST"]


def test_the_appendix_has_a_row_for_each_of_the_23_items() -> None:
    report = _report()
    rows = _rows(_section(report, "Item-Level Appendix"))
    assert [row[:2] for row in rows] == [[item.id, item.topic] for item in level1().items]
    assert {len(row) for row in rows} == {5}
    assert _item(report, 14) == ["L1-14", "sleep problems", "3 · More than half the days", "2", LOW[14][1]]
    assert _item(report, 12) == ["L1-12", "hearing voices", "0 · Not at all", "2", "—"]


def test_an_item_without_a_response_is_shown_as_missing_not_as_0() -> None:
    profile = profile_of(LOW)
    fewer = profile.model_copy(update={"item_responses": profile.item_responses[:-1]})
    assert _item(_report(fewer), 23)[2:] == ["—", "—", "—"]


# ---- what is not determined ----


def test_what_is_not_determined_is_never_shown_as_a_bare_score() -> None:
    report = _report(profile_of({2: (3, "Who knows."), 11: (0, "Hm.")}, ambiguities={2: 8, 11: 10, 6: 7}))
    assert _item(report, 2)[2:4] == ["not determined (best fit 3)", "8"]
    assert _item(report, 11)[2:4] == ["not determined (best fit 0)", "10"]
    assert _item(report, 6)[2:4] == ["0 · Not at all", "7"], "unclear, yet determined"
    assert _domain(report, "Depression")[1] == "not determined (best fit 3 ●●●○)"
    assert _domain(report, "Suicidal Ideation")[1] == "not determined (best fit 0 ○○○○)"
    assert _domain(report, "Anxiety")[1] == "0 ○○○○"
    assert "Items with an ambiguity of 5 or more are best fits: L1-02, L1-06, L1-11." in _section(report, "Limitations")


def test_what_is_to_be_clarified_in_person_heads_the_report_after_the_flags() -> None:
    flags = RiskFlags(self_harm_ideation=True)
    summary = _section(_report(profile_of(LOW, ambiguities={6: 5, 11: 9}, flags=flags)), "Executive Summary")
    first, second, *rest = summary.split("\n\n")
    assert first.startswith("**Risk flags**: thoughts of self-harm.")
    assert second == "**Clarify in person**: L1-06 (anxious), L1-11 (thoughts of actually hurting yourself)."
    assert not any("Clarify" in line for line in rest)
    assert "Clarify in person" not in _report().markdown


# ---- the summary ----


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("suicidality_mentioned", "suicidality mentioned"),
        ("self_harm_ideation", "thoughts of self-harm"),
        ("violence_risk", "risk of violence"),
        ("substance_abuse_signal", "substance misuse"),
    ],
)
def test_each_flag_is_named_first(flag: str, words: str) -> None:
    summary = _section(_report(profile_of(LOW, flags=RiskFlags(**{flag: True}))), "Executive Summary")
    assert summary.startswith(f"**Risk flags**: {words}. ")


def test_the_summary_says_what_was_asked_when_and_what_was_raised() -> None:
    lines = _section(_report(), "Executive Summary").split("\n\n")
    assert lines == [
        "No risk flag was raised.",
        "All 23 items of the measure were asked on 2 March 2026.",
        "Further inquiry is indicated in 3 of 13 domains: Depression, Sleep Problems, Personality Functioning.",
        "In line with a low mood.",
    ]
    several = profile_of(LOW, flags=RiskFlags(suicidality_mentioned=True, violence_risk=True))
    assert "**Risk flags**: suicidality mentioned, risk of violence." in _section(_report(several), TITLES[0])


def test_where_nothing_was_raised_that_is_said_once() -> None:
    calm = "No domain reached the threshold at which the measure asks for further inquiry."
    report = _report(profile_of({}), _diagnosis(summary=calm))
    assert report.markdown.count(calm) == 1
    assert _section(report, "Provisional Impressions") == (
        "Nothing that was reported reached a threshold, so no impression is offered."
    )


# ---- impressions in each mode ----


def test_an_impression_has_its_confidence_steps_words_scores_and_passages() -> None:
    second = LOW_MOOD.model_copy(update={"name": "Insomnia Disorder", "confidence": 0.25, "citations": ()})
    shown = _section(_report(diagnosis=_diagnosis(LOW_MOOD, second)), "Provisional Impressions")
    assert shown.split("\n\n**")[0] == (
        "**1. <med>Major Depressive Disorder</med>** — confidence 0.70\n\n"
        "- <sym>Loss of joy</sym> on nearly every day.\n"
        f"- <quote>{LOW[1][1]}</quote>\n"
        "- Item scores: L1-01 4 · L1-02 4.\n"
        "- Passages: \\[A Handbook, p. 12, Depressive Disorders &gt; Major Depressive Disorder &gt; "
        "Diagnostic Criteria\\]."
    )
    assert "**2. <med>Insomnia Disorder</med>** — confidence 0.25" in shown
    assert shown.count("Passages:") == 1


def test_a_screening_report_names_no_disorder_and_no_category() -> None:
    report = _report(mode="screening", passages=())
    assert _section(report, "Provisional Impressions") == (
        "This report was made in screening mode: domains only, no impressions."
    )
    names = [*disorders().categories, *(one.name for one in disorders().disorders)]
    everything = exported(report, "md").decode() + exported(report, "json").decode()
    assert not [name for name in names if name.casefold() in everything.casefold()]


def test_a_screening_shows_no_impression_even_if_there_were_one() -> None:
    report = _report(diagnosis=_diagnosis(LOW_MOOD), mode="screening")
    assert "Major Depressive" not in report.markdown


def test_a_categorical_report_names_the_category() -> None:
    named = LOW_MOOD.model_copy(update={"name": "Depressive Disorders", "citations": ()})
    report = _report(diagnosis=_diagnosis(named), mode="categorical", passages=())
    assert "**1. <med>Depressive Disorders</med>** — confidence 0.70" in report.markdown
    assert "Mode: categorical" in exported(report, "md").decode()


def test_raised_domains_without_an_impression_are_not_called_calm() -> None:
    shown = _section(_report(diagnosis=_diagnosis()), "Provisional Impressions")
    assert shown == "What was reported does not point to one picture, so no impression is offered."


def test_the_limitations_name_the_form_and_every_engine() -> None:
    text = _section(_report(), "Limitations")
    assert "- A conversational administration that asks for frequency alone is not the validated form" in text
    assert "- None of it is certain." in text
    engines = (
        "Questions were worded by rules, answers scored by openai/gpt-4.1, "
        "impressions formed by rules (after x/y_z failed)."
    )
    assert engines in unescaped(text)
    assert "best fits" not in text


# ---- what stands between tags ----


def _hostile() -> Report:
    """A patient and a model that write markup wherever they can."""
    answers: dict[int, Answer] = {**LOW, 2: (4, HOSTILE)}
    impression = LOW_MOOD.model_copy(
        update={"name": "<b>Low|mood</b>", "quotes": (HOSTILE,), "steps": (HOSTILE,), "citations": ("[<i>x</i>|y]",)}
    )
    return _report(profile_of(answers), _diagnosis(impression, summary=f"    {HOSTILE}"))


def test_quotes_are_what_the_patient_said_letter_for_letter() -> None:
    report = _hostile()
    said = [line.text for line in report.profile.transcript if line.role == "patient"]
    quoted = {title: found_in(_section(report, title), "quote") for title in TITLES}
    assert quoted["Symptom Domain Table"] == [LOW[1][1], HOSTILE, LOW[14][1], LOW[20][1]]
    assert quoted["Item-Level Appendix"] == quoted["Symptom Domain Table"]
    assert HOSTILE in quoted["Provisional Impressions"]
    assert all(quote in said for title in TITLES[1:3] for quote in quoted[title])


def test_tags_are_closed_and_nothing_else_is_markup_whatever_is_said() -> None:
    report = _hostile()
    for section in report.sections:
        assert are_well_formed(section.markdown)
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(exported(report, "md").decode())
    allowed = {*TAGS, "h1", "h2", "p", "ul", "li", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert set(re.findall(r"</?(\w+)", rendered)) <= allowed
    assert not re.search(r"<[^>]*\b(?:href|src|onerror)\b", rendered)
    assert [len(_rows(_section(report, title))) for title in TITLES[1:3]] == [13, 23]
    assert _item(report, 2)[4] == HOSTILE


def test_markup_is_printed_as_it_was_typed() -> None:
    text = _squeezed(_pdf(_hostile()))
    for words in ("<script>alert(1)</script>", "[a](javascript:z)", "**bold**", ":red[x]", "<b>Low|mood</b>", "#head"):
        assert words in text, words


# ---- files ----


def test_markdown_says_what_it_is_of_whom_and_in_which_mode() -> None:
    report = _report(profile_of(LOW, persona="grey-mornings"))
    head = exported(report, "md").decode().split("\n## ")[0]
    assert head.startswith("# Screening report\n\n- DSM-5 Level-1 Cross-Cutting Symptom Measure")
    shown = MarkdownIt().render(head)
    assert "Session s_1_x, revision 2, written 2 March 2026, 09:30 UTC" in shown, "underscores are no emphasis"
    assert "Mode: diagnostic" in shown
    assert "Synthetic patient: grey-mornings" in shown
    assert "Synthetic patient" not in exported(_report(), "md").decode()


def test_a_file_tells_whose_it_is_where_the_client_has_a_label() -> None:
    report, label = _report(), "C-017 <b>*x*"
    assert f"Client: {label}" in unescape(MarkdownIt().render(exported(report, "md", label).decode()))
    assert json.loads(exported(report, "json", label))["client"] == label
    with _MUPDF.open("pdf", exported(report, "pdf", label)) as pdf:
        assert f"Client: {label}" in pdf[0].get_text()
    assert "Client" not in exported(report, "md").decode()


def test_json_has_the_profile_and_the_report() -> None:
    report = _report()
    content = json.loads(exported(report, "json"))
    assert content.keys() == {"profile", "report"}
    assert PatientProfile.model_validate(content["profile"]) == report.profile
    assert content["profile"]["itemResponses"][0]["score"] == 4
    assert [section["title"] for section in content["report"]["sections"]] == TITLES
    assert content["report"]["diagnosis"]["diagnoses"][0]["itemIds"] == ["L1-01", "L1-02"]
    assert "profile" not in content["report"]
    whole = Report.model_validate({**content["report"], "profile": content["profile"]})
    assert whole == report


@pytest.mark.parametrize("form", ["md", "json", "pdf"])
def test_a_stop_after_the_report_and_an_illustrative_book_are_told_in_every_file(form: str) -> None:
    book = passage("Depressive Disorders", book="Sample (illustrative handbook, not DSM-5)")
    plain, told = _report(), _report(passages=(book,), stopped=True)
    stop, illustration = "This session was stopped for safety after this report was written.", "illustrative handbook"
    before, after = (_content(report, form) for report in (plain, told))
    assert (stop in after or '"stopped": true' in after, illustration in after) == (True, True)
    assert (stop in before or '"stopped": true' in before, illustration in before) == (False, False)


def _content(report: Report, form: str) -> str:
    if form == "pdf":
        return " ".join("".join(page.get_text() for page in _pdf(report)).split())
    return exported(report, form).decode()


def test_another_format_is_refused() -> None:
    with pytest.raises(InputError, match="md, json, pdf, not as 'docx'"):
        exported(_report(), "docx")


# ---- on paper ----


def _pdf(report: Report) -> Any:
    return _MUPDF.open("pdf", exported(report, "pdf"))


def _squeezed(pdf: Any) -> str:
    """The text of all pages without white space: lines break where they will."""
    return "".join("".join(page.get_text() for page in pdf).split())


def _words(pdf: Any) -> list[tuple[Any, ...]]:
    return [(page.number, *word) for page in pdf for word in page.get_text("words")]


def _is_inside(pdf: Any) -> bool:
    """Nothing is cut off: every word is within the margins of its page."""
    return all(min(x0, y0) > 40 and x1 < 555 and y1 < 830 for _, x0, y0, x1, y1, *_ in _words(pdf))


def test_the_pdf_has_everything_and_its_pages_are_counted() -> None:
    report = _report(profile_of(LOW, ambiguities={6: 5}, flags=RiskFlags(violence_risk=True)))
    pdf = _pdf(report)
    assert len(pdf) == 3
    pages = [" ".join(page.get_text().split()) for page in pdf]
    for title in TITLES:
        assert sum(page.count(title) for page in pages) == 1
    for item in level1().items:
        assert sum(page.count(item.id) for page in pages) >= 1
    assert "Bar: highest item of the domain" in pages[0]
    assert all(domain.name in pages[0] for domain in level1().domains)
    assert "Marked: symptom or domain · the patient’s own words · medical term" in pages[0]
    assert "Clarify in person: L1-06 (anxious)." in pages[0]
    assert all("Screening only, not a diagnosis. Confidential." in page for page in pages)
    assert [f"{n} of 3" in page for n, page in enumerate(pages, start=1)] == [True, True, True]
    assert f"“{LOW[14][1]}”" in pages[1]
    assert pdf.metadata["title"] == "Screening report"
    assert _is_inside(pdf)


def test_the_chart_has_a_bar_for_each_domain_and_marks_what_is_raised_or_not_determined() -> None:
    page = _pdf(_report(profile_of(LOW, ambiguities={2: 9, 11: 10})))[0]
    fills = [drawing["fill"] for drawing in page.get_drawings() if drawing["fill"]]
    colours = [tuple(round(part, 2) for part in fill) for fill in fills]
    assert colours.count((0.75, 0.3, 0.2)) == 3, "Depression, Sleep Problems, Personality Functioning"
    assert colours.count((0.62, 0.72, 0.8)) == 10
    assert colours.count((1.0, 1.0, 1.0)) == 1, "hollow: Depression"
    assert colours.count((0.2, 0.2, 0.2)) == 13, "thresholds"
    marked = [word[:4] for word in page.get_text("words") if word[4] == "?"]
    assert len(marked) == 2, "Depression and Suicidal Ideation, whose bar is too short to be hollow"


def test_a_quote_of_5000_words_goes_on_over_pages_and_loses_none() -> None:
    words = [f"w{n:04d}" for n in range(5000)]
    pdf = _pdf(_report(profile_of({**LOW, 2: (4, " ".join(words))})))
    printed = [word[5] for word in _words(pdf) if re.fullmatch(r"“?w\d{4}”?", word[5])]
    assert [word.strip("“”") for word in printed] == words * 2, "in the domain's row and in the item's"
    assert 10 < len(pdf) < 40
    assert _is_inside(pdf)
    text = _squeezed(pdf)
    assert all(item.id in text for item in level1().items)
    heads = sum("Ambiguity" in page.get_text() for page in pdf)
    assert heads >= 2, "a table that goes on has its head again"


def test_a_word_without_an_end_is_broken_and_not_cut_off() -> None:
    endless = "".join(f"{n:04d}x" for n in range(200))
    pdf = _pdf(_report(profile_of({**LOW, 2: (4, endless)}), _diagnosis(LOW_MOOD, summary=endless)))
    assert _squeezed(pdf).count(endless) == 3
    assert _is_inside(pdf)


@pytest.mark.parametrize(
    "text",
    [
        "אני עצוב כל יום",
        "أشعر بالحزن كل يوم",
        "I feel 😢 and 👨‍👩‍👧 every day 🎉",
        "我每天都觉得难过",
        "\u202eback to front\u202c",
    ],
    ids=["hebrew", "arabic", "emoji", "chinese", "override"],
)
def test_any_script_is_kept_letter_for_letter_and_printed(text: str) -> None:
    report = _report(profile_of({**LOW, 2: (4, text)}))
    assert _item(report, 2)[4] == text
    assert json.loads(exported(report, "json"))["profile"]["itemResponses"][1]["evidenceQuotes"] == [text]
    pdf = _pdf(report)
    assert "\ufffd" not in _squeezed(pdf), "every sign has a glyph"
    assert _is_inside(pdf)


def test_hebrew_and_chinese_can_be_searched_for_on_paper_and_emoji_have_a_font() -> None:
    answers: dict[int, Answer] = {2: (4, "עצוב"), 14: (4, "难过"), 1: (4, "so 😢")}
    pdf = _pdf(_report(profile_of(answers)))
    text = _squeezed(pdf)
    assert "עצוב" in text
    assert "难过" in text
    assert any("Emoji" in font[3] for page in pdf for font in page.get_fonts())
