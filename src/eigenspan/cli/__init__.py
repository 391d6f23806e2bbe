"""The command line: ``eigenspan demo | methods | info | embed | transform``.

Nothing heavy is imported here; a command imports what it needs when it runs.
"""

from .main import main

__all__ = ["main"]
