"""How a message quotes what stands in a file: one line that can be read, whatever it is."""

from __future__ import annotations

from typing import Any


def shown(value: object, limit: int = 80) -> str:
    """repr(value), cut so that a message which quotes a file stays one line that can be read."""
    if isinstance(value, str) and len(value) > limit:
        value = value[:limit] + "…"
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python prints
        text = "a number of very many digits"
    return text if len(text) <= 2 * limit else text[: 2 * limit] + "…"


def one_line(error: BaseException, limit: int = 200) -> str:
    """What an exception says, fit for the end of a message."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def differences(found: Any, wanted: Any, words: tuple[str, str] = ("there", "asked for")) -> str:
    """The first few places where two descriptions differ: "lr: 0.1 there, 0.2 asked for"."""
    places = [
        f"{shown(where)[1:-1]}: {_plain(one)} {words[0]}, {_plain(other)} {words[1]}"
        for where, one, other in _differing(found, wanted, "")
    ]
    return "; ".join(places[:3]) + ("; …" if len(places) > 3 else "")


def _differing(found: Any, wanted: Any, where: str) -> Any:
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted(found.keys() | wanted.keys()):
            yield from _differing(found.get(key), wanted.get(key), f"{where}.{key}" if where else str(key))
    elif found != wanted:
        yield where, found, wanted


def _plain(value: Any) -> str:
    return value if isinstance(value, str) and value.isprintable() and len(value) <= 80 else shown(value)
