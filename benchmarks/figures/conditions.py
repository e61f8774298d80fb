"""Under which conditions a raw run was made, as far as it says so, in the form of a summary."""

from collections.abc import Iterable, Mapping
from typing import Any


def conditions(raw: Mapping[str, Any], **told: object) -> dict[str, object]:
    """The device by name, versions, date and settings, then gate and machine where there are; `told` goes first."""
    machine = raw.get("machine") or raw.get("processor") or {}
    device = raw.get("device") or machine.get("processor")
    found = {
        "device": device.get("name") if isinstance(device, Mapping) else device,
        "versions": raw.get("versions"),
        "date": str(raw.get("date", ""))[:10],
        "settings": raw.get("settings"),
        "gate": raw.get("gate"),
        "machine": {name: value for name, value in machine.items() if name != "processor"},
        **told,
    }
    return {name: value for name, value in found.items() if value or name == "settings"}


def only(raw: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The values under these names, as far as there are."""
    return {name: raw[name] for name in names if name in raw}


def without(raw: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The values under all other names."""
    left_out = set(names)
    return {name: value for name, value in raw.items() if name not in left_out}
