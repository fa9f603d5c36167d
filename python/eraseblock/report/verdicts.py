"""What the page opens with: the sentences that `compare` ends with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from eraseblock.results.conclusion import Conclusion, drives_of

# Conclusions beyond these are folded.
_OPEN = 2
# What a sentence is about, such as a buffer size, stands before its first colon.
_LONGEST_SUBJECT = 40
_NAME = re.compile("`([^`]+)`")


@dataclass(frozen=True)
class Told:
    """One conclusion: its heading, its sentences as HTML, and whether it is in sight from the start."""

    title: str
    sentences: tuple[Markup, ...]
    open: bool


def verdicts_of(conclusions: Sequence[Conclusion]) -> list[Told]:
    """All conclusions that say anything, and what they say of drives between them."""
    saying = [one for one in conclusions if one.sentences]
    several = len({one.trace for one in saying}) > 1
    told = [
        Told(
            f"{one.title}, under {one.trace}" if several else one.title,
            tuple(map(marked, one.sentences)),
            place < _OPEN,
        )
        for place, one in enumerate(saying)
    ]
    between = drives_of(saying)
    return [*told, Told("Between drives", tuple(map(marked, between)), True)] if between else told


def marked(sentence: str) -> Markup:
    """The sentence with its subject and all names in bold; whatever a trace is called, it is text."""
    subject, colon, rest = sentence.partition(": ")
    if not colon or len(subject) >= _LONGEST_SUBJECT:
        return _names(sentence)
    return Markup("<b>{}:</b> {}").format(subject.replace("`", ""), _names(rest))


def _names(text: str) -> Markup:
    return Markup("").join(
        Markup("<b>{}</b>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(_NAME.split(text))
    )
