"""smoothcert leaderboard"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.conf import Positional

from smoothcert.errors import InputError

if TYPE_CHECKING:
    from smoothcert.analysis.leaderboard import Board


@dataclass(frozen=True)
class Leaderboard:
    """Rank logs per data set and noise: ACR at equal n on the same images, certified accuracy at each radius, the cost
    of training and of a vote, the distribution of p_A.

    A log with more votes than another is brought down to as many, by the mean over all ways to leave votes out. The
    authors' logs that the package carries stand beside ours. "− first" is the difference to the first row, image by
    image, with its standard error: a row is worse only where that is well below 0.

    Example: smoothcert leaderboard results/runs/mnist-*-0.50-seed0
    """

    logs: Positional[tuple[Path, ...]]
    """run folders or log files (TSV logs too: then the path must tell data set and σ; n = 100,000 is assumed)"""
    label: tuple[str, ...] = ()
    """what to call the logs, one word or quoted text for each, in their order (default: told apart by their paths)"""
    radii: tuple[float, ...] = ()
    """radii of the certified accuracies (default: 0, 0.25, … up to the largest)"""
    own_images: bool = False
    """each log on all its own images (default: only the images that all logs of a board have)"""
    no_published: bool = False
    """leave out the authors' logs of the same data set and σ, which else stand beside"""
    json: bool = False
    """print one JSON document, a list with an object per board: the same as --format json"""
    format: Literal["terminal", "markdown", "json"] = "terminal"
    """how to print it"""

    def __call__(self) -> None:
        from smoothcert.analysis.leaderboard import leaderboard
        from smoothcert.analysis.leaderboard_table import as_dict, markdown, title
        from smoothcert.cli.display import print_json
        from smoothcert.cli.options.logs import readable

        if self.json and self.format == "markdown":
            raise InputError("--json and --format markdown exclude each other")
        if any(not 0 <= r < float("inf") for r in self.radii):
            raise InputError("--radii must be numbers >= 0")
        with readable(self.logs, labels=self.label) as (everything,):
            logs = list(everything.values())
            boards = leaderboard(logs, list(self.radii) or None, not self.own_images, not self.no_published)
            if self.json or self.format == "json":
                print_json([as_dict(board) for board in boards])
            elif self.format == "markdown":
                print("\n".join(f"**{title(board)}**\n\n{markdown(board)}" for board in boards), end="")
            else:
                for number, board in enumerate(boards):
                    print("\n" * (number > 0), end="")
                    _print(board)


def _print(board: Board) -> None:
    from smoothcert.analysis.leaderboard_table import blocks, footnotes, title
    from smoothcert.cli.display import print_table

    print(title(board))
    for block in blocks(board):
        print()
        print_table(*block)
    print()
    for note in footnotes(board):
        print(note)
