"""Readers and writers of tables, for the file formats that users have.

::

    source       reads a table from a file, a folder or a pipe, and detects the format
    text         .csv .tsv .txt .dat, any separator, any encoding, compressed or not; .jsonl .ndjson .json
    number_cells  numbers in human notation
    binary       .parquet .feather .xlsx .npy .npz .h5ad
    parts        tables larger than memory, read in chunks
    encoding     encoding and size of text, in one pass over its bytes
    sizes        memory that arrays, workbooks and AnnData will take, from their headers
    columnar     memory that Parquet and Feather files will take, from their metadata
    write        writes tables; checks before the work whether they can be written
    spreadsheet  text cells that spreadsheet programs would run as formulas
"""

from .source import KINDS, Reading, local_copy, read_table
from .write import WRITABLE, check_output, check_outputs, write_table

__all__ = ["KINDS", "WRITABLE", "Reading", "check_output", "check_outputs", "local_copy", "read_table", "write_table"]
