"""How Sphinx builds the site: `make docs`. The pages are Markdown that also reads well without it."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from _site import examples, pages, reference  # noqa: E402

import eigenspan  # noqa: E402

project = "eigenspan"
author = "The eigenspan developers"
version = release = eigenspan.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "_site",
]
exclude_patterns = ["_build", "_templates", "_site", "reproductions/*.json", "site/scripts"]
templates_path = ["_templates"]
default_role = "literal"
nitpicky = True
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions, which are not kept between builds

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # types are in the lists of parameters
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_context = {"known_as": reference.known_as()}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = f"eigenspan {version}"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # a page that is opened as a file may not read others
html_theme_options = {
    "header_links_before_dropdown": 9,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "pygments_light_style": "tango",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_context = {"default_mode": "auto"}
copyright = "the eigenspan developers, BSD-3-Clause"
mathjax_path = "mathjax/tex-svg.js"

# What the site has and the repository has not: pages of sections, of names and of examples.
pages.write_sections(HERE)
reference.write(HERE)
sphinx_gallery_conf = examples.configuration(HERE)
