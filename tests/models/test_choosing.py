"""Which provider a setting names."""

from pathlib import Path

import pytest

from kernelwright.models import Provider
from kernelwright.models.choosing import ROWS, provider
from kernelwright.models.directory import Directory
from kernelwright.models.given import Given
from kernelwright.models.hosted import Hosted
from kernelwright.models.replay import Replay
from kernelwright.values import Refusal


@pytest.mark.parametrize(
    ("spec", "kind", "name"),
    [
        ("litellm:openai/gpt-5", Hosted, "openai/gpt-5"),
        ("litellm:ollama/qwen3:32b", Hosted, "ollama/qwen3:32b"),
        (" litellm:gpt-4o ", Hosted, "gpt-4o"),
        ("dir:/tmp/mail", Directory, "dir:mail"),
        ("dir:~/mail", Directory, "dir:mail"),
        ("replay:logs/a.jsonl", Replay, "replay:a.jsonl"),
    ],
)
def test_a_provider(spec: str, kind: type, name: str) -> None:
    chosen = provider(spec)
    assert isinstance(chosen, kind)
    assert chosen.name == name
    assert chosen.stays_here is (kind is not Hosted)


@pytest.mark.parametrize("spec", ["", "  "])
def test_no_model(spec: str) -> None:
    assert provider(spec) is None


def refused(spec: str) -> str:
    chosen = provider(spec)
    assert isinstance(chosen, Refusal)
    return chosen.reason


@pytest.mark.parametrize("spec", ["gpt-4o", "openai/gpt-5", "openai:gpt-5", ":x", "Litellm:x"])
def test_an_unknown_word_is_told_all_forms(spec: str) -> None:
    reason = refused(spec)
    assert spec in reason
    for word, row in ROWS.items():
        assert f"{word}:{row.form}" in reason


@pytest.mark.parametrize(
    ("spec", "form"), [("litellm:", "litellm:MODEL"), ("dir", "dir:FOLDER"), ("replay:", "replay:FILE")]
)
def test_what_is_not_complete(spec: str, form: str) -> None:
    assert refused(spec) == f"The model {spec} is not complete: write {form}."


@pytest.mark.parametrize(("spec", "model"), [("editor", ""), ("editor:copilot/gpt-5", "copilot/gpt-5")])
def test_models_of_the_editor(spec: str, model: str) -> None:
    assert "in an editor only" in refused(spec)
    asked: list[str] = []

    def editor(name: str) -> Provider:
        asked.append(name)
        return Given("text")

    assert isinstance(provider(spec, editor=editor), Given)
    assert asked == [model]


def test_what_a_hosted_model_is_told() -> None:
    chosen = provider("litellm:openai/x", base_url="http://localhost:1/v1", interpreter="/no/such/python")
    assert chosen is not None
    assert not isinstance(chosen, Refusal)
    assert chosen.stays_here
    refusal = chosen.unavailable()
    assert refusal is not None
    assert "/no/such/python" in refusal.reason


def test_home_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "log.jsonl").write_text('{"reply": "r"}\n')
    chosen = provider("replay:~/log.jsonl")
    assert isinstance(chosen, Replay)
    assert chosen.unavailable() is None
