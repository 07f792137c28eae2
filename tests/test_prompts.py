"""Prompts are data: checked at load, filled exactly, and no text inside one can pass for the prompt itself."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import prompts
from agents.prompts import DATA_NOTICE, Data, PromptError, as_data, load_prompt, parse_prompt


def file(
    variables: str = '["item", "answer"]',
    data: str = '["answer"]',
    system: str = f"Score {{{{item}}}}. {DATA_NOTICE}",
    user: str = "{{answer}}",
    version: str = 'version = "3"',
) -> bytes:
    front = f"{version}\nvariables = {variables}\ndata = {data}"
    return f"+++\n{front}\n+++\n\n# system\n\n{system}\n\n# user\n\n{user}\n".encode()


def test_a_prompt_knows_its_version_and_the_hash_of_its_bytes() -> None:
    prompt = parse_prompt("p", file())
    assert (prompt.name, prompt.version, prompt.variables) == ("p", "3", frozenset({"item", "answer"}))
    assert prompt.sha256 == hashlib.sha256(file()).hexdigest()
    assert parse_prompt("p", file(user="{{answer}} ")).sha256 != prompt.sha256


def test_it_renders_both_sections() -> None:
    rendered = parse_prompt("p", file()).render(item="sleep", answer=as_data("answer", "badly"))
    assert rendered.system == f"Score sleep. {DATA_NOTICE}"
    assert rendered.user == as_data("answer", "badly")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (file(variables='["item"]', data="[]"), "p.md uses but does not declare 'answer'"),
        (file(variables='["item", "answer", "mood"]'), "p.md declares but does not use 'mood'"),
        (file(data='["answer", "mood"]'), "p.md lists as data but not as variables 'mood'"),
        (
            file(system=f"{{{{item}}}} {{{{answer}}}} {DATA_NOTICE}"),
            "p.md lets into the system section the data 'answer'",
        ),
        (file(system="Score {{item}}."), "p.md takes data but its system section lacks the sentence"),
        (file(version="version = 3"), "p.md: its front matter is malformed"),
        (file(version='version = "3"\nmood = "bad"'), "p.md: its front matter is malformed"),
        (file(version="version ="), "p.md: its front matter is malformed"),
        (b"# system\nx\n# user\ny\n", "p.md must have front matter"),
        (file().replace(b"# user", b"# patient"), "p.md must have front matter"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused_by_name(content: bytes, message: str) -> None:
    with pytest.raises(PromptError, match=re.escape(message)):
        parse_prompt("p", content)


def test_values_must_fit_the_variables() -> None:
    prompt = parse_prompt("p", file())
    answer = as_data("answer", "badly")
    with pytest.raises(PromptError, match="'p' needs a value for 'item'"):
        prompt.render(answer=answer)
    with pytest.raises(PromptError, match="'p' has no variable 'mood'"):
        prompt.render(item="sleep", answer=answer, mood="bad")
    with pytest.raises(PromptError, match=r"'p' takes 'answer' only wrapped by as_data\(\)"):
        prompt.render(item="sleep", answer="badly")


def test_a_value_that_looks_like_a_placeholder_stays_what_it_is() -> None:
    rendered = parse_prompt("p", file()).render(item="{{answer}}", answer=as_data("answer", "{{item}}"))
    assert rendered.system.startswith("Score {{answer}}.")
    assert "\n{{item}}\n" in rendered.user


def test_an_unknown_prompt_is_named() -> None:
    with pytest.raises(PromptError, match="'nobody'"):
        load_prompt("nobody")


@given(st.text())
def test_data_is_recoverable_and_holds_no_boundary_of_its_own(text: str) -> None:
    block = as_data("answer", text)
    assert isinstance(block, Data)
    assert block == as_data("answer", text)
    boundary = block.split('"')[1]
    opening, closing = f'<data id="{boundary}" label="answer">\n', f'\n</data id="{boundary}">'
    assert boundary not in text
    assert block == opening + text + closing


def test_data_with_a_broken_character_can_still_be_sent() -> None:
    assert "a?b" in as_data("answer", "a\ud800b")


@pytest.mark.parametrize("label", ["", 'x">', "Answer", "a\nb"])
def test_a_label_is_plain_words(label: str) -> None:
    with pytest.raises(PromptError, match="label"):
        as_data(label, "text")


@pytest.mark.parametrize(
    ("name", "variables", "data"),
    [
        ("interviewer", frozenset({"item_number", "item_text", "concepts"}), frozenset[str]()),
        (
            "scorer",
            frozenset({"item_text", "question", "answer", "follow_up_question", "follow_up_answer"}),
            frozenset({"answer", "follow_up_answer"}),
        ),
    ],
)
def test_our_own_prompts_load(name: str, variables: frozenset[str], data: frozenset[str]) -> None:
    prompt = load_prompt(name)
    assert (prompt.variables, prompt.data) == (variables, data)
    values = {v: as_data("text", v) if v in data else v for v in variables}
    rendered = prompt.render(**values)
    assert "{{" not in rendered.system + rendered.user


def test_every_prompt_file_loads() -> None:
    names = [path.stem for path in Path(prompts.__path__[0]).glob("*.md")]
    assert {"interviewer", "scorer"} <= set(names)
    for name in names:
        assert load_prompt(name).version


def test_the_interviewer_is_given_nothing_that_grows_with_the_interview() -> None:
    assert not load_prompt("interviewer").variables & {"transcript", "history", "answer", "answers"}
