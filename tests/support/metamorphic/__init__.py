"""A metamorphic fuzzer: random cases, tested by relations between two calls instead of known results.

`draw` composes a case, `judge` fits it and checks the `relations` that `promises` declares for it, and `explain` shows one failure.
"""

from .case import Case
from .draw import draw
from .judge import Verdict, judge
from .shrink import explain, shrink

__all__ = ["Case", "Verdict", "draw", "explain", "judge", "shrink"]
