"""Tables in and out, as they come from real users and go to real programs.

::

    text     .csv .tsv .txt, any separator, any encoding, compressed or not; .jsonl .ndjson .json
    cells    numbers as people write them
    binary   .parquet .feather .xlsx .npy .npz
    cells of biology  .h5ad, as scanpy reads and writes it
"""

from .source import KINDS, Reading, local_copy, read_table
from .write import WRITABLE, check_output, check_outputs, write_table

__all__ = ["KINDS", "WRITABLE", "Reading", "check_output", "check_outputs", "local_copy", "read_table", "write_table"]
