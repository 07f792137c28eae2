"""One frozen session, several diagnosticians: replays side by side, blind votes and overrides."""

from benchmark.comparison.desk import ComparisonDesk, compared, open_desk
from benchmark.comparison.exports import as_json, as_markdown
from benchmark.comparison.table import as_csv
from benchmark.comparison.types import (
    Agreement,
    AlignedImpression,
    Ballot,
    Column,
    Comparison,
    HistoryEntry,
    Override,
    PairTally,
    Reveal,
    RunState,
    Vote,
)
from storage.ballots import Choice

__all__ = [
    "Agreement",
    "AlignedImpression",
    "Ballot",
    "Choice",
    "Column",
    "Comparison",
    "ComparisonDesk",
    "HistoryEntry",
    "Override",
    "PairTally",
    "Reveal",
    "RunState",
    "Vote",
    "as_csv",
    "as_json",
    "as_markdown",
    "compared",
    "open_desk",
]
