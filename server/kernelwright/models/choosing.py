"""Which provider a setting names: a table of the words that it may begin with."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernelwright.models import Provider
from kernelwright.models.directory import Directory
from kernelwright.models.hosted import Hosted
from kernelwright.models.replay import Replay
from kernelwright.settings import Settings
from kernelwright.values import Refusal


@dataclass(frozen=True)
class Options:
    """What else the settings say of a model."""

    base_url: str
    key: Callable[[], str] | None
    key_variable: str
    temperature: float | None
    interpreter: str | None
    editor: Callable[[str], Provider] | None

    def hosted(self, model: str) -> Provider:
        return Hosted(
            model,
            base_url=self.base_url,
            key=self.key,
            key_variable=self.key_variable,
            temperature=self.temperature,
            interpreter=self.interpreter,
        )

    def of_editor(self, model: str) -> Provider | Refusal:
        if self.editor is None:
            return Refusal("A model of the editor works in an editor only: name another with litellm:MODEL.")
        return self.editor(model)


@dataclass(frozen=True)
class Row:
    """`form`: how it is written, after its word and a colon; `needed`: it means nothing without."""

    form: str
    words: str
    make: Callable[[str, Options], Provider | Refusal]
    needed: bool = True


ROWS = {
    "litellm": Row("MODEL", "a model that litellm can ask", lambda model, options: options.hosted(model)),
    "editor": Row("ID", "a model of the editor", lambda model, options: options.of_editor(model), needed=False),
    "dir": Row("FOLDER", "replies that appear in a folder", lambda path, _: Directory(Path(path).expanduser())),
    "replay": Row("FILE", "replies of a log", lambda path, _: Replay(Path(path).expanduser())),
}
FORMS = ", ".join(f"{word}:{row.form} ({row.words})" for word, row in ROWS.items())


def provider(
    spec: str,
    *,
    base_url: str = "",
    key: Callable[[], str] | None = None,
    key_variable: str = "",
    temperature: float | None = None,
    interpreter: str | None = None,
    editor: Callable[[str], Provider] | None = None,
) -> Provider | Refusal | None:
    """Return whom `spec` names; None where it is empty: then no model is asked. `editor` makes those of the editor."""
    word, _, rest = spec.strip().partition(":")
    if not word and not rest:
        return None
    row = ROWS.get(word)
    if row is None:
        return Refusal(f"The model {spec} begins with no word that is known: write one of {FORMS}.")
    if row.needed and not rest:
        return Refusal(f"The model {spec} is not complete: write {word}:{row.form}.")
    return row.make(rest, Options(base_url, key, key_variable, temperature, interpreter, editor))


def of_settings(
    settings: Settings,
    *,
    key: Callable[[], str] | None = None,
    editor: Callable[[str], Provider] | None = None,
) -> Provider | Refusal | None:
    """Return the provider that the settings name; `key` and `editor` as for `provider`.

    litellm is looked for beside the server first, then in the interpreter of the settings.
    """
    here = importlib.util.find_spec("litellm") is not None
    return provider(
        settings.model,
        base_url=settings.model_base_url,
        key=key,
        key_variable=settings.model_key_variable,
        temperature=settings.model_temperature if settings.model_temperature >= 0.0 else None,
        interpreter=None if here else settings.interpreter or None,
        editor=editor,
    )
