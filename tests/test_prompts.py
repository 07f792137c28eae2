"""Prompts are data: checked at load, filled exactly, and no text inside one can pass for the prompt itself."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import prompts
from agents.prompts import (
    DATA_NOTICE,
    Data,
    PromptError,
    PromptLibrary,
    as_data,
    load_prompt,
    parse_prompt,
    prompt_names,
)
from graph.assembly import build_runtime
from settings import Settings
from storage.database import Database
from tests.gateway import Gateway


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
    assert {"interviewer", "scorer", "diagnostician", "judge", "risk"} <= set(prompt_names())
    for name in prompt_names():
        assert load_prompt(name).version


# ---- the product's rules, line by line ----

RULES = tomllib.loads((Path(__file__).parent / "data" / "prompt_rules.toml").read_text("utf-8"))


@pytest.mark.parametrize("name", RULES)
def test_a_prompt_has_every_rule_of_the_requirements_and_their_structure(name: str) -> None:
    system = load_prompt(name).system
    words = " ".join(system.split())
    missing = [rule for rule, line in RULES[name]["rules"] if line not in words]
    assert missing == []
    found = [words.find(f" {section} ") for section in RULES[name]["sections"]]
    assert -1 not in found
    assert found == sorted(found), "the sections keep their order"


def test_every_agent_of_the_requirements_has_its_prompt_mapped() -> None:
    assert set(RULES) == set(prompt_names())


# ---- a deployment's own wording ----


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def _own(name: str, **changes: str) -> bytes:
    text = (Path(prompts.__path__[0]) / f"{name}.md").read_text("utf-8")
    text = re.sub(r'version = ".*"', 'version = "clinic-3"', text, count=1)
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text.encode()


def test_a_file_in_the_folder_takes_the_place_of_ours_with_its_own_version(folder: Path) -> None:
    (folder / "scorer.md").write_bytes(_own("scorer", symptoms="complaints"))
    library = PromptLibrary(folder)
    assert library.get("scorer").version == "clinic-3"
    assert "You score complaints" in library.get("scorer").system
    assert library.get("interviewer") == load_prompt("interviewer")
    assert PromptLibrary().get("scorer") == load_prompt("scorer")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "scorer",
            _own("scorer", **{'"question", ': "", "Question asked: {{question}}": ""}),
            "lacks variable 'question'",
        ),
        (
            "scorer",
            _own("scorer", **{'variables = ["item_text"': 'variables = ["mood", "item_text"', "Item: ": "{{mood}} "}),
            "has the unknown variable 'mood'",
        ),
        (
            "scorer",
            _own("scorer", **{'data = ["answer", "follow_up_answer"]': 'data = ["answer"]'}),
            "must list as data the variable 'follow_up_answer'",
        ),
        ("scorer", _own("scorer", **{"clinic-3": load_prompt("scorer").version}), "must state a version of its own"),
        ("scorer", _own("scorer", **{"{{question}}": "(left out)"}), "declares but does not use 'question'"),
        ("scorer", b"hello", "must have front matter"),
        ("scorer", b"\xff\xfe", "is not UTF-8"),
        ("scorre", _own("scorer"), "takes no prompt's place; there are 'diagnostician', 'interviewer'"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_at_load(folder: Path, name: str, content: bytes, message: str) -> None:
    (folder / f"{name}.md").write_bytes(content)
    with pytest.raises(PromptError, match=re.escape(message)):
        PromptLibrary(folder)


def test_a_folder_that_is_not_there_is_an_error(folder: Path) -> None:
    with pytest.raises(PromptError, match=r"CROSSCUT_PROMPTS names '.*/nowhere', which is not a folder"):
        PromptLibrary(folder / "nowhere")


def test_a_deployments_prompt_is_what_the_model_gets_and_what_the_session_records(
    folder: Path, settings: Settings, database: Database, gate: Gateway
) -> None:
    for name in ("interviewer", "scorer", "risk"):
        own = _own(name).replace(b"# system\n", b"# system\n\nHouse rules of our clinic.\n", 1)
        (folder / f"{name}.md").write_bytes(own)
    model: dict[str, Any] = dict.fromkeys(("model_interviewer", "model_scorer", "model_risk"), "openai/gpt-4.1")
    own_settings = Settings(
        _env_file=None,
        crosscut_home=settings.crosscut_home,
        crosscut_prompts=folder,
        gateway_base_url=gate.base_url,
        gateway_api_key="k",
        model_tries=1,
        **model,
    )
    runtime = build_runtime(own_settings, database)
    view = runtime.submit(runtime.start().session_id, "9 days", expected_turn=1)
    runtime.close()
    sent = {r.body["response_format"]["json_schema"]["name"]: r.message("system") for r in gate.requests}
    assert set(sent) == {"Draft", "ItemScore", "ModelOpinion"}
    assert all(text.startswith("House rules of our clinic.") for text in sent.values())
    versions = view.profile.session_meta.prompt_version
    assert all(f"{name}@clinic-3+" in versions for name in ("interviewer", "scorer", "risk"))
    assert view.records[1].prompt_version == "clinic-3"


def test_the_interviewer_is_given_nothing_that_grows_with_the_interview() -> None:
    assert not load_prompt("interviewer").variables & {"transcript", "history", "answer", "answers"}
