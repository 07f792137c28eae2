"""Reading what people write: one clause analyser for the risk check, the scorer and transcript assessment.

`read(text)` normalises for reading only; every span found in a reading maps back to the original text.
`clauses(text)` splits it. `compile_patterns` and `Scanner` look for the cue tables' small pattern language.
`frequencies(text)` reads how often, as days of the last fourteen. `is_readable` tells whether a text is English at all,
and `readable_part` what of it is.
"""

from agents.language.clauses import Clause, clauses
from agents.language.frequency import WINDOW_DAYS, Frequency, frequencies
from agents.language.markup import tags
from agents.language.matching import Found, Patterns, Scanner, Words, compile_patterns
from agents.language.patterns import BOUNDARY
from agents.language.readable import is_readable, readable_part
from agents.language.reading import Reading, read

__all__ = [
    "BOUNDARY",
    "WINDOW_DAYS",
    "Clause",
    "Found",
    "Frequency",
    "Patterns",
    "Reading",
    "Scanner",
    "Words",
    "clauses",
    "compile_patterns",
    "frequencies",
    "is_readable",
    "read",
    "readable_part",
    "tags",
]
