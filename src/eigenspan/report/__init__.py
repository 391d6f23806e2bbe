"""One file that shows everything: linked pictures of the embeddings over their table, and what was found out about them.

::

    Report      what the page holds; `write` makes the file
    report_of   the report of a comparison of methods
    full_report the same with neighbourhoods at every scale, distortion and dimension: what `Comparison.report` writes
    Table, Curves, Spectra, Formulas, Picture, Prose   its sections besides the pictures
    formulas    the formulas of docstrings as MathML and as Unicode
"""

from .comparison_report import report_of
from .full import full_report
from .page import Report
from .sections import Curves, Formulas, Picture, Prose, Spectra, Table

__all__ = ["Curves", "Formulas", "Picture", "Prose", "Report", "Spectra", "Table", "full_report", "report_of"]
