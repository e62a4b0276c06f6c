"""What argparse complains about, understood and said as our own sentences."""

from __future__ import annotations

import re

from rigright.base.words import Sentence, say

_KNOWN = (
    say("argument {name}: expected one argument"),
    say("argument {name}: expected at least one argument"),
    say("argument {name}: expected at most one argument"),
    say("argument {name}: expected {count} arguments"),
    say("argument {name}: not allowed with argument {other}"),
    say("argument {name}: ignored explicit argument {value}"),
    say("argument {name}: invalid choice: {value} (choose from {choices})"),
    say("argument {name}: invalid {kind} value: {value}"),
    say("the following arguments are required: {names}"),
    say("one of the arguments {names} is required"),
)


def understand(message: str) -> Sentence:
    """A complaint of argparse as a sentence; one of a later Python that is new to us stays as it is."""
    for known in _KNOWN:
        pattern = re.escape(known.text).replace(r"\{", "{").replace(r"\}", "}")
        match = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>.+?)", pattern), message, re.DOTALL)
        if match:
            return Sentence(known.text, tuple(match.groupdict().items()))
    return say("{complaint}", complaint=message)
