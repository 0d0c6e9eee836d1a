"""What a TSV log is of, by its path: published logs say it in the names of files and folders, never inside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

_NUMBER = r"(\d+(?:\.\d+)?)"
_DATASET = r"(mnist|cifar10|imagenet)"
_NETWORK = r"(?:cifar_|imagenet_)?(resnet110|resnet50|resnet20|densenet40|lenet)"
_METHODS = {
    "smoothadv": "smoothadv",
    "salman": "smoothadv",
    "pgd": "smoothadv",
    "consistency": "consistency",
    "stability": "stability",
    "stab": "stability",
    "macer": "macer",
    "gaussian": "gaussian",
    "cohen": "gaussian",
}
_NETWORKS = {"resnet50": "imagenet_resnet50", "lenet": "lenet"}
_RELEASED = {"mnist": "lenet", "cifar10": "cifar_resnet110", "imagenet": "imagenet_resnet50"}
_LETTERS = {"sigma": "sigma|noise", "lbd": "lambda|lbd", "m": "m|num", "eta": "eta", "run": "seed|run"}
_RELEASED_FILE = re.compile(rf"noise_{_NUMBER}(?:_(.+))?")


@dataclass(frozen=True)
class Setting:
    """The words by which the paper's tables tell their rows apart; None where the log does not say."""

    dataset: str | None = None
    network: str | None = None
    method: str | None = None
    sigma: float | None = None
    lbd: float | None = None
    m: int | None = None
    eta: float | None = None
    run: str | None = None
    """the seed, or whatever number tells this training from others like it"""


def setting_of_path(path: PurePath) -> Setting:
    """What the path says, and what may be taken for granted: m = 2 for Consistency, LeNet for MNIST.

    In the paper's release (a file `noise_σ` or `noise_σ_RUN` below a folder named after a data set) a path without a
    network means ResNet-110 for CIFAR-10 and ResNet-50 for ImageNet; nowhere else is that assumed.
    """
    s = said_by(path)
    released = _RELEASED_FILE.fullmatch(_stem(path)) and any(_dataset_folder(f) for f in path.parts[:-1])
    if s.network is None and s.dataset is not None and (released or s.dataset == "mnist"):
        s = replace(s, network=_RELEASED[s.dataset])
    return replace(s, m=2) if s.m is None and s.method == "consistency" else s


def name_of_path(path: PurePath) -> str:
    """Short and telling: "cifar10 resnet110 consistency λ=10 m=2 η=0.5 σ=0.50 #3".

    The file's own name where that says more than is understood here, or the path does not tell data, method and σ.
    """
    s, stem = said_by(path), _stem(path)
    if None in (s.dataset, s.method, s.sigma) or not _understood(stem):
        return stem
    network = s.network.rpartition("_")[2] if s.network else None
    return " ".join(word for word in (s.dataset, network, s.method, *letters(s), run_word(s)) if word)


def letters(s: Setting) -> list[str]:
    """λ, m, η and σ, as far as they are known.

    >>> letters(Setting(sigma=0.5, lbd=10.0))
    ['λ=10', 'σ=0.50']
    """
    known = ((s.lbd, "λ={:g}"), (s.m, "m={}"), (s.eta, "η={:g}"), (s.sigma, "σ={:.2f}"))
    return [form.format(value) for value, form in known if value is not None]


def run_word(s: Setting) -> str:
    return "" if s.run is None else f"#{s.run}"


def said_by(path: PurePath) -> Setting:
    """From the file's name, then from its folders, the nearest first.

    Folders count from the nearest one named after a data set downwards: what lies above (a home folder called "macer")
    says nothing. Without such a folder, or where the file names another data set than it, only the file's name counts.
    """
    name = _stem(path)
    said = _said_by_file(name)
    folders = list(path.parts[:-1])
    at = next((i for i in reversed(range(len(folders))) if _dataset_folder(folders[i])), None)
    dataset = None if at is None else _dataset_folder(folders[at])
    methods = _methods(name)
    if at is not None and said.get("dataset", dataset) == dataset:
        said.setdefault("dataset", str(dataset))
        found = [_said_by_folder(f) for f in reversed(folders[at + 1 :])]
        methods = methods or {m for facts in found for m in facts.pop("methods", "").split() if m}
        for facts in found:
            said = {**facts, **said}
    return Setting(
        said.get("dataset"),
        said.get("network"),
        _method(methods, said),
        _number(said, "sigma"),
        _number(said, "lbd"),
        None if (m := _number(said, "m")) is None else int(m),
        _number(said, "eta"),
        said.get("run"),
    )


def _number(said: dict[str, str], key: str) -> float | None:
    return float(said[key]) if key in said else None


def _stem(path: PurePath) -> str:
    return path.name.removesuffix(".gz").removesuffix(".tsv")


def _dataset_folder(name: str) -> str | None:
    """mnist, mnist-five-seeds; not fashion_mnist."""
    found = re.fullmatch(rf"{_DATASET}(?:[-_ ].*)?", name.lower())
    return found[1] if found else None


def _said_by_folder(name: str) -> dict[str, str]:
    """A folder counts only if all of its name is understood, as of cohen, num_2, salman_255.0_10_10, cifar_resnet20."""
    name = name.lower()
    for key, words in _LETTERS.items():
        if found := re.fullmatch(rf"(?:{words})_?{_NUMBER}", name):
            return {key: found[1]}
    if found := re.fullmatch(_NETWORK, name):
        return {"network": _network(found[1])}
    if found := re.fullmatch(rf"(?:salman|pgd)_{_NUMBER}(?:_[\d.]+)*", name):
        return {"methods": "smoothadv", "epsilon": found[1]}
    name = re.sub(r"_deferred\d+$", "", name)  # MACER's warm-up, which no table tells apart
    named = [_METHODS.get(word) for word in re.split(r"[-_+]", name)]
    return {} if None in named else {"methods": " ".join(map(str, named))}


def _matches(name: str) -> Iterator[tuple[str, re.Match[str]]]:
    """All that is understood of a file's name, as in mnist_consistency_lambda5_m4_sigma0.50 or noise_0.50_3."""
    text = name.lower()
    if found := _RELEASED_FILE.fullmatch(text):
        yield "released", found
        return
    for key, words in _LETTERS.items():
        if found := re.search(rf"(?<![a-z])(?:{words})[_=-]?{_NUMBER}(?![a-z0-9])", text):
            yield key, found
    for key, words in (("dataset", rf"(?<!fashion[_-]){_DATASET}"), ("network", _NETWORK)):
        if found := re.search(rf"(?<![a-z0-9]){words}(?![a-z0-9])", text):
            yield key, found
    for found in re.finditer(rf"(?<![a-z])({'|'.join(_METHODS)})(?![a-z])", text):
        yield "method", found


def _said_by_file(name: str) -> dict[str, str]:
    said = {}
    for key, found in _matches(name):
        if key == "released":
            said["sigma"] = found[1]
            if found[2]:
                said["run"] = found[2]
        elif key != "method":
            said[key] = _network(found[1]) if key == "network" else found[1]
    return said


def _methods(name: str) -> set[str]:
    return {_METHODS[found[1]] for key, found in _matches(name) if key == "method"}


def _understood(name: str) -> bool:
    """No letter or digit is left over: a name made of what was understood loses nothing."""
    left = list(name)
    for _, found in _matches(name):
        left[found.start() : found.end()] = " " * (found.end() - found.start())
    return not any(c.isalnum() for c in left)


def _network(word: str) -> str:
    return _NETWORKS.get(word, f"cifar_{word}")


def _method(found: set[str], said: dict[str, str]) -> str | None:
    """The method's name in the tables: Consistency upon plain Gaussian training is called after itself alone."""
    if "consistency" in found:
        found = found - {"gaussian"}
    if found == {"consistency"} and float(said.get("eta", 0.5)) == 0:
        return "kl"
    # Table 5: the searched settings of CIFAR-10 have ε = 512, where the fixed one has 255 (a distance of 1).
    if found == {"smoothadv"} and said.get("dataset") == "cifar10" and float(said.get("epsilon", 0)) > 1.5 * 255:
        return "smoothadv-best"
    return "+".join(m for m in dict.fromkeys(_METHODS.values()) if m in found) or None
