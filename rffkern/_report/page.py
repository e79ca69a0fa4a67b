"""The page of a report: one HTML file with its charts inside, which loads nothing and runs no script."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._estimator.evaluation import is_rounding, metric_name, names_of_metrics
from .._estimator.head import KEPT
from .._estimator.metrics import ASCENDING
from .charts import (
    coverage_chart,
    dependence_chart,
    key_of,
    learning_chart,
    pair_chart,
    reliability_chart,
    residual_chart,
    response_range,
    scatter_chart,
    shade_key,
    summary_chart,
)
from .labelled_rows import number_text
from .svg import error_bar, escape, padded, share_bar, strip

Facts = dict[str, Any]

_MOST_COLUMNS = 100  # that a table of columns shows
_MOST_LEVELS = 3
_MOST_VALUES = 12  # of a row

STYLE = """
:root{--paper:#fff;--soft:#f3f5f7;--ink:#1a1e23;--muted:#59636e;--line:#d5dbe1;--accent:#1f5fa8;--warm:#b4501b;
--c0:#1f5fa8;--c1:#b4501b;--c2:#2d7a3e;--c3:#7a4aa8;--c4:#b02a4c;--c5:#5f6b76}
@media (prefers-color-scheme:dark){:root{--paper:#14171b;--soft:#1d2228;--ink:#e7eaee;--muted:#9ba6b1;--line:#363e47;
--accent:#74aeea;--warm:#eb9a63;--c0:#74aeea;--c1:#eb9a63;--c2:#76c58a;--c3:#bd9be8;--c4:#ef7f9c;--c5:#aab4be}}
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%;print-color-adjust:exact;-webkit-print-color-adjust:exact}
body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:1120px;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:0}
h2{font-size:1.15rem;margin:2.6rem 0 .3rem;padding-top:.7rem;border-top:1px solid var(--line)}
h3{font-size:.95rem;margin:1.4rem 0 .4rem}
p{margin:.35rem 0;max-width:46rem}
p.lead{font-size:1.2rem;line-height:1.45;margin:.8rem 0}
.how,figcaption,.sub{color:var(--muted);font-size:.875rem}
nav{font-size:.875rem;margin:1rem 0 0;display:flex;flex-wrap:wrap;gap:.15rem .9rem}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
.facts{display:flex;flex-wrap:wrap;gap:.4rem 2rem;margin:1rem 0;padding:0}
.facts div{min-width:6.5rem}.facts dt{color:var(--muted);font-size:.8rem}.facts dd{margin:0;font-size:1.02rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.875rem;margin:.6rem 0;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.28rem .9rem .28rem 0;vertical-align:top;border-bottom:1px solid var(--line)}
th,td{overflow-wrap:break-word}td:first-child{max-width:16rem}th{font-weight:600;color:var(--muted)}td.n,th.n{text-align:right;white-space:nowrap}
td .strip{vertical-align:middle}
tr.quiet td{color:var(--muted)}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,320px),1fr));gap:1rem 1.4rem;margin:.8rem 0}
figure{margin:0;break-inside:avoid}figcaption{margin-bottom:.2rem}
svg.chart{display:block;width:100%;max-width:440px;height:auto}
svg.strip{display:inline-block;width:auto;height:1.3em;min-width:4rem}
svg text{font-size:11px;fill:var(--muted);font-family:inherit}
svg path{fill:none;stroke-linecap:round}
path.grid,path.zero{stroke:var(--line);stroke-width:1}path.zero{stroke:var(--muted);stroke-dasharray:3 3}
path.line{stroke:var(--c0);stroke-width:2;stroke-linejoin:round}path.line.second{stroke:var(--c1)}
path.curve{stroke:var(--muted);stroke-width:.7;opacity:.28}
path.error{stroke:var(--c0);stroke-width:1.5}path.range{stroke:var(--line);stroke-width:5}
path.error.warm{stroke:var(--warm)}path.dot.warm{stroke:var(--warm)}
path.rug{stroke:var(--muted);stroke-width:.6;opacity:.7}
path.dot{stroke:var(--c0);stroke-width:4}path.dot.large{stroke-width:7}path.dot.faint{stroke-width:3.5;opacity:.45}
path.bars{fill:var(--c0);opacity:.55}rect.bars{fill:var(--c0);opacity:.55}rect.shade{fill:var(--c0)}
path.c0{stroke:var(--c0)}path.c1{stroke:var(--c1)}path.c2{stroke:var(--c2)}path.c3{stroke:var(--c3)}
path.c4{stroke:var(--c4)}path.c5{stroke:var(--c5)}
path.s0{stroke:var(--c0)}path.s1{stroke:color-mix(in srgb,var(--warm) 25%,var(--c0))}
path.s2{stroke:color-mix(in srgb,var(--warm) 50%,var(--c0))}path.s3{stroke:color-mix(in srgb,var(--warm) 75%,var(--c0))}
path.s4{stroke:var(--warm)}path.dot.none{stroke:var(--muted)}
.keys .s0{color:var(--c0)}.keys .s4{color:var(--warm)}.keys .s2{color:color-mix(in srgb,var(--warm) 50%,var(--c0))}
.pair{grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr))}.pair svg.chart{max-width:560px}
svg text.key.c0{fill:var(--c0)}svg text.key.c1{fill:var(--c1)}
.keys{font-size:.875rem}.keys span{margin-right:1rem;white-space:nowrap}
.keys .c0{color:var(--c0)}.keys .c1{color:var(--c1)}.keys .c2{color:var(--c2)}
.keys .c3{color:var(--c3)}.keys .c4{color:var(--c4)}.keys .c5{color:var(--c5)}
.keys span::before{content:"";display:inline-block;width:.9em;height:.22em;margin-right:.35em;vertical-align:middle;
background:currentColor}
.shades{white-space:nowrap;font-size:.8rem;color:var(--muted)}
.confusion td.n{padding:.3rem .6rem;border:1px solid var(--paper);position:relative}
.confusion td.right{background:color-mix(in srgb,var(--c0) calc(var(--v)*75%),transparent)}
.confusion td.wrong{background:color-mix(in srgb,var(--warm) calc(var(--v)*75%),transparent)}
code{font-family:ui-monospace,"Cascadia Mono",Menlo,Consolas,monospace;font-size:.82em;overflow-wrap:anywhere}
ul{margin:.4rem 0;padding-left:1.2rem}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,320px),1fr));gap:.8rem 1.4rem;margin:.8rem 0}
.card{background:var(--soft);padding:.7rem .9rem;border-radius:6px;font-size:.875rem;break-inside:avoid}
.card p{margin:.2rem 0}
@media (min-width:900px){.pair svg text{font-size:8px}}
@media (max-width:600px){.more{display:none}td svg.strip{width:72px;min-width:0;height:auto}table{font-size:.8rem}
h2{margin-top:2rem}body{padding-top:1rem}th,td{padding-right:.5rem}th.n{white-space:normal}td:first-child{max-width:9rem}}
@media print{:root{--paper:#fff;--soft:#f3f5f7;--ink:#000;--muted:#444;--line:#ccc;--accent:#1f5fa8;--warm:#b4501b;
--c0:#1f5fa8;--c1:#b4501b;--c2:#2d7a3e;--c3:#7a4aa8;--c4:#b02a4c;--c5:#5f6b76}
body{max-width:none;padding:0;font-size:10.5pt}nav{display:none}h2{break-after:avoid}tr{break-inside:avoid}
.wide{overflow:visible}@page{margin:16mm 14mm}}
"""


def report_page(facts: Facts) -> str:
    """The page of all sections that the facts have, in HTML."""
    shown = [(name, title, render(facts)) for name, title, render in SECTIONS if name in facts]
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title, _ in shown)
    titles = {name: title for name, title, _ in SECTIONS}
    left_out = "".join(f"<li>{titles.get(name, name)}: {escape(reason)}</li>"
                       for name, reason in facts["left_out"].items())
    sections = "".join(f'<section id="{name}"><h2>{title}</h2>{body}</section>' for name, title, body in shown)
    if left_out:
        sections += f'<section id="left_out"><h2>Left out</h2><ul>{left_out}</ul></section>'
    head = facts["head"]
    title = f"{head['class']} on {head['data'] or 'rows'}"
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
            f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>{_head(facts, links)}{sections}"
            "</body></html>\n")


# --- pieces

def _table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML; heads with # are above numbers, those with ~ are not on narrow screens."""
    classes = [" ".join(name for sign, name in (("~", "more"), ("#", "n")) if sign in head[:2]) for head in heads]
    marks = [f' class="{each}"' if each else "" for each in classes]
    top = "".join(f"<th{mark}>{head.lstrip('#~')}</th>" for mark, head in zip(marks, heads, strict=True))
    body = "".join("<tr>" + "".join(f"<td{mark}>{cell}</td>" for mark, cell in zip(marks, line, strict=True)) + "</tr>"
                   for line in lines)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _how(text: str) -> str:
    """How a chart is read; the text is ours."""
    return f'<p class="how">{text}</p>'


def _figures(charts: Iterable[tuple[str, str]], kind: str = "grid") -> str:
    """Charts side by side, each below its caption."""
    return f'<div class="{kind}">' + "".join(
        f"<figure>{f'<figcaption>{caption}</figcaption>' if caption else ''}{chart}</figure>"
        for caption, chart in charts) + "</div>"


def _number(value: float | None, digits: int = 3) -> str:
    if value is not None and abs(value) < 1e-12:
        return "0"
    return "" if value is None else number_text(value, digits).replace("-", "\N{MINUS SIGN}", 1)


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def _with_error(value: float | None, error: float | None) -> str:
    """A number to the digit that its standard error reaches."""
    if value is None:
        return ""
    if not error or is_rounding(value, error):
        return _number(value, 4)
    places = max(0, min(8, 1 - int(f"{error:e}".partition("e")[2])))
    return f"{value:.{places}f} \N{PLUS-MINUS SIGN} {error:.{places}f}".replace("-", "\N{MINUS SIGN}")


# --- sections

def _head(facts: Facts, links: str) -> str:
    head = facts["head"]
    terms = ", ".join(f"{count:,} {kind}" for kind, count in head["terms"].items())
    entries = {"model": head["class"], "file": head["model"],
               "predicts": f"{head['target'] or 'the target'}: {head['predicts']}",
               "training rows": "" if head["training_rows"] is None else f"{head['training_rows']:,}",
               "rows here": f"{head['rows']:,}", "columns": f"{head['columns']:,}", "terms": terms,
               "date": head["date"]}
    listed = "".join(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in entries.items() if text)
    text = head.get("sentence") or ""
    kept = facts.get("validation", {}).get("in_the_model_file", {})
    for which, found in [*kept.items()][:1]:  # the rows here may be those of training
        judged = found.get("judged_by", "accuracy")
        value = _with_error(found.get(judged), found.get("standard_errors", {}).get(judged))
        text += f"; in the model file: {metric_name(judged)} {value} on {found['rows']:,} {KEPT[which]}"
    said = _squares(escape(f"{text[:1].upper()}{text[1:]}.").replace("+-", "\N{PLUS-MINUS SIGN}"))
    sentence = f'<p class="lead">{said}</p>' if text else ""
    return (f"<header><h1>{escape(head['class'])} on {escape(head['data'] or 'rows', 80)}</h1>{sentence}"
            f'<dl class="facts">{listed}</dl><nav>{links}</nav></header>')


def _data(facts: Facts) -> str:
    data, reference = facts["data"], {each["column"]: each for each in facts.get("drift", {}).get("columns", ())}
    rejected = f"; {data['rejected']:,} rows could not be read" if data["rejected"] else ""
    rejected += f"; {data['unlabelled']:,} rows without a label are left out" if data["unlabelled"] else ""
    columns = sorted(data["columns"], key=lambda each: "dropped" not in each)[:_MOST_COLUMNS]
    lines = []
    for each in columns:
        before = reference.get(each["column"], {}).get("missing_in_training")
        missing = _share(each["missing"]) if each.get("missing") else ""
        if before is not None and "missing" in each and (before or each["missing"]):
            missing = f"{_share(each['missing'])} <span class=\"sub\">({_share(before)} in training)</span>"
        if "levels" in each:
            shown = list(each["levels"].items())[:_MOST_LEVELS]
            total = data["rows"] * (1 - each["missing"]) or 1
            values = ", ".join(f"{escape(level, 24)} {count / total:.0%}" for level, count in shown)
            more = each["n_levels"] - len(shown)
            values += f" and {more} more" if more > 0 else ""
            picture = strip(list(each["levels"].values()))
        elif "range" in each:
            values = " to ".join(map(escape, each["range"]))
            picture = strip(each["histogram"]["counts"])
        elif "dropped" in each:
            values, picture = (f"<strong>not used</strong>: {escape(each['dropped'])} "
                               f'<span class="sub">({escape(each["advice"])})</span>'), ""
        else:
            values, picture = "no value", ""
        lines.append([escape(each["column"], 60), escape(each["kind"]), values, picture, missing,
                      escape(", ".join(each.get("forms", ())))])
    more = len(data["columns"]) - len(columns)
    note = f"<p>{more:,} more columns are in the JSON file.</p>" if more > 0 else ""
    return (f"<p>{data['rows']:,} rows, {len(data['columns']):,} columns{rejected}.</p>"
            + _table(["column", "~kind", "values", "", "missing", "~what the model reads"], lines) + note
            + _target(data["target"], facts))


def _target(target: Facts, facts: Facts) -> str:
    if "classes" in target:
        total = sum(target["classes"].values()) or 1
        counts = sorted(target["classes"].items(), key=lambda each: -each[1])[:20]
        unknown = target["unknown"]
        note = (f"<p>{unknown['rows']:,} rows have labels that the model does not know, such as "
                f"{escape(unknown['labels'][0], 40)}; each counts as wrong.</p>") if unknown["rows"] else ""
        return "<h3>Target</h3>" + _table(["class", "#rows", "share"], [
            [escape(name, 60), f"{count:,}", f"{share_bar(count / total)} {count / total:.1%}"]
            for name, count in counts]) + note
    if "targets" in target:
        return "<h3>Target</h3>" + _table(["#mean", "#standard deviation", "range", ""], [
            [_number(each["mean"], 4), _number(each["standard_deviation"], 4),
             f"{_number(each['range'][0], 5)} to {_number(each['range'][1], 5)}", strip(each["histogram"]["counts"])]
            for each in target["targets"]])
    return ""


def _squares(text: str) -> str:
    return text.replace("R^2", "R<sup>2</sup>").replace("D^2", "D<sup>2</sup>")


_MEANING = {
    "accuracy": "share of rows whose class is predicted", "balanced_accuracy": "the same, mean over classes",
    "log_loss": "mean of \N{MINUS SIGN}log of the probability of the class; lower is better",
    "brier": "squared error of probabilities; lower is better",
    "calibration_error": "mean distance of probabilities from observed shares; lower is better",
    "roc_auc": "chance that a row of the class scores above another",
    "average_precision": "mean precision over the rows of the class", "r2": "share of the variance that is predicted",
    "mae": "in units of the target; lower is better", "rmse": "in units of the target; lower is better",
    "pinball": "loss of quantiles; lower is better", "d2": "share of the deviance from the mean that is predicted",
    "deviance": "of the distribution that the loss assumes; lower is better"}


def _validation(facts: Facts) -> str:
    found = facts["validation"]
    kept = found.get("in_the_model_file", {})
    lines = []
    for name in names_of_metrics(found):
        before = [_with_error(each.get(name), each.get("standard_errors", {}).get(name)) for each in kept.values()]
        lines.append([_squares(escape(metric_name(name, found.get("positive")), 60)),
                      f"<strong>{_with_error(found[name], found['standard_errors'].get(name))}</strong>",
                      _number(found["constant"][name], 4), *before,
                      _MEANING.get(name, "share of rows at or below; to be the number in its name")])
    text = ("\N{PLUS-MINUS SIGN} is one standard error, of the choice of these rows. Guessing is the best constant for "
            "these rows. The figures say how good the model is on new rows only if it was not trained on these.")
    if kept:
        text += " Columns after it are figures of the training, which the model file keeps."
    return _how(text) + _table(["", "#these rows", "#guessing", *(
        f"~#{each.get('rows', 0):,} {KEPT[name]}" for name, each in kept.items()), "~"], lines)


def _calibration(facts: Facts) -> str:
    found = facts["calibration"]
    if "of" in found:
        chart = reliability_chart(found)
        lines = [[_share(each["probability"]), _with_error(each["share"], each["standard_error"]), f"{each['rows']:,}"]
                 for each in found["bins"]]
        return (_how(f"Among rows for which the model says 30 %, 30 % should come true: points on the dashed line. "
                     f"Bars are two standard errors. Below: how many rows get which {escape(found['of'])}.")
                + _figures([("", chart), ("", _table(["#predicted", "#observed share", "#rows"], lines))]))
    charts = [("Target over prediction", scatter_chart(found, facts["head"]["target"] or "target")),
              ("Residuals by prediction: mean with two standard errors, and the middle 80 %", residual_chart(found))]
    if "below" in found:
        points = [(each["quantile"], each["share"], each["standard_error"]) for each in found["below"]]
        charts.append(("Share of rows at or below each quantile", coverage_chart(points, "quantile")))
    return _how("A good model has points around the dashed line, and residuals around 0 everywhere.") + _figures(charts)


def _confusion(facts: Facts) -> str:
    found = facts["confusion"]
    lines = []
    for k, (name, counts) in enumerate(zip(found["classes"], found["counts"], strict=True)):
        total = sum(counts)
        cells = "".join(f'<td class="n {"right" if j == k else "wrong"}" style="--v:{count / (total or 1):.2f}">'
                        f"{count:,.0f}</td>" for j, count in enumerate(counts))
        right = _share(counts[k] / total) if total else ""
        lines.append(f"<tr><th>{escape(name, 30)}</th>{cells}<td class=\"n\">{right}</td></tr>")
    heads = "".join(f'<th class="n">{escape(name, 14)}</th>' for name in found["classes"])
    return (_how("Rows by their class, left, and the class that is predicted, above; shades are shares of the row. "
                 "Last: the share of the class that is right.")
            + f'<div class="wide"><table class="confusion"><thead><tr><th></th>{heads}<th class="n">right</th></tr>'
            f"</thead><tbody>{''.join(lines)}</tbody></table></div>")



def _importances(facts: Facts) -> str:
    found = facts["importances"]
    columns = found["columns"]
    measured = [each for each in columns if "importance" in each]
    span = padded([0.0, *(each["importance"] + s * (each["standard_error"] or 0)
                          for each in measured for s in (-2, 2))])
    most = max((each.get("trained", 0.0) for each in columns), default=0) or 1
    lines = [[escape(each["column"], 40),
              error_bar(each["importance"], each["standard_error"], span, 0.0) if "importance" in each else "",
              _with_error(each["importance"], each["standard_error"]) if "importance" in each else "",
              share_bar(each["trained"] / most) if "trained" in each else "",
              _share(each["trained"]) if "trained" in each else ""] for each in columns[:30]]
    more = f"<p>{len(columns) - 30:,} more columns are in the JSON file.</p>" if len(columns) > 30 else ""
    text = (f"Permutation importance: by how much the {_squares(metric_name(found['metric']))} "
            f"{'falls' if found['metric'] in ASCENDING else 'rises'} where the values of a column are shuffled, with "
            "two standard errors; near 0, the column does not help on these rows. ") if measured else ""
    return (_how(text + "Training: the share of the improvement that training found in the column.")
            + _table(["column", "permutation", "#", *(("~training", "~#") if measured else ("training", "#"))], lines)
            + more)


def _shapley(facts: Facts) -> str:
    found = facts["shapley"]
    columns = found["columns"]
    lines = [[escape(each["column"], 40), _with_error(each["mean_absolute"], each["standard_error"])]
             for each in columns[:20]]
    of = f"the score of {escape(found['of'])}" if found["of"] else "the score"
    drawn = "values of each column of the training rows" if found["background"] == "marginals" else (
        f"{found['background']} of these")
    key = ('<p class="keys"><span class="key s0">lowest value of the column</span><span class="key s2">middle</span>'
           '<span class="key s4">highest</span></p>')
    return (_how(f"Shapley values: what the value of a column adds to {of}, compared with {drawn}. With the base value "
                 f"{_number(found['base_value'], 4)} they add up to the score of a row. Points are {found['rows']:,} "
                 "rows; grey ones have a missing value, or one of several levels. The table has their mean size.")
            + key + _figures([("", summary_chart([each for each in columns if "values" in each])),
                              ("", _table(["column", "#mean size"], lines))], "grid pair"))


def _dependence(facts: Facts) -> str:
    found = facts["dependence"]
    shown, columns = found["shown"], found["columns"]
    names = [found["responses"][k] for k in shown]
    more = len(found["responses"]) - len(shown)
    key = "" if len(names) == 1 else key_of(names)
    label = f"Mean {escape(names[0])}" if len(names) == 1 else "Mean response"
    single = " Thin lines are single rows." if len(names) == 1 else ""
    left_out = f" {more:,} other responses are in the JSON file." if more else ""
    return (_how(f"{label} over the rows if all of them had this value, all else being as it is.{single} Ticks at the "
                 f"bottom are values of the rows, percentages their shares. All charts have the same scale.{left_out}")
            + key + _figures((f"<strong>{escape(each['column'], 60)}</strong>",
                              dependence_chart(each, shown, response_range(columns))) for each in columns))


def _interactions(facts: Facts) -> str:
    found = facts["interactions"]
    shown = found["dependence"]
    span = padded([value for each in shown for line in each["means"] for value in line], 0.0)
    most = max(each["size"] for each in found["pairs"]) or 1
    lines = [[f"{escape(each['first'], 30)} \N{MULTIPLICATION SIGN} {escape(each['second'], 30)}",
              share_bar(each["size"] / most), _number(each["size"]), _share(each["strength"])]
             for each in found["pairs"]]
    return (_how("Size: the root mean square of the part of the score that is no sum of an effect of each column. "
                 "H<sup>2</sup>: its share of their joint effect.")
            + _table(["pair", "size", "#", "#H<sup>2</sup>"], lines)
            + f"<p class=\"sub\">Mean {escape(found['response'])} over two columns: {shade_key(span)}</p>"
            + _figures(("", pair_chart(each, span)) for each in shown))


def _slices(facts: Facts) -> str:
    found = facts["slices"]
    if not found["slices"]:
        return f"<p>None of {found['compared']:,} slices is worse than the mean of all rows.</p>"
    is_rate = found["loss"] == "error rate"
    span = padded([found["mean"], *(each["loss"] + s * 2 * each["standard_error"] for each in found["slices"]
                                    for s in (-1, 1))])
    n_clear = sum(each["p_value"] < 0.05 for each in found["slices"])
    lines = []
    for each in found["slices"][: max(5, n_clear)]:
        clear = each["p_value"] < 0.05
        value = _share(each["loss"]) if is_rate else _number(each["loss"])
        p_value = "&lt; 0.001" if each["p_value"] < 0.001 else f"{each['p_value']:.2g}"
        lines.append([f"{escape(each['column'], 30)}: {escape(each['text'], 60)}", f"{each['n_rows']:,}",
                      error_bar(each["loss"], each["standard_error"], span, found["mean"], "warm" if clear else ""),
                      value, f"<strong>{p_value}</strong>" if clear else p_value])
    mean = _share(found["mean"]) if is_rate else _number(found["mean"])
    verdict = (f"{n_clear} of {found['compared']:,} slices are worse than chance explains." if n_clear else
               f"None of {found['compared']:,} slices is worse than chance explains.")
    return (f"<p>{verdict}</p>" + _how(
        f"The {found['loss']} of the rows of a slice, with two standard errors; dashed: that of all rows, {mean}. p is "
        "the probability of as large a difference by chance, corrected for looking at "
        f"{found['compared']:,} slices.")
            + _table(["slice", "#rows", found["loss"], "#", "#p"], lines))


def _worst(facts: Facts) -> str:
    cards = []
    for each in facts["worst_rows"]["rows"]:
        if "label" in each:
            said = (f"<p>It is <strong>{escape(each['label'], 40)}</strong>; predicted <strong>"
                    f"{escape(each['predicted'], 40)}</strong> (probability of {escape(each['label'], 40)}: "
                    f"{each['probability_of_label']:.2%})</p>")
        else:
            said = (f"<p>It is <strong>{', '.join(_number(y, 5) for y in each['target'])}</strong>; predicted "
                    f"<strong>{', '.join(_number(y, 5) for y in each['predicted'])}</strong></p>")
        reasons = each.get("reasons")
        if reasons:
            signed = [(value, _number(value)) for value in (reason["contribution"] for reason in reasons)]
            listed = "".join(f"<li>{escape(reason['column'], 40)} = {escape(reason['value'], 40)}: "
                             f"{'+' if value >= 0 else ''}{text}</li>"
                             for reason, (value, text) in zip(reasons, signed, strict=True))
            what = f"speaks for {escape(each['predicted'], 40)}" if "label" in each else "moves the prediction"
            rest = f"<p>What {what}, in units of the score:</p><ul>{listed}</ul>"
        else:
            values = list(each["values"].items())
            rest = '<p class="sub">' + "; ".join(f"{escape(name, 30)} {escape(value, 30)}"
                                                 for name, value in values[:_MOST_VALUES]) + (
                "; ..." if len(values) > _MOST_VALUES else "") + "</p>"
        cards.append(f'<div class="card"><p class="sub">row {each["row"]:,}</p>{said}{rest}</div>')
    return (_how("The rows that the model is most wrong about: errors of the data, or cases that it does not know.")
            + f'<div class="cards">{"".join(cards)}</div>')


def _intervals(facts: Facts) -> str:
    found = facts["intervals"]
    points = [(each["coverage"], each["share"], each["standard_error"]) for each in found["coverages"]]
    size = "#labels" if found["of"] == "label sets" else "#mean width"
    lines = [[_share(each["coverage"]), _with_error(each["share"], each["standard_error"]), _number(each["size"])]
             for each in found["coverages"]]
    return (_how(f"The share of rows that {found['of']} contain, over the coverage that was asked for, with two "
                 "standard errors. They are right where points lie on the dashed line."
                 + (" A set has the most likely label at least, so that it contains the true one as often as the model "
                    "is right; the last column is the mean number of labels." if size == "#labels" else ""))
            + _figures([("", coverage_chart(points, "coverage that was asked for")),
                        ("", _table(["#asked for", "#observed share", size], lines))]))


def _drift(facts: Facts) -> str:
    found = facts["drift"]
    columns = sorted(found["columns"], key=lambda each: -max(each["shift"], each["new"], each["outside"]))[:20]
    lines = []
    for each in columns:
        new = ", ".join(escape(level, 24) for level in list(each["new_levels"])[:3])
        lines.append([escape(each["column"], 40), share_bar(each["shift"] / 0.5), f"{each['shift']:.3f}",
                      _share(each["outside"]) if each["outside"] else "",
                      f"{_share(each['new'])} ({new})" if each["new"] else ""])
    said = escape(found["summary"]) if found["summary"] else "The rows do not differ notably from the training rows"
    return (f"<p>{said[:1].upper()}{said[1:]}.</p>" + _how(
        f"Compared with {found['training_rows']:,} training rows. Shift is the population stability index; below 0.1 "
        "it is usually called small, above 0.25 large. The bar ends at 0.5.")
        + _table(["column", "shift", "#", "#outside the range", "new levels"], lines))


def _receipt(facts: Facts) -> str:
    found = facts["receipt"]
    versions = f"rffkern {found['rffkern']}, numpy {found['numpy']}, Python {found['python']}"
    entries = {"model": found["model"], "SHA-256 of the model": found["model_sha256"], "data": found["data"],
               "SHA-256 of the data": found["data_sha256"], "rows": f"{found['rows']:,}", "versions": versions,
               "random state of the training": found["random_state"],
               "seed of this report": str(found["seed_of_the_report"]),
               "parameters": ", ".join(f"{name}={value}" for name, value in found["parameters"].items())}
    lines = [[name, f"<code>{escape(text, 2000)}</code>"] for name, text in entries.items() if text]
    return _how("The same model, data and versions give the same page, byte for byte.") + _table(["", ""], lines)


SECTIONS: list[tuple[str, str, Callable[[Facts], str]]] = [
    ("data", "Data as read", _data), ("validation", "How good", _validation),
    ("calibration", "Calibration", _calibration), ("confusion", "Confusion", _confusion),
    ("learning_curve", "Learning curve", lambda facts: _figures([("", learning_chart(facts["learning_curve"]))])),
    ("importances", "What matters", _importances), ("shapley", "Contributions", _shapley),
    ("dependence", "How it depends on columns", _dependence), ("interactions", "Interactions", _interactions),
    ("slices", "Where it is worst", _slices), ("worst_rows", "Worst rows", _worst),
    ("intervals", "How sure", _intervals), ("drift", "Drift from training", _drift), ("receipt", "Receipt", _receipt)]
