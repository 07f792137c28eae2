"""Danger in other languages: what somebody else has said, idioms and panic are none, everyday forms of it are.

tests/test_risk_boundaries.py has the core sentences and their denials.
"""

from __future__ import annotations

import pytest

from agents.language import is_readable
from agents.risk import RiskVerdict, check_risk
from agents.risk.foreign import languages
from agents.risk.reader import CONCERNS, Opinion
from agents.risk.tables import load_table
from agents.risk.verdict import RANK
from tests.readers import hears

TOLD = (
    "Mi hermano me dijo: voy a matarme",
    "Mi hermano me dijo que esta noche me voy a matar",
    "Mon frère m'a dit : je vais me tuer",
    "Er sagt ich bringe mich um",
    "Mein Bruder hat mir gesagt: ich bringe mich um",
    "Meu irmão disse que vou me matar",
    "Mio fratello ha detto: mi uccido",
    "Брат мне сказал: убью себя",
    "Мой брат решил повеситься в прошлом году",
    "他说我要自杀",
    "我哥哥说我要自杀",
    "兄が自殺すると言っていました",
    "मेरे भाई ने कहा कि मैं आत्महत्या कर लूंगा",
    "कल मेरे भाई ने आत्महत्या कर ली",
    "फिल्म में हीरो आत्महत्या कर लेता है",
    "قال لي سأقتل نفسي",
    "قال أخي سأقتل نفسي",
    "Abim intihar edeceğim dedi",
    "Brat powiedział: zabiję się",
    "Mój brat zabije się",
    "친구가 오늘 죽을 거라고 했어요",
    "teman saya bilang saya mau bunuh diri",
    "hari ini teman saya bunuh diri",
    "আমার ভাই বলেছে আমি আত্মহত্যা করব",
    "কাল আমার ভাই আত্মহত্যা করেছে",
    "میرے بھائی نے کہا میں خودکشی کروں گا",
    "آج میرے بھائی نے خودکشی کر لی",
    "Hij zei: ik ga zelfmoord plegen",
    'My uncle texted me "voy a matarme" and I called him.',
    "In Spanish class we learned that voy a matarme is a reflexive verb.",
)
IDIOMS_AND_PANIC = (
    "J'ai peur que je vais mourir ce soir pendant la panique",
    "je veux en finir avec ce projet",
    "je vais tuer le temps à la gare",
    "mi ammazzo dalle risate",
    "Me voy a matar trabajando",
    "Ich bringe die Kinder um acht zur Schule",
    "Ich bringe mich um acht ins Bett",
    "vou matar a saudade da minha mãe",
    "повешусь от скуки",
    "我想去死海旅游",
    "暑くて死にます",
    "오늘 배고파 죽겠습니다",
    "오늘 강아지가 죽을 거예요",
    "Ik wil een einde maken aan deze ruzie",
    "ik steek ze in mijn zak",
)
EVERYDAY_FORMS = (
    "ya no quiero vivir, hoy termino todo",
    "j'vais me tuer ce soir",
    "ich bring mich um",
    "ich mach schluss heute nacht",
    "ich häng mich auf",
    "m'ammazzo stasera",
    "vou dar fim na minha vida",
    "сегодня я заканчиваю со всем",
    "今晚就结束一切",
    "今夜すべて終わらせる",
    "main apni jaan de dunga",
    "bu gece her şeyi bitiriyorum",
    "intihar edicem bu gece",
    "dziś kończę ze sobą",
    "오늘 다 끝낼 거야",
    "aku mau bundir malam ini",
    "ik maak er vanavond een einde aan",
)
OWN_WORDS = (
    "Le dije a mi madre: voy a matarme",
    "Mi hermano me dijo que soy un inútil, voy a matarme",
    "J'ai dit à ma mère que je vais me tuer",
    "Ich habe der Ärztin gesagt ich bringe mich um",
    "Mein Vater sagt immer nein und ich bringe mich um",
    "eu disse que vou me matar",
    "ho detto a tutti che mi uccido",
    "Я сказал, что убью себя",
    "我跟他说我要自杀",
    "我跟我妈妈说我要自杀",
    "我妈说我没用我要自杀",
    "मैंने कहा कि मैं आत्महत्या कर लूंगा",
    "میں نے کہا میں خودکشی کروں گا",
    "Doktora intihar edeceğim dedim",
    "powiedziałam, że się zabiję",
    "saya bilang saya mau bunuh diri",
    "I have no words, voy a matarme",
    "My brother said no. Voy a matarme.",
)


def levels(texts: tuple[str, ...]) -> dict[str, str]:
    return {text: check_risk(text).level for text in texts}


@pytest.mark.parametrize("texts", [TOLD, IDIOMS_AND_PANIC], ids=["told", "idioms and panic"])
def test_what_is_not_the_patients_own_intent_is_a_flag(texts: tuple[str, ...]) -> None:
    assert {text: level for text, level in levels(texts).items() if level != "flag"} == {}


@pytest.mark.parametrize("texts", [EVERYDAY_FORMS, OWN_WORDS], ids=["everyday forms", "own words"])
def test_what_is_meant_stops(texts: tuple[str, ...]) -> None:
    assert {text: level for text, level in levels(texts).items() if level != "stop"} == {}


def test_a_pattern_ends_with_its_sentence() -> None:
    for text in (
        "Ich muss mich beeilen. Gestern wollte sich jemand umbringen",
        "Ich will mich ausruhen! Im Spiel kann man alle umbringen",
        "我要睡觉. 他自杀了",
    ):
        assert check_risk(text).level == "flag", text


def test_every_language_knows_reported_speech_and_what_is_not_meant() -> None:
    """Of its own: how English quotes any language is added to each of them."""
    for entry in load_table("languages.toml")["languages"]:
        assert entry.get("told_before") or entry.get("told_after"), entry["name"]
        assert entry.get("unmeant"), entry["name"]


# ---- what is too short to be told from English by its small words ----

WISHES = {
    "Spanish": ("Quiero morir", "ya no quiero vivir"),
    "French": ("Je veux mourir", "je ne veux plus vivre"),
    "German": ("Ich will sterben", "ich will nicht mehr leben"),
    "Portuguese": ("Quero morrer", "nao quero mais viver"),
    "Italian": ("Voglio morire", "non voglio piu vivere"),
    "Russian": ("Я хочу умереть", "не хочу жить"),
    "Chinese": ("我想死", "我不想活了"),
    "Japanese": ("死にたい", "消えてしまいたいです"),
    "Hindi": ("मैं मरना चाहता हूँ", "main marna chahta hoon"),
    "Arabic": ("أريد أن أموت", "لا أريد أن أعيش"),
    "Turkish": ("ölmek istiyorum", "yasamak istemiyorum"),
    "Polish": ("Chce umrzec", "nie chcę żyć"),
    "Korean": ("죽고 싶어요", "살기 싫어요"),
    "Indonesian": ("aku ingin mati", "tidak mau hidup lagi"),
    "Bengali": ("আমি মরতে চাই", "আমি বাঁচতে চাই না"),
    "Urdu": ("میں مرنا چاہتا ہوں", "میں جینا نہیں چاہتا"),
    "Dutch": ("ik wil dood", "ik wil niet meer leven"),
}
NO_WISHES = ("no quiero morir", "Ich will nicht sterben", "ik wil niet dood", "不想死", "mi hermano dijo: quiero morir")
SHORT = (
    "haluan kuolla", "meg akarok halni", "chci umrit", "vreau sa mor", "jag vill inte leva", "Me corto los brazos",
    "Mato a mi padre manana", "Nunca he querido suicidarme.", "Quiero dormir mejor.", "Fine. Voglio morire.",
)  # fmt: skip
SHORT_ENGLISH = (
    "nah", "yep", "meh", "Prosecco", "Yup. Spacey.", "tonite yea", "Sertraline, mirtazapine", "nuffin rly", "ugh yikes",
    "Me and the kids", "He hit me", "no sir", "A bit", "He was on me", "Mama ate", "No cap", "solo mostly",
)  # fmt: skip


def test_every_language_has_a_wish_to_die() -> None:
    assert [one.name for one in languages()] == list(WISHES)


@pytest.mark.parametrize("name", WISHES)
def test_a_wish_to_die_is_a_flag_that_names_it(name: str) -> None:
    for text in WISHES[name]:
        verdict = check_risk(text)
        assert (verdict.level, verdict.flags.suicidality_mentioned) == ("flag", True), text
        assert {"unreadable", f"{name} wish"} <= set(verdict.cues)
        assert [text[span.start : span.end] for span in verdict.spans] != []


@pytest.mark.parametrize("text", [*NO_WISHES, *SHORT])
def test_a_few_foreign_words_are_a_flag_marked_unreadable(text: str) -> None:
    verdict = check_risk(text)
    assert verdict.level == "flag"
    assert "unreadable" in verdict.cues
    assert verdict.flags.suicidality_mentioned == (text == "Fine. Voglio morire.")


@pytest.mark.parametrize("text", SHORT_ENGLISH)
def test_a_few_words_of_english_are_readable(text: str) -> None:
    assert is_readable(text)


# ---- a foreign sentence beside an English one ----

DANGERS = (
    "I'm standing on the bridge.",
    "I did a practice run last night and I could go through with it. Tonight I will.",
    "I wish I was dead and the pills are all counted out.",
    "I wish I were dead.",
)
BESIDE = (
    "Que dios me perdone por todo esto.",
    "Żółta łódka płynie po jeziorze i wszyscy są zadowoleni.",
    "Сегодня хорошая погода, мы гуляли в парке.",
    "no quiero matarme",
)


def quoted(text: str, verdict: RiskVerdict) -> list[str]:
    return [text[span.start : span.end] for span in verdict.spans]


@pytest.mark.parametrize("danger", DANGERS)
@pytest.mark.parametrize("beside", BESIDE)
def test_a_foreign_sentence_hides_nothing(danger: str, beside: str) -> None:
    alone = check_risk(danger, 2)
    for text in (f"{danger} {beside}", f"{beside}\n{danger}", f"{beside.rstrip('.')}. {danger}"):
        verdict = check_risk(text, 2)
        assert RANK[verdict.level] >= RANK[alone.level]
        assert verdict.flags | alone.flags == verdict.flags
        assert all(words in " … ".join(quoted(text, verdict)) for words in quoted(danger, alone))


def test_english_within_a_foreign_sentence_is_read() -> None:
    foreign = "que dios me perdone por todo esto y que mis hijos no sepan nada de esto nunca"
    assert check_risk(f"{foreign}, i'm standing on the bridge and i won't come back", 2).level == "stop"
    assert check_risk(foreign, 2).level == "flag"


def test_english_beside_foreign_words_of_danger_that_are_told_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def opinion(text: str, _: int) -> Opinion:
        shown.append(text)
        return Opinion(9.0, 9.0, dict.fromkeys(CONCERNS, 0.0))

    hears(monkeypatch, opinion)
    text = "My uncle texted me voy a matarme and now I am in the kitchen"
    assert check_risk(text, 2).level == "stop"
    assert any("now i am in the kitchen" in one for one in shown)
    assert not any("matarme" in one for one in shown)


@pytest.mark.parametrize("beside", BESIDE)
def test_a_foreign_sentence_alone_or_beside_a_harmless_one_is_a_flag_marked_unreadable(beside: str) -> None:
    for text in (beside, f"I had toast for breakfast. {beside}"):
        verdict = check_risk(text, 2)
        assert verdict.level == "flag"
        assert "unreadable" in verdict.cues
