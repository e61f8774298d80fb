"""Settings from an editor: right ones are used, malformed ones are named and replaced by their default."""

import dataclasses

import pytest

from kernelwright.languages import LANGUAGES
from kernelwright.lsp.configuration import name, read
from kernelwright.lsp.docs import protocol_page, settings_page, settings_schema
from kernelwright.settings import DEFAULTS, Settings


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, DEFAULTS),
        ({}, DEFAULTS),
        ({"trace": {"server": "off"}}, DEFAULTS),
        ({"codeLens": False}, Settings(code_lens=False)),
        ({"code_lens": False}, Settings(code_lens=False)),
        ({"verifyOn": "save", "minGain": 0, "maxSteps": 3.0}, Settings(verify_on="save", min_gain=0.0, max_steps=3)),
        ({"interpreter": None}, DEFAULTS),
    ],
)
def test_right_settings(data: object, expected: Settings) -> None:
    settings, problems = read(data)
    assert settings == expected
    assert problems == ()
    assert [type(v) for v in dataclasses.astuple(settings)] == [type(v) for v in dataclasses.astuple(DEFAULTS)]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"codeLens": "yes"}, "kernelwright.codeLens should be true or false, not 'yes'; the default true is used."),
        ({"minGain": -1}, "kernelwright.minGain should be at least 0, not -1; the default 0.02 is used."),
        ({"minGain": float("nan")}, "kernelwright.minGain should be a number, not nan; the default 0.02 is used."),
        ({"maxSteps": 1.5}, "kernelwright.maxSteps should be a whole number, not 1.5; the default 6 is used."),
        ({"maxSteps": True}, "kernelwright.maxSteps should be a number, not true; the default 6 is used."),
        ({"interpreter": 3}, "kernelwright.interpreter should be a text, not 3; the default '' is used."),
        (
            {"verifyOn": "now"},
            "kernelwright.verifyOn should be one of manual, save, idle, not 'now'; the default 'manual' is used.",
        ),
        ([1], "The settings under 'kernelwright' should be an object; the defaults are used."),
    ],
)
def test_malformed_settings(data: object, sentence: str) -> None:
    assert read(data) == (DEFAULTS, (sentence,))


def test_one_malformed_setting_leaves_the_others() -> None:
    settings, problems = read({"codeLens": 1, "findings": False})
    assert settings == Settings(findings=False)
    assert len(problems) == 1


def test_the_schema_and_the_page_name_every_setting() -> None:
    names = {f"kernelwright.{name(field)}" for field in dataclasses.fields(Settings)}
    assert set(settings_schema()["properties"]) == names
    assert all(f"## `{each}`" in settings_page() for each in names)


def test_the_protocol_page_names_the_id_of_every_language() -> None:
    said = protocol_page().split("## Methods")[0]
    assert "`languageId`" in said
    assert all(f"`{id}` for {row.title}" in said for id, row in LANGUAGES.items())


def test_the_protocol_page_names_every_command() -> None:
    for command in [
        "optimize",
        "apply",
        "verify",
        "measure",
        "autopilot",
        "revert",
        "resetBaseline",
        "history",
        "export",
        "doctor",
    ]:
        assert f"`kernelwright.{command}`" in protocol_page()
