"""smoothcert report"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from smoothcert.errors import InputError

if TYPE_CHECKING:
    from smoothcert.analysis.report import Entry
    from smoothcert.analysis.results import Results

_SIDE = 96  # pixels: larger pictures are made smaller


@dataclass(frozen=True)
class Report:
    """One HTML page about runs and logs (TSV too) that opens offline: curves, paper's values, training, images."""

    logs: Positional[tuple[Path, ...]]
    """run folders or log files"""
    label: tuple[str, ...] = ()
    """what to call the logs, one word or quoted text for each, in their order (default: told apart by their paths)"""
    out: Path = Path("report.html")
    """page to write"""
    title: str = "smoothcert report"
    """heading of the page"""
    paper: tuple[str, ...] = ()
    """printed row to stand beside each log, in their order: TABLE:ROW such as 6:8, auto, or none"""
    data: Path | None = None
    """folder that holds data sets, for the pictures (else SMOOTHCERT_DATA, else ./data)"""
    no_pictures: bool = False
    """leave the test images out; else they are shown where their data set is on this machine"""

    def __call__(self) -> None:
        from smoothcert.analysis.report import render
        from smoothcert.certification.parts import one_per_log
        from smoothcert.cli.logs import readable
        from smoothcert.records.files import write_atomically

        logs = one_per_log(self.logs)
        if len(self.paper) > len(logs):
            raise InputError(f"--paper names {len(self.paper)} rows for {len(logs)} logs")
        words = [*self.paper, *["auto"] * (len(logs) - len(self.paper))]
        with readable(self.logs, labels=self.label) as (read,):
            pairs = [(read[path], word) for path, word in zip(logs, words, strict=True) if path in read]
            entries = [self._entry(results, word) for results, word in pairs]
            self.out.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.out, render(entries, self.title).encode())
            print(self.out)

    def _entry(self, results: Results, word: str) -> Entry:
        from smoothcert.analysis.report import Entry
        from smoothcert.paper import find
        from smoothcert.records.run_folder import RunFolder
        from smoothcert.training.log import read_training_log

        rows = None if word == "auto" else () if word == "none" else (find(word),)
        log = RunFolder(results.path.parent).training_log if results.path else None
        # A log beside its run's training belongs to it; a TSV log that happens to lie there does not.
        training = read_training_log(log) if log and log.exists() and results.about else []
        pictures = {} if self.no_pictures else self._pictures(results)
        return Entry(results, training, _hyperparameters(results), pictures, rows)

    def _pictures(self, results: Results) -> dict[int, bytes]:
        """The gallery's images, if the very data set of the log is here."""
        about = results.about.get("data")
        if not isinstance(about, dict) or not about.get("name"):
            return {}
        import torch

        from smoothcert.analysis.report import gallery_images
        from smoothcert.data import load

        try:
            data = load(about["name"], about.get("split", "test"), self.data)
            wanted = gallery_images(results)
            if len(data) != about.get("images") or data.fingerprint != about.get("fingerprint"):
                return {}
            images, _ = data.batch(torch.tensor(wanted))
        except InputError:
            return {}
        return {index: _png(image.numpy()) for index, image in zip(wanted, images, strict=True)}


def _hyperparameters(results: Results) -> int | None:
    from smoothcert.recipes import from_dict

    try:
        return from_dict(results.about["recipe"]).num_hyperparameters
    except (KeyError, InputError):
        return None


def _png(image: Any) -> bytes:
    """(C, H, W) in [0, 1] → PNG, at most 96 pixels on a side."""
    import io

    import numpy as np
    from PIL import Image

    pixels = np.clip(np.rint(image * 255), 0, 255).astype(np.uint8)
    picture = Image.fromarray(pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0))
    picture.thumbnail((_SIDE, _SIDE))
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()
