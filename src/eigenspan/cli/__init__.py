"""The command line: ``eigenspan demo | methods | info | embed | transform | ...``.

Heavy modules are imported inside the commands, so that ``eigenspan --help`` is fast.
"""

from .main import main

__all__ = ["main"]
