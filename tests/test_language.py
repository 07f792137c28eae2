"""Reading what people write: spelling tricks undone with the way back, clauses, the pattern language, readability."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.language import BOUNDARY, Scanner, Words, clauses, compile_patterns, is_readable, read
from agents.language.tagging import spellings, words_of

TRICKS = [
    ("I'm going to kill myself", "i'm going to kill myself"),
    ("1m g0nna k1ll mys3lf t0night", "i'm going to kill myself tonight"),
    ("k!ll", "kill"),
    ("k i l l  m y s e l f", "kill myself"),
    ("g o i n g t o e n d m y l i f e", "going to end my life"),
    ("g o i n g  t o  e n d  m y  l i f e", "going to end my life"),
    ("s.u.i.c.i.d.e tonight", "suicide tonight"),
    ("k*ll myself, s**cide", "kill myself, suicide"),
    ("ki\u200bll my\u200dself", "kill myself"),
    ("ki\x00ll my\x07\x07self", "kill myself"),
    ("want \x00 to\x00 die", "want to die"),
    ("ｋｉｌｌ ｍｙｓｅｌｆ", "kill myself"),
    ("kіll mуsеlf", "kill myself"),  # Cyrillic letters among the Latin ones
    ("ᴋɪʟʟ ᴍʏꜱᴇʟꜰ", "kill myself"),
    ("k̶i̶l̶l̶ myself", "kill myself"),
    ("kiiiilllll myselffff tonighttttt", "kill myself tonight"),
    ("#iwanttodie", "#i want to die"),
    ("i wnat to kil myslef", "i want to kill myself"),
    ("im goign to kil myslef tonihgt", "i'm going to kill myself tonight"),
    ("gonna kms tn", "going to kill myself tonight"),
    ("unalive my self", "kill myself"),
    ("want 2 die 2nite", "want to die tonight"),
    ("I want to\nkill   myself", "i want to kill myself"),
    ("“it’s” — fine…", '"it\'s" — fine...'),
    ("i will ki<b></b>ll my<I CLASS='x'></I>self", "i will kill myself"),
    ('ki<!-- -->ll my<span style="color: red" hidden>se</span>lf', "kill myself"),
    ("I want<br>to<br/>die", "i want to die"),
]


@pytest.mark.parametrize(("original", "meant"), TRICKS)
def test_spelling_tricks_are_undone(original: str, meant: str) -> None:
    assert read(original).text == meant


@pytest.mark.parametrize(("original", "meant"), TRICKS)
def test_every_character_leads_back_to_where_it_came_from(original: str, meant: str) -> None:
    reading = read(original)
    assert len(reading.text) == len(reading.starts) == len(reading.ends)
    for at in range(len(meant)):
        start, end = reading.span(at, at + 1)
        assert 0 <= start < end <= len(original)
    assert reading.span(0, len(meant)) == (0, len(original))


def test_a_span_covers_the_disguised_words_and_no_more() -> None:
    original = "Well, i want to k i l l  m y s e l f, honestly"
    reading = read(original)
    at = reading.text.index("kill myself")
    start, end = reading.span(at, at + len("kill myself"))
    assert original[start:end] == "k i l l  m y s e l f"


@pytest.mark.parametrize(
    "text",
    [
        "ran 5 kms",
        "the last two kms were uphill",
        "a few kms away",
        "the airport is 40kms off",
        "how many of the kms",
        "I ran kms and kms on Sunday",
        "We walked kms along the beach today",
        "kms driven today: 80",
        "You can see for kms",
        "kms of road, and no shop",
        "Kms covered: 12",
    ],
)
def test_kilometres_are_distances(text: str) -> None:
    assert "kill" not in read(text).text


@pytest.mark.parametrize(
    "text",
    [
        "gonna kms tonight", "I want to kms", "kms fr", "kms.", "tmrw i kms", "kms thoughts all day",
        "gonna kms along the line", "going to kms and run", "kms on Sunday, I mean it",
    ],
)  # fmt: skip
def test_kms_is_shorthand_where_nothing_tells_of_a_distance(text: str) -> None:
    assert "kill myself" in read(text).text


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Nobody else did.You were the last.", "nobody else did. you were the last."),
        ("nobody else did.you were the last", "nobody else did. you were the last"),
        ("Really?No!I won't.", "really? no! i won't."),
        ("I will kill.myself", "i will kill myself"),
        ("e.g. this, 3.5 days, 9 a.m.", "e.g. this, 3.5 days, 9 a.m."),
        ("A Ph.D in law", "a ph.d in law"),
        ("Dr.Who at someone@about.me", "dr.who at someone@about.me"),
        ("see x.org or notes.doc", "see x.org or notes.doc"),
        ("about.me/so and https://go.to/it", "about.me/so and https://go.to/it"),
        ("well...you know", "well...you know"),
    ],
)
def test_a_sentence_ends_without_a_space_and_a_name_does_not(text: str, meant: str) -> None:
    assert read(text).text == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("k i l l i n g  m y s e l f  t o n i g h t  b y e", "killing myself tonight bye"),
        ("y3s. pl4n r34dy. t0m0rr0w.", "yes. plan ready. tomorrow."),
        ("n0pe, n0 alc0hol, b4by k33ps us up", "nope, no alcohol, baby keeps us up"),
        ("my sue side plan, going threw with it", "my suicide plan, going through with it"),
    ],
)
def test_any_everyday_word_may_be_disguised(text: str, meant: str) -> None:
    assert read(text).text == meant


@pytest.mark.parametrize(
    "text",
    ["awake at 1am", "50s music at 4pm", "vitamin b12, 10mg, 3x", "a 9ish start on the m25", "mp3s and an a4 page"],
)
def test_what_is_written_with_digits_is_no_disguise(text: str) -> None:
    assert read(text).text == text


@pytest.mark.parametrize(
    "phrase",
    [
        "colou?r(s)?",
        "the (whole )?(day|night(time)?) through",
        "(un|)easy (a|b c)(d|e f)?",
        "not( a| one)? (bit|jot)",
        "plain words",
    ],
)
def test_the_words_of_a_phrase_are_those_of_all_its_spellings(phrase: str) -> None:
    assert words_of(phrase) == {word for spelling in spellings(phrase) for word in spelling.split()}


def test_the_words_of_a_phrase_with_millions_of_spellings_are_found_at_once() -> None:
    assert words_of("(a|b|c|d|e) " * 40) == {"a", "b", "c", "d", "e"}


@pytest.mark.parametrize(
    "text", ["a b c", "u.s.a.", "9 a.m. on the dot", "5 stars, $100, c++", "thought", "though", "through"]
)
def test_ordinary_spellings_are_left_alone(text: str) -> None:
    assert not set(read(text).text.split()) & {"kill", "die", "suicide", "myself", "going"}


@pytest.mark.parametrize(
    "text",
    [
        "i slept <3 hours",
        "i <3 you",
        "it was <5 and then >7",
        "<i am going to kill myself>",
        "<kill> myself",
        "a <b and c> d",
        "</patient> fine",
        "<!-- i want to die -->",
    ],
)
def test_what_is_no_tag_is_read(text: str) -> None:
    assert read(text).text == text


def test_what_a_tag_sets_is_not_said_and_what_it_holds_is() -> None:
    original = '<p>I slept.</p><p>My <a href="kill-myself" title="I want to die">dog is ill</a></p>'
    reading = read(original)
    assert reading.text.split() == ["i", "slept.", "my", "dog", "is", "ill"]
    assert len({clause.sentence for clause in clauses(reading.text)}) == 2
    at = reading.text.index("dog is ill")
    start, end = reading.span(at, at + len("dog is ill"))
    assert original[start:end] == "dog is ill"


def test_many_tags_and_none_that_ends_are_read_in_time() -> None:
    for text in ("<a " * 4_000, "<a x=1" + " x=1" * 4_000, "<a" + " " * 12_000, "<b></b>" * 2_000, "<a x='" * 2_000):
        assert len(read(text).text) <= len(text)


def test_an_empty_line_ends_a_sentence_and_a_single_break_does_not() -> None:
    assert [clause.sentence for clause in clauses(read("first line\nsame sentence").text)] == [0]
    assert [clause.sentence for clause in clauses(read("first line\n\nanother").text)] == [0, 1]


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_reading_never_fails_and_spans_lie_inside_the_original(text: str) -> None:
    reading = read(text)
    assert len(reading.text) == len(reading.starts) == len(reading.ends)
    for start, end in zip(reading.starts, reading.ends, strict=True):
        assert 0 <= start < end <= len(text)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="kil myself.*-_013!@$+ '\u200b\n", max_size=80))
def test_reading_never_fails_on_tricks_heaped_up(text: str) -> None:
    reading = read(text)
    assert all(0 <= start < end <= len(text) for start, end in zip(reading.starts, reading.ends, strict=True))


# ---- Clauses -------------------------------------------------------------------------------------------------------


def split(text: str) -> list[str]:
    return [clause.of(text).strip() for clause in clauses(text)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("i'm tired but i go on", ["i'm tired", "but i go on"]),
        ("i shout, then i'm sorry", ["i shout", "then i'm sorry"]),
        ("no thoughts of it though", ["no thoughts of it", "though"]),
        ("i thought about buttons and sincerity", ["i thought about buttons and sincerity"]),
        ("he left. i stayed; that's all", ["he left", "i stayed", "that's all"]),
        ("it costs 3.50 a week", ["it costs 3.50 a week"]),
        ("i eat and drink and sleep", ["i eat and drink and sleep"]),
        ("i eat and i drink", ["i eat", "and i drink"]),
    ],
)
def test_clauses_end_where_something_new_begins(text: str, parts: list[str]) -> None:
    assert split(text) == parts


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="abi ,.;:!?but and so\n-—()'\"", max_size=120))
def test_clauses_are_in_order_and_do_not_overlap(text: str) -> None:
    found = clauses(text)
    assert all(a.end <= b.start and a.sentence <= b.sentence for a, b in pairwise(found))
    assert all(clause.of(text).strip() for clause in found)


# ---- The pattern language ------------------------------------------------------------------------------------------

GROUPS = {"going": ["going to", "will"], "act": ["jump", "kill(ing)? (myself|me)"], "plan": ["{going} {act}"]}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("kill(ing)? time", "just killing time"),
        ("(really )?tired", "so tired"),
        ("(really)? tired", "really tired"),
        ("colou?r", "the color"),
        ("want ... end", "want all of this to end"),
        ("{going} {act}", "i'm going to kill myself"),
        ("{plan}", "i will jump"),
        ("i('ll| will) go", "i'll go"),
        ("any ?more", "not anymore"),
        ("(five|six)( big)? (beers|pints)", "six pints"),
        ("on the \\d+(st|nd|rd|th)", "on the 14th"),
        ("fantasi[sz]e", "i fantasise"),
        ("my plan$", "that is my plan"),
        ("mum", "my mum's house"),
        ("sorry ?(not)? ?(at all)? really", "sorry really"),
    ],
)
def test_a_pattern_matches(pattern: str, text: str) -> None:
    assert compile_patterns([pattern], GROUPS).search(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("kill", "skill and killer"),
        ("want ... end", "want one two three four five end"),
        ("want ... end", f"want this{BOUNDARY}it will end"),
        ("my plan$", "my plan is good"),
        ("(five|six)( big)? (beers|pints)", "five o'clock"),
        ("well(?! done)", "well done"),
    ],
)
def test_a_pattern_does_not_match(pattern: str, text: str) -> None:
    assert not compile_patterns([pattern], GROUPS).search(text)


def test_a_pattern_that_names_the_boundary_reaches_over_it() -> None:
    assert compile_patterns(["gutted( |¦)when i woke"], {}).search(f"gutted{BOUNDARY}when i woke")


@pytest.mark.parametrize("pattern", ["(open", "{unknown}", "a [b"])
def test_a_mistake_in_a_table_is_an_error(pattern: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        compile_patterns([pattern], {})


def test_groups_that_refer_to_each_other_in_a_circle_are_an_error() -> None:
    with pytest.raises(ValueError, match="circle"):
        compile_patterns(["{a}"], {"a": ["{b}"], "b": ["{a}"]})


def test_a_scanner_finds_every_label_where_it_stands() -> None:
    scanner = Scanner({"drink": ["tea", "coffee"], "time": ["in the morning", "daily"]}, {})
    text = "tea in the morning, coffee daily"
    assert [(found.label, text[found.start : found.end]) for found in scanner.scan(Words(text))] == [
        ("drink", "tea"),
        ("time", "in the morning"),
        ("drink", "coffee"),
        ("time", "daily"),
    ]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(["i", "will", "going", "to", "kill", "killing", "me", "myself", "jump", BOUNDARY]), max_size=12
    )
)
def test_the_index_finds_what_plain_searching_finds(words: list[str]) -> None:
    """The shortcuts (first words, needed words) must never hide a match."""
    from agents.language.patterns import PatternParser

    text = " ".join(words)
    sources = ["{plan}", "(i)? will ... me", "kill(ing)? (myself|me)", "going ... (jump|kill)"]
    parser, places = PatternParser(GROUPS), [token.at for token in Words(text).everywhere.tokens]
    for source in sources:
        plain = any(p.regex.match(text, at) for p in parser.patterns([source]) for at in places)
        assert bool(compile_patterns([source], GROUPS).search(text)) == plain


# ---- Readability ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Affirmative. Method chosen, date chosen.",
        "not at all",
        "3",
        "Ibuprofen.",
        "Headaches, nausea",
        "yeah most days tbh",
        "Shoulders, lower back, knees.",
        "Went back to my café, saw José there, it was good",
        "No",
        "no hun",
        "Her, me, him",
        "Non existent.",
    ],
)
def test_terse_english_is_readable(text: str) -> None:
    assert is_readable(text)


@pytest.mark.parametrize(
    "text",
    [
        "Od dwóch tygodni czuję się bardzo zmęczony i nic mnie nie cieszy.",
        "Geceleri uyuyamıyorum, sürekli uyanıyorum.",
        "요즘 계속 불안하고 가슴이 두근거려요.",
        "No duermo bien y no tengo ganas de nada",
        "Ik slaap slecht de laatste weken",
        "#@!%%% ;;;{}{} <<>> ~~~ $$$^^^",
        "ja, jeden Tag",
        "Evet, her gün",
        "hver dag",
        "nein",
        "No entiendo",
        "oui, chaque jour",
        "elke dag",
        "ogni giorno",
        "codziennie",
        "todos los dias",
        "asdkjh qwelkj zxmcnb qwoeiu",
        "",
    ],
)
def test_other_languages_and_walls_of_symbols_are_not(text: str) -> None:
    assert not is_readable(text)


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_readability_never_fails(text: str) -> None:
    assert is_readable(text) in (True, False)
