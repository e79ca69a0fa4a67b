"""The figures of the papers, drawn from what is measured; readable in grey."""

import numpy as np
from papers.experiment import error_of, means_of_seeds, names_of, values_of

STYLES = ["o-", "s--", "^-.", "D:", "v-", "x--", "+-.", "*:"]


def panels(names, x_label, y_label, height=2.8):
    """A figure with a panel for each name, in a row, and its axes by name."""
    import matplotlib.pyplot as plt

    found, axes = plt.subplots(1, len(names), figsize=(max(4.8, 3.2 * len(names)), height), squeeze=False,
                               layout="constrained")
    for name, ax in zip(names, axes[0], strict=True):
        ax.set(title=name, xlabel=x_label)
    axes[0, 0].set_ylabel(y_label)
    return found, dict(zip(names, axes[0], strict=True))


def line(ax, number, x, y, label, errors=None):
    ax.errorbar(x, y, errors, fmt=STYLES[number % len(STYLES)], label=label, markersize=4, linewidth=1, capsize=2)


def curves(records, sizes, x_label, panel=None, logarithmic=False):
    """Accuracy by the number of something, a line for each method with standard errors over seeds."""
    names = names_of(records, panel) if panel else [""]
    found, axes = panels(names, x_label, "accuracy, %")
    for name, ax in axes.items():
        for number, method in enumerate(names_of(records, "method")):  # the same style in all panels
            some = [record for record in records
                    if record["method"] == method and (not panel or record[panel] == name)]
            if some:
                values, _ = means_of_seeds(some)
                line(ax, number, sizes, values.mean(axis=0), method, error_of(values))
        if logarithmic:
            mark(ax, sizes)
    ax.legend(fontsize="small")
    return found


def mark(ax, sizes):
    """A logarithmic scale with marks at some sizes alone."""
    ax.set_xscale("log")
    ax.set_xticks(sizes, sizes, fontsize="small")
    ax.minorticks_off()


def bars_by_size(records, sizes):
    """Accuracy of PBRFF and GBRFF by the number of landmarks, over the sets that both have."""
    found, axes = panels([""], "landmarks", "accuracy, %")
    shared = set.intersection(*({record["set"] for record in records if record["method"] == method}
                                for method in ("PBRFF", "GBRFF")))
    for number, (method, color) in enumerate([("PBRFF", "0.75"), ("GBRFF", "0.25")]):
        values, _ = means_of_seeds([record for record in records if record["method"] == method
                                    and record["set"] in shared])
        bars = axes[""].bar(np.arange(len(sizes)) + 0.4 * number, values.mean(axis=0), 0.38, color=color, label=method,
                            yerr=error_of(values))
        axes[""].bar_label(bars, fmt="%.1f", fontsize="x-small")
    axes[""].set_xticks(np.arange(len(sizes)) + 0.2, sizes)
    axes[""].set_ylim(bottom=70)
    axes[""].legend(fontsize="small", loc="upper left")
    return found


def growth(records):
    found, axes = panels([""], "rows", "CPU s")
    for number, method in enumerate(names_of(records, "method")):
        rows = sorted(names_of([record for record in records if record["method"] == method], "rows"))
        seconds = [np.median(values_of(records, "seconds", method=method, rows=n)) for n in rows]
        line(axes[""], number, rows, seconds, method)
    axes[""].set(xscale="log", yscale="log")
    axes[""].legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    return found


def toys(records):
    found, axes = panels(names_of(records, "toy"), "training rows", "accuracy, %")
    for name, ax in axes.items():
        for number, method in enumerate(names_of(records, "method")):
            some = [record for record in records if (record["toy"], record["method"]) == (name, method)]
            rows = sorted(names_of(some, "rows"))
            values = [values_of(some, "curve", rows=n)[:, -1] for n in rows]
            line(ax, number, rows, [each.mean() for each in values], method, [error_of(each) for each in values])
        mark(ax, sorted(names_of(records, "rows")))
    ax.legend(fontsize="small")
    return found


def relevances(records, relevant):
    """Relevances over their largest, mean over seeds, by column; those that the target depends on are dark."""
    import matplotlib.pyplot as plt

    sizes = sorted(names_of(records, "rows"))
    found, axes = plt.subplots(len(relevant), len(sizes), figsize=(2.4 * len(sizes), 2 * len(relevant)), squeeze=False,
                               layout="constrained", sharey=True)
    for row, (name, columns) in zip(axes, relevant.items(), strict=True):
        for ax, size in zip(row, sizes, strict=True):
            values = values_of(records, "relevances", set=name, rows=size)
            if len(values):
                mean = (values / values.max(axis=1, keepdims=True)).mean(axis=0)
                is_relevant = np.isin(np.arange(len(mean)), columns)
                for some, color in ((is_relevant, "0.1"), (~is_relevant, "0.6")):
                    x, y = np.flatnonzero(some) + 1.0, mean[some]
                    ax.plot(np.column_stack([x, x, x + np.nan]).ravel(), np.column_stack([0 * y, y, y]).ravel(),
                            color=color, linewidth=2)
            ax.set_title(f"{name}, {size:,} rows", fontsize="small")
        row[0].set_ylabel("relevance")
    for ax in axes[-1]:
        ax.set_xlabel("column")
    return found


def importances(records):
    """Importances over their largest, of RFFNet and of XGBoost."""
    found, axes = panels([""], "column", "importance")
    some = [record for record in records if "XGBoost" in record]
    for shift, name, label, color in ((-0.2, "relevances", "RFFNet", "0.25"), (0.2, "XGBoost", "XGBoost", "0.7")):
        values = values_of(some, name)
        mean = (values / values.max(axis=1, keepdims=True)).mean(axis=0) if len(values) else np.zeros(0)
        axes[""].bar(np.arange(1, len(mean) + 1) + shift, mean, 0.4, label=label, color=color)
    axes[""].legend(fontsize="small")
    return found


def mean_curve(records):
    """Seconds, errors and stages, mean over the seeds; of stages that all have."""
    stages = [stage for stage in records[0]["stages"] if all(stage in record["stages"] for record in records)]
    pick = [[record["stages"].index(stage) for stage in stages] for record in records]
    times, errors = (np.mean([np.array(record[name])[some] for record, some in zip(records, pick, strict=True)], axis=0)
                     for name in ("times", "curve"))
    return times, errors, np.array(stages)


def rules(records):
    """NMSE against CPU seconds, with the paper's kernel."""
    found, axes = panels(names_of(records, "set"), "CPU s", "NMSE, %")
    for name, ax in axes.items():
        for number, method in enumerate(names_of(records, "method")):
            some = [record for record in records
                    if (record["set"], record["method"], record["kernel"]) == (name, method, "likelihood")]
            if some:
                times, errors, _ = mean_curve(some)
                line(ax, number, times, errors, method)
        ax.set(xscale="log", yscale="log")
        ax.legend(fontsize="small")
    return found


def by_size(records, methods):
    """NMSE by the number of basis vectors, and against CPU seconds."""
    found, axes = panels(["by basis vectors", "by CPU seconds"], "", "NMSE, %")
    for number, method in enumerate(names_of(records, "method")):
        times, errors, stages = mean_curve([record for record in records if record["method"] == method])
        for ax, x in zip(axes.values(), (stages * methods[method]["basis_size"], times), strict=True):
            line(ax, number, x, errors, method)
            ax.set(xscale="log", yscale="log")
    ax.legend(fontsize="small")
    return found


def by_time(records):
    found, axes = panels([""], "CPU s", "error, %")
    for number, method in enumerate(names_of(records, "method")):
        some = [record for record in records if record["method"] == method]
        if all("curve" in record for record in some):
            times, errors, _ = mean_curve(some)
            line(axes[""], number, times, errors, method)
        else:
            line(axes[""], number, [np.mean(values_of(some, "seconds"))], [np.mean(values_of(some, "error"))], method)
    axes[""].set_xscale("log")
    found.legend(*axes[""].get_legend_handles_labels(), fontsize="x-small", loc="outside lower center", ncols=2)
    return found
