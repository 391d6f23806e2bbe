"""Entry point of ``python -m eigenspan``."""

from .cli import main

main(prog_name="eigenspan")
