"""What of a message the second reader is shown: its sentences, without signs of markup and without asking back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agents.language.reading import read
from agents.risk.message import Message, Sentence
from agents.risk.modifiers import is_denied_answer

_LONG = 400  # characters of a sentence
_LAP = 100  # of them that are read again with what follows
_LONGEST_WORD = 40  # a wall of signs has no place to be cut at
_ENDS = " .!?…,;:-"
ECHO = 6  # words
_OWN = re.compile(r"i(?:'|$)")
_MARKUP = re.compile(r"[<>{}]+")
_LINE = re.compile(r"\s*\n\s*(?=[A-Z]|(?:i|im|i'm|ive|i've|ill|i'll|id|i'd|he|she|they|we|my)\b)")
_SETTING = re.compile(r"[\w.-]+=\S*")  # of markup: 'src=x'
_REPEATED = re.compile(r"\b(\w[\w' ]{0,40}?)(?:[ ,]+\1\b){3,}")  # nobody has taught it what a stuck key means


@dataclass(frozen=True)
class Part:
    """A piece of a message as it is read, and where in the message it stands."""

    text: str
    start: int
    end: int


def parts(message: Message) -> list[Part]:
    return parts_of(told(message)) or [Part(message.reading.text, 0, len(message.reading.text))]


def line_parts(message: Message) -> list[Part]:
    """Who breaks lines often leaves the full stops out; a line that goes on in the next one is no sentence."""
    lines = _LINE.split(message.reading.original) if "\n" in message.reading.original else []
    return [part for line in lines if len(lines) > 1 for part in parts_of(told(Message(read(line))))]


def parts_of(sentences: Iterable[Sentence]) -> list[Part]:
    """The sentences without what ends them, and without the signs of markup; one that goes on for long is cut."""
    return [
        Part(_REPEATED.sub(r"\1", text[first:last]), start + first, min(start + last, end))
        for sentence in sentences
        for start, end, text in _pieces(sentence)
        for first, last in _cut(text)
    ]


def _cut(text: str) -> Iterator[tuple[int, int]]:
    """Between words, and each with the last words of the one before: what is said across a cut is read whole."""
    at = 0
    while len(text) - at > _LONG:
        end = max(text.rfind(" ", at, at + _LONG), at + _LONG - _LONGEST_WORD)
        yield at, end
        at = max(text.rfind(" ", at, end - _LAP), end - _LAP - _LONGEST_WORD) + 1
    if at < len(text):
        yield at, len(text)


def _pieces(sentence: Sentence) -> Iterator[tuple[int, int, str]]:
    """What stands between the signs of markup: where, and as it is read."""
    for start, end in _unmarked(sentence.plain):
        raw = sentence.plain[start:end]
        text = (raw if (start, end) == (0, len(sentence.plain)) else _SETTING.sub("", raw)).strip(_ENDS)
        lead = len(raw) - len(raw.lstrip(_ENDS))
        yield sentence.offset + start + lead, sentence.offset + start + len(raw.rstrip(_ENDS)), text


def _unmarked(text: str) -> list[tuple[int, int]]:
    signs = [sign.span() for sign in _MARKUP.finditer(text)]
    return list(zip([0, *(end for _, end in signs)], [*(start for start, _ in signs), len(text)], strict=True))


def told(message: Message) -> list[Sentence]:
    """Without wishes to stop the conversation, and without the question asked back: 'Hurt myself? No!'"""
    kept: list[Sentence] = []
    for sentence in reversed(message.sentences):
        denied = bool(kept) and is_denied_answer(kept[-1])
        if not sentence.leaves_off and not (denied and _asks_back(sentence)):
            kept.append(sentence)
    return kept[::-1]


def _asks_back(sentence: Sentence) -> bool:
    words = sentence.plain.split()
    return "?" in sentence.ending and len(words) <= ECHO and not any(_OWN.match(word) for word in words)
