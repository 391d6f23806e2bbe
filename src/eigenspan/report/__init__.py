"""Reports: one self-contained HTML file with linked pictures of embeddings, their table, and measures.

::

    Report      the contents of the page; `write` creates the file
    report_of   creates the report of a comparison of methods
    full_report as report_of, with rank curves, distortion and dimension; used by `Comparison.report`
    Table, Curves, Spectra, Formulas, Picture, Prose   sections below the pictures
    formulas    converts the formulas of docstrings to MathML and Unicode
"""

from .comparison_report import report_of
from .full import full_report
from .page import Report
from .sections import Curves, Formulas, Picture, Prose, Spectra, Table

__all__ = ["Curves", "Formulas", "Picture", "Prose", "Report", "Spectra", "Table", "full_report", "report_of"]
