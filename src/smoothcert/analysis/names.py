"""Names that tell logs apart, wherever several of them are shown: in a table, a legend, a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from smoothcert.analysis.published import Setting, run_word
from smoothcert.analysis.results import Results
from smoothcert.analysis.setting import setting_of

_DEPTH = 8  # folders: a name longer than these says nothing any more


def told_apart(everything: Sequence[Results]) -> list[Results]:
    """The same logs, no two of one name, save those a person labelled.

    Logs of one name get as many of their folders' names before it as tell them apart; a number where none do.
    """
    names = [r.name for r in everything]
    taken = Counter(r.name for r in everything if r.labelled)
    found = []
    for r in everything:
        alike = [o for o in everything if o.name == r.name and not o.labelled]
        name = r.name if r.labelled or names.count(r.name) == 1 else _with_folders(r, alike)
        if not r.labelled:
            taken[name] += 1
            name += f" ({taken[name]})" if taken[name] > 1 else ""
        found.append(replace(r, name=name))
    return found


def _with_folders(one: Results, alike: Sequence[Results]) -> str:
    """As few folders as no other log of this name has; none where eight are not enough."""
    for depth in range(1, _DEPTH + 1):
        mine = _folders(one, depth)
        if mine and sum(_folders(other, depth) == mine for other in alike) == 1:
            return "/".join((*mine, one.name))
    return one.name


def _folders(results: Results, depth: int) -> tuple[str, ...]:
    return () if results.path is None else results.path.absolute().parent.parts[1:][-depth:]


def legend_names(found: Sequence[Results]) -> list[str]:
    """For the curves of one panel: method and λ, and whatever else of the setting they differ in; each once.

    A log whose method is not known, or whose setting another log has too, goes by its name.
    """
    settings = [setting_of(r) for r in found]
    words = [_words(s, settings) for s in settings]
    words = [
        w if words.count(w) == 1 else ", ".join(filter(None, (w, run_word(s))))
        for w, s in zip(words, settings, strict=True)
    ]
    return [
        r.name if r.labelled or s.method is None or words.count(w) > 1 else w
        for r, s, w in zip(found, settings, words, strict=True)
    ]


def _words(s: Setting, others: Sequence[Setting]) -> str:
    def differs(key: str) -> bool:
        return len({getattr(o, key) for o in others if o.method == s.method}) > 1

    words = [str(s.method)]
    if s.network is not None and len({o.network for o in others}) > 1:
        words.insert(0, s.network.rpartition("_")[2])
    if s.lbd is not None:
        words.append(f"λ = {s.lbd:g}")
    if s.m is not None and differs("m"):
        words.append(f"m = {s.m}")
    if s.eta is not None and differs("eta"):
        words.append(f"η = {s.eta:g}")
    return ", ".join(words)
