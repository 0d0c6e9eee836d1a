"""The one exception whose text is meant for the person at the keyboard."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """What was given cannot be used; the message says in one line what is wrong and what to do."""


class Notice(UserWarning):
    """What a person should know of something that is done all the same; one line."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error message about an unknown name.

    >>> did_you_mean("mnits", ["mnist", "cifar10"])
    ': did you mean mnist?'
    """
    choices = list(known)
    close = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    return f": did you mean {close[0]}?" if close else f": there are {', '.join(choices)}"
