"""The site: the pages of docs/, the gallery of examples/gallery/ and the reference of the API.

    pip install . && pip install --group site
    sphinx-build -W -c docs/site docs build/site

build/site/site/index.html is the first page; neither it nor the search needs a server, and no page loads anything from
elsewhere: formulas are MathML.
"""

import pathlib
import re

import latex2mathml.converter
import matplotlib as mpl
from docutils import nodes
from sphinx import addnodes

import rffkern

project = "rffkern"
version = release = rffkern.__version__
root_doc = "site/index"
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx_design", "sphinx_gallery.gen_gallery"]
html_theme = "furo"
html_title = f"rffkern {version}"
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_extra_path = ["notebook"]
html_math_renderer = "mathml"
html_theme_options = {"top_of_page_buttons": []}
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "dollarmath"]
toc_object_entries_show_parents = "hide"
autodoc_member_order = "alphabetical"
numpydoc_show_class_members = False
default_role = "literal"
suppress_warnings = ["config.cache"]  # functions below are part of the configuration

BESIDE = {"README": "site/index", "CHANGELOG": "site/changes", "CONTRIBUTING": "site/contributing",
          "examples/gallery": "gallery/index"}  # pages beside docs/, and here
GREY = "#808080"  # seen on white and on black


def plot_style(*_):
    """Plots have no background and grey letters, so that they suit light and dark."""
    mpl.rcParams.update(dict.fromkeys(["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color",
                                       "legend.labelcolor"], GREY))
    mpl.rcParams.update({"figure.facecolor": "none", "axes.facecolor": "none", "savefig.transparent": True,
                         "legend.frameon": False, "figure.figsize": (6.4, 3.6), "figure.constrained_layout.use": True})


sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery", "gallery_dirs": "gallery", "filename_pattern": "",
    "abort_on_example_error": True, "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/uses", "doc_module": ("rffkern",), "reset_modules": ("matplotlib", plot_style),
    "matplotlib_animations": (True, "jshtml"),
    "download_all_examples": False, "show_signature": False, "write_computation_times": False, "min_reported_time": 1e9,
}


def to_pages(app, _, content):
    """Links to pages beside docs/ and to the gallery are those of the site; shell above Python is two tabs."""
    for source, page in BESIDE.items():
        content[0] = re.sub(rf"\]\((?:\.\./)*{source}\.md", f"](/{page}.md", content[0])
    content[0] = re.sub(r"\]\((?:\.\./)*examples/gallery(?:/(\w+)\.py)?\)",
                        lambda found: f"](/gallery/{found[1] or 'index'}.rst)", content[0])
    content[0] = re.sub(r"^(```sh\n(?:(?!```).)*```)\n\n(```python\n(?:(?!```).)*```)$",
                        "::::{tab-set}\n:::{tab-item} Command line\n:sync: sh\n\\1\n:::\n:::{tab-item} Python\n"
                        ":sync: python\n\\2\n:::\n::::", content[0], flags=re.MULTILINE | re.DOTALL)


def add_menu(app, page, content):
    """The guide, docs/index.md, is the menu of the site: its bold words are captions, and its links entries."""
    if page != root_doc:
        return
    guide = (pathlib.Path(app.srcdir) / "index.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^\*\*(.+?)\*\*.*$", guide, flags=re.MULTILINE)
    for caption, text in zip(parts[::2], parts[1::2], strict=True):
        lines = [":hidden:", f":caption: {caption}", ""]
        for title, target in re.findall(r"\[([^]]+)\]\((\S+?)(?:\.md|\.rst)?\)", text):
            name = target.removeprefix("../")
            place = BESIDE.get(name, name)
            if place != root_doc:
                lines.append(f"{title} </{place}>")
        content[0] += "\n".join(["\n```{toctree}", *lines, "```\n"])


def as_restructured_text(app, kind, name, item, options, lines):
    """Docstrings are read in terminals first: what would be markup to Sphinx, as |x| and `loss_` are, is escaped."""
    for i, line in enumerate(lines):
        entry, text = re.match(r"(\s*>>>.*|[\w, ]+ : |)(.*)", line).groups()
        parts = re.split(r"(`[^`]*`)", text)  # every second one is code
        parts[::2] = [re.sub(r"([|*])|(?<=\w)_(?!\w)", lambda found: "\\" + found[0], part) for part in parts[::2]]
        lines[i] = entry + "".join(parts)


def visit_formula(translator, node):
    """A formula in TeX becomes MathML, which browsers draw."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    translator.body.append(latex2mathml.converter.convert(node.astext(), display=display))
    raise nodes.SkipNode


def without_icons_from_elsewhere(app, page, template, context, document):
    """Buttons of animations have the signs of site.css, in place of a font that a page would load."""
    context["body"] = re.sub(r'<link rel="stylesheet"\s+href="http[^>]*>', "", context.get("body", ""))


def index_questions(app, document):
    """A heading that is a question is an entry of the index, which the search shows first."""
    for title in document.findall(nodes.title):
        if title.astext().endswith("?"):
            entry = "single", title.astext().rstrip("?").lower(), title.parent["ids"][0], "main", None
            title.parent.insert(1, addnodes.index(entries=[entry]))


def setup(app):
    """Tell Sphinx what to call."""
    app.add_html_math_renderer("mathml", (visit_formula, None), (visit_formula, None))
    app.connect("autodoc-process-docstring", as_restructured_text, priority=0)
    app.connect("doctree-read", index_questions)
    app.connect("html-page-context", without_icons_from_elsewhere)
    app.connect("source-read", add_menu)
    app.connect("source-read", to_pages)
    app.connect("include-read", lambda app, path, name, content: to_pages(app, name, content))
