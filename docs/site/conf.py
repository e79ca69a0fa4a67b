"""The site: the pages of docs/ and the reference of the API.

    pip install . && pip install --group site
    sphinx-build -W -c docs/site docs build/site

build/site/site/index.html is the first page; neither it nor the search needs a server.
"""

import re

import rffkern

project = "rffkern"
version = release = rffkern.__version__
root_doc = "site/index"
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = f"rffkern {version}"
html_show_copyright = False
html_copy_source = False
myst_heading_anchors = 3
toc_object_entries_show_parents = "hide"
autodoc_member_order = "alphabetical"
numpydoc_show_class_members = False
default_role = "literal"

BESIDE = {"README": "index", "CHANGELOG": "changes", "CONTRIBUTING": "contributing"}  # pages beside docs/, and here


def to_pages(app, _, content):
    """Links to pages beside docs/ are links within the site."""
    for source, page in BESIDE.items():
        content[0] = re.sub(rf"\]\((?:\.\./)*{source}\.md", f"](/site/{page}.md", content[0])


def as_restructured_text(app, kind, name, item, options, lines):
    """Docstrings are read in terminals first: what would be markup to Sphinx, as |x| and `loss_` are, is escaped."""
    for i, line in enumerate(lines):
        entry, text = re.match(r"(\s*>>>.*|[\w, ]+ : |)(.*)", line).groups()
        parts = re.split(r"(`[^`]*`)", text)  # every second one is code
        parts[::2] = [re.sub(r"([|*])|(?<=\w)_(?!\w)", lambda found: "\\" + found[0], part) for part in parts[::2]]
        lines[i] = entry + "".join(parts)


def setup(app):
    """Tell Sphinx what to call."""
    app.connect("autodoc-process-docstring", as_restructured_text, priority=0)
    app.connect("source-read", to_pages)
    app.connect("include-read", lambda app, path, name, content: to_pages(app, name, content))
