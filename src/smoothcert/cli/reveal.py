"""smoothcert reveal"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional


@dataclass(frozen=True)
class Reveal:
    """Write the seed of `certify --seed secret` into its finished log: from then on anybody can draw the votes again.

    It must be the seed that the log's header commits to, which `smoothcert verify` checks too. A signature stays valid.
    """

    log: Positional[Path]
    """run folder or certification log"""
    secret: Path | None = None
    """file with the seed (default: LOG.secret); it is deleted"""

    def __call__(self) -> None:
        from smoothcert.certification.seal import reveal

        seed = reveal(self.log, self.secret)
        print(f"{self.log}  seed {seed.seed.hex()}, as committed to ({seed.commitment})")
