"""The site: Sphinx with the PyData theme. Pages of four kinds, a reference that is generated, cells that run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import consilience

project = "Consilience"
author = "The Consilience developers"
copyright = author
version = release = consilience.__version__

extensions = [
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "building.progress",
    "building.reference",
    "building.cells",
    "building.checks",
    "building.gallery",
    "building.keywords",
    "building.repository",
    "building.tables",
]
# No intersphinx: no package on PyPI carries inventories of NumPy, SciPy or xarray, and a build needs no network.
exclude_patterns = ["_build", "building", "gallery/README.md"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = True
suppress_warnings = ["config.cache"]
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 3
maximum_signature_line_length = 90
add_module_names = False
python_use_unqualified_type_names = True
highlight_language = "none"
docstrings_are_numpydoc = True  # a docstring of another form stops the build

html_theme = "pydata_sphinx_theme"
html_title = "Consilience"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_context = {"default_mode": "auto"}
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_copy_source = html_show_sourcelink = False
html_sidebars = {
    "index": [],
    "learn/**": ["sidebar-nav-bs"],
    "do/**": ["sidebar-nav-bs"],
    "understand/**": ["sidebar-nav-bs"],
    "design/**": ["sidebar-nav-bs"],
    "gallery/**": ["sidebar-nav-bs"],
    "reference/*": ["sidebar-nav-bs"],
    "reference/api/*": ["names-of-subject"],
}
html_theme_options = {
    "use_edit_page_button": False,
    "show_toc_level": 2,
    "show_nav_level": 1,
    "navigation_depth": 2,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
linkcheck_timeout = 20
