"""Names in sentences stand out by weight, not by quotes."""

from __future__ import annotations

import re

from rich.text import Text

_NAME = re.compile("`([^`]+)`")


def styled(sentence: str) -> Text:
    """A sentence whose names stand in backquotes; what comes before a colon, if it is short, is a head."""
    text = Text()
    for index, part in enumerate(_NAME.split(sentence)):
        text.append(part, "bold cyan" if index % 2 else "")
    place, colon, _ = text.plain.partition(": ")
    if colon and len(place) < 40:
        text.stylize("bold", 0, len(place))
    return text
