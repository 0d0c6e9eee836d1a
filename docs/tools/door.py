"""The page of all public names, from their docstrings."""

from __future__ import annotations

import smoothcert

# Each room's names stand together, in the order in which people need them.
TITLES = {
    "smoothed": "The smoothed classifier",
    "noise": "Noise",
    "procedures": "Certificates and predictions",
    "certification": "Certify, predict",
    "training": "Train",
    "recipes": "Recipes",
    "objectives": "Objectives and their terms",
    "attacks": "Attacks",
    "analysis": "Read a log",
    "audit": "Audit",
    "reproduction": "Reproduce the paper",
    "errors": "Errors",
}


def door_page() -> str:
    rooms = dict.fromkeys([*TITLES, *map(room_of, smoothcert.__all__)])
    parts = []
    for room in rooms:
        entries = [f"::: smoothcert.{name}\n" for name in smoothcert.__all__ if room_of(name) == room]
        parts += [f"## {TITLES.get(room, room.title())}\n", *entries]
    text = "Every public name. `from smoothcert import NAME` is all it takes; torch is loaded when a name needs it.\n"
    return "\n".join(("# Python\n", text, *parts))


def room_of(name: str) -> str:
    return smoothcert._PLACE_OF[name].split(".")[0]
