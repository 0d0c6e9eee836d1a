"""What `smoothcert verify` says of a log, for a reader who has the page alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from smoothcert.analysis.results import Results
from smoothcert.certification.verify import Verification, verify
from smoothcert.errors import InputError
from smoothcert.records.signature import signature_path
from smoothcert.report.plain_name import without_folders

Kind = Literal["good", "bad", "mark", "plain"]


@dataclass(frozen=True)
class Seal:
    """One thing that was found out about a log, in few words; `term` explains it."""

    kind: Kind
    words: str
    term: str


@dataclass(frozen=True)
class Check:
    """A log's certificates computed again while the page was made, or why they cannot be."""

    verification: Verification | None = None
    refused: str = "there is no log file"
    signature: Literal["none", "fits", "not checked"] = "none"

    @property
    def wrong(self) -> list[str]:
        """All that does not follow, save that the log is not finished, which is no fault of its rows."""
        found = () if self.verification is None else self.verification.problems
        return [
            without_folders(what if index is None else f"image {index}: {what}")
            for index, what in found
            if index is not None or not what.endswith("INCOMPLETE")
        ]

    @property
    def verified(self) -> bool:
        return self.verification is not None and not self.wrong

    def seals(self, images: int, selected: int | None) -> list[Seal]:
        """Complete, verified, sealed, seed, signature: in this order, whichever of them the log tells."""
        found = [_complete(images, selected)]
        done = self.verification
        if done is None:
            return [*found, Seal("mark", f"not verified: {self.refused}", "verified")]
        good = "all certificates follow from their votes"
        found += [Seal("bad", "DOES NOT VERIFY", "verified") if self.wrong else Seal("good", good, "verified")]
        found += [Seal("good", "sealed", "sealed") if done.closed else Seal("plain", "without closing row", "sealed")]
        seeds: dict[str, Seal] = {
            "public": Seal("plain", "public seed", "seed"),
            "secret": Seal("mark", "seed still secret", "seed"),
            "revealed": Seal("good", "seed revealed, fits its commitment", "seed"),
        }
        signatures: dict[str, Seal] = {
            "none": Seal("plain", "not signed", "signature"),
            "fits": Seal("good", "signature fits", "signature"),
            "not checked": Seal("mark", "signed, signature not checked", "signature"),
        }
        return [*found, seeds[done.seed], signatures[self.signature]]


def check_of(results: Results, public_key: Path | None = None) -> Check:
    """Recomputed from the file; with a key, a log that its owner did not sign is refused with InputError."""
    path = results.path
    if path is None:
        return Check()
    if not results.header.stated:
        if public_key is not None:
            raise InputError(f"{path}: a TSV log cannot be signed: leave out --public-key")
        return Check(refused="a TSV log holds neither votes nor settings")
    signature: Literal["none", "not checked"] = "not checked" if signature_path(path).exists() else "none"
    try:
        return Check(verify(path, public_key), "", signature if public_key is None else "fits")
    except InputError as error:
        if public_key is not None:
            raise
        return Check(None, without_folders(str(error).replace(f"{path}: ", "")), signature)


def _complete(images: int, selected: int | None) -> Seal:
    if selected is None:
        return Seal("mark", f"{images:,} images; not stated how many were selected", "complete")
    if images < selected:
        return Seal("bad", f"INCOMPLETE: {images:,} of {selected:,} images", "complete")
    return Seal("good", f"complete: {images:,} of {selected:,} images", "complete")
