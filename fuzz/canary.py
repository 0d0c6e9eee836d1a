"""What hostile files try to call: if one succeeds, code from a file was executed."""

fired: list[str] = []


def fire(*arguments: object) -> str:
    fired.append(repr(arguments)[:80])
    return "fired"
