"""What a TSV log is of, by its path: published logs say it in the names of files and folders, never inside."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePath

_NUMBER = r"(\d+(?:\.\d+)?)"
_DATASET = r"(mnist|cifar10|imagenet)"
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
_LETTERS = {
    "sigma": "sigma|noise",
    "lbd": "lambda|lbd",
    "m": "m|num",
    "eta": "eta",
    "run": "seed|run",
    "warm-up": "deferred",  # MACER's, which no table tells apart
}
_SAID = {
    **{key: rf"(?<![a-z])(?:{words})[_=-]?{_NUMBER}(?![a-z0-9])" for key, words in _LETTERS.items()},
    "epsilon": rf"(?<![a-z])(?:salman|pgd)_{_NUMBER}(?:_[\d.]+)*(?![a-z0-9])",
    "dataset": rf"(?<![a-z0-9])(?<!fashion[_-]){_DATASET}(?![a-z0-9])",
    "network": r"(?<![a-z0-9])(?:cifar_|imagenet_)?(resnet110|resnet50|resnet20|densenet40|lenet)(?![a-z0-9])",
}
_METHOD = re.compile(rf"(?<![a-z])({'|'.join(_METHODS)})(?![a-z])")
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
    if None in (s.dataset, s.method, s.sigma) or not _read(stem)[2]:
        return stem
    network = s.network.rpartition("_")[2] if s.network else None
    known = ((s.lbd, "λ={:g}"), (s.m, "m={}"), (s.eta, "η={:g}"), (s.sigma, "σ={:.2f}"))
    letters = [form.format(value) for value, form in known if value is not None]
    return " ".join(word for word in (s.dataset, network, s.method, *letters, run_word(s)) if word)


def run_word(s: Setting) -> str:
    return "" if s.run is None else f"#{s.run}"


def said_by(path: PurePath) -> Setting:
    """From the file's name, then from its folders, the nearest first.

    Folders count from the nearest one named after a data set downwards: what lies above (a home folder called "macer")
    says nothing. Without such a folder, or where the file names another data set than it, only the file's name counts.
    A folder counts only if all of its name is understood, as of cohen, num_2, salman_255.0_10_10, cifar_resnet20.
    """
    said, methods, _ = _read(_stem(path))
    folders = path.parts[:-1]
    at = next((i for i in reversed(range(len(folders))) if _dataset_folder(folders[i])), len(folders))
    dataset = _dataset_folder(folders[at]) if at < len(folders) else None
    if dataset is not None and said.get("dataset", dataset) == dataset:
        understood = [found for folder in reversed(folders[at + 1 :]) if (found := _read(folder))[2]]
        methods = methods or {method for _, named, _ in understood for method in named}
        for facts, _, _ in understood:
            said = facts | said
        said = {"dataset": dataset} | said
    word, run = said.get("network"), said.get("run")
    numbers = {key: float(said[key]) for key in ("sigma", "lbd", "eta") if key in said}
    return Setting(
        said.get("dataset"),
        _NETWORKS.get(word, f"cifar_{word}") if word else None,
        _method(methods, said),
        m=int(float(said["m"])) if "m" in said else None,
        run=run,
        **numbers,
    )


def _read(name: str) -> tuple[dict[str, str], set[str], bool]:
    """What the name of a file or folder says, the methods it names, and whether no letter or digit of it is left over.

    As in mnist_consistency_lambda5_m4_sigma0.50 or noise_0.50_3.
    """
    text = left = name.lower()
    if found := _RELEASED_FILE.fullmatch(text):
        return {"sigma": found[1]} | ({"run": found[2]} if found[2] else {}), set(), True
    said = {key: found for key, pattern in _SAID.items() if (found := re.search(pattern, text))}
    methods = list(_METHOD.finditer(text))
    for found in (*said.values(), *methods):
        left = left[: found.start()] + " " * len(found[0]) + left[found.end() :]
    understood = not any(c.isalnum() for c in left)
    return {key: found[1] for key, found in said.items()}, {_METHODS[found[1]] for found in methods}, understood


def _stem(path: PurePath) -> str:
    return path.name.removesuffix(".gz").removesuffix(".tsv")


def _dataset_folder(name: str) -> str | None:
    """mnist, mnist-five-seeds; not fashion_mnist."""
    found = re.fullmatch(rf"{_DATASET}(?:[-_ ].*)?", name.lower())
    return found[1] if found else None


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
