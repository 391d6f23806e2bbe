"""Tables in and out, as they come from real users and go to real programs.

::

    source       from a name, a pipe or a file without an ending to a table
    text         .csv .tsv .txt .dat, any separator, any encoding, compressed or not; .jsonl .ndjson .json
    cells        numbers as people write them
    binary       .parquet .feather .xlsx .npy .npz .h5ad
    parts        what is too large for memory
    encoding     encoding and size of text, in one pass over its bytes
    sizes        memory that arrays, workbooks and AnnData will take, from their headers
    columnar     the same of Parquet and Feather
    write        tables out, and the checks before the work
    spreadsheet  cells that spreadsheet programs would run
"""

from .source import KINDS, Reading, local_copy, read_table
from .write import WRITABLE, check_output, check_outputs, write_table

__all__ = ["KINDS", "WRITABLE", "Reading", "check_output", "check_outputs", "local_copy", "read_table", "write_table"]
