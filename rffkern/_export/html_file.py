"""One HTML file that scores a CSV file in a browser: the JavaScript of a model, and a page around it.

The page loads nothing and sends nothing, which its content security policy says to the browser.
"""

import html
import os
import shlex
import subprocess
import tempfile
from string import Template

from ..errors import InvalidInputError
from .function import Function
from .js_file import js_file, wasm_source

# What stands between the two is the ES module of the model, as the target "js" writes it, but that the text of numbers
# is read by all rules where the model has a column map.
MODULE_BEGINS, MODULE_ENDS = '<script type="module">\n', "\n// --- the page\n"


def html_file(function: Function, compiler: str) -> str:
    """The page, whose scores are WebAssembly where a compiler is named."""
    # Text within a script element may not end it, nor begin what hides its end; in texts of JavaScript, which alone
    # have such characters next to each other, a backslash before / or ! means nothing.
    wasm = compiled(function, compiler) if compiler else b""
    module = js_file(function, wasm, of_text=True).replace("</", "<\\/").replace("<!", "<\\!")
    return Template(_PAGE).substitute(
        title=html.escape(function.title), style=_STYLE, begins=MODULE_BEGINS, module=module, ends=MODULE_ENDS,
        page=_SCRIPT, policy=" 'wasm-unsafe-eval'" if wasm else "", by=", by WebAssembly" if wasm else "")


def compiled(function: Function, compiler: str) -> bytes:
    """WebAssembly of a model, with vectors; InvalidInputError if the compiler does not make it."""
    source, names = wasm_source(function)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(source)
        try:
            subprocess.run([*shlex.split(compiler), *_FLAGS, *(f"-Wl,--export={name}" for name in names),
                            "-o", path + ".wasm", path + ".c"], check=True, capture_output=True)
            with open(path + ".wasm", "rb") as file:
                return file.read()
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", b"") or str(error).encode()
            raise InvalidInputError(
                f"compiler must be a command that compiles C to WebAssembly, such as 'zig cc' or 'clang', got "
                f"{compiler!r}, which says: {said.decode(errors='replace').strip()[:500]}; without one the page "
                "scores by JavaScript") from error


_FLAGS = ["-target", "wasm32-freestanding", "-std=gnu99", "-O3", "-ffp-contract=off", "-fno-builtin", "-nostdlib",
          "-Wl,--no-entry"]


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'$policy; style-src 'unsafe-inline'">
<title>Predictions: $title</title><style>$style</style></head>
<body><main><h1>Predictions</h1>
<p class="sub">$title. The file is read and scored in this page$by; nothing leaves your computer.</p>
<label id="drop"><input type="file" id="file" accept=".csv,.tsv,.txt,text/csv"><b>Drop a CSV file here</b>
<span>or choose one</span></label>
<p id="state" role="status"></p>
<section id="result" hidden><div id="summary"></div><p><button id="save">Save predictions.csv</button></p>
<div class="wide"><table><thead></thead><tbody></tbody></table></div></section>
<details><summary>Columns that the file must have</summary><ul id="columns"></ul></details>
</main>
$begins$module$ends$page</script>
</body></html>
"""

_STYLE = """
:root{--paper:#fff;--soft:#f3f5f7;--ink:#1a1e23;--muted:#59636e;--line:#d5dbe1;--accent:#1f5fa8;--on:#fff;--bad:#b4301b}
@media (prefers-color-scheme:dark){:root{--paper:#14171b;--soft:#1d2228;--ink:#e7eaee;--muted:#9ba6b1;--line:#363e47;
--accent:#74aeea;--on:#10151b;--bad:#ef8a7a}}
*{box-sizing:border-box}html{color-scheme:light dark}
body{margin:0;background:var(--paper);color:var(--ink);overflow-wrap:anywhere;
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
main{max-width:1120px;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.5rem;line-height:1.25;margin:0}.sub{color:var(--muted);margin:.3rem 0 1.2rem;font-size:.925rem}
#drop{display:flex;flex-direction:column;align-items:center;gap:.2rem;padding:2.2rem 1rem;cursor:pointer;
border:2px dashed var(--line);border-radius:10px;background:var(--soft);text-align:center}
#drop span{color:var(--accent);text-decoration:underline}
#drop:hover,#drop.over,#drop:focus-within{border-color:var(--accent)}
#drop:focus-within{outline:2px solid var(--accent);outline-offset:2px}
#file{position:absolute;opacity:0;width:1px;height:1px}
#state{min-height:1.5em;margin:.8rem 0}#state.bad,td.bad{color:var(--bad)}
button{font:inherit;padding:.5rem 1rem;border:0;border-radius:6px;background:var(--accent);color:var(--on);
cursor:pointer}
button:focus-visible{outline:2px solid var(--ink);outline-offset:2px}
#summary{display:flex;flex-wrap:wrap;gap:.4rem 2rem;margin:.4rem 0 1rem}
#summary div span{display:block;color:var(--muted);font-size:.8rem}#summary b{font-size:1.15rem;font-weight:600}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.3rem .9rem .3rem 0;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--muted);font-weight:600}td.n{text-align:right}td.p{font-weight:600}
details{margin-top:1.5rem;font-size:.925rem}summary{cursor:pointer}ul{columns:12rem;padding-left:1.2rem;color:var(--muted)}
"""

_SCRIPT = r"""
const at = (id) => document.getElementById(id), isClassifier = typeof classes !== "undefined";
const takesCells = typeof read_row === "function", shownRows = 100, rowsTogether = 500;
let job = 0, saved = null;
for (const name of columns) at("columns").append(Object.assign(document.createElement("li"), { textContent: name }));

// Rows of fields of a text; fields may be in quotes, and hold line ends there.
function parseCsv(text) {
    text = text.replace(/^\uFEFF/, "");
    const named = /^sep=([^"\r\n])[\r\n]+/i.exec(text);  // as Excel writes
    if (named) text = text.slice(named[0].length);
    const first = text.slice(0, 1 + (text + "\n").search(/[\r\n]/)), bare = first.replace(/"[^"]*"/g, "");
    const count = (mark) => bare.split(mark).length;
    const mark = named?.[1] ?? [",", ";", "\t", "|"].sort((a, b) => count(b) - count(a))[0], rows = [];
    let row = [], field = "", quoted = false;
    for (let i = 0; i <= text.length; i++) {
        const c = i < text.length ? text[i] : "\n";
        if (quoted && i < text.length) {
            if (c !== '"') field += c;
            else if (text[i + 1] === '"') field += text[++i];
            else quoted = false;
        } else if (c === '"' && /^ *$/.test(field)) { quoted = true; field = ""; }
        else if (c === mark) { row.push(field); field = ""; }
        else if (c === "\n" || c === "\r") {
            if (c === "\r" && text[i + 1] === "\n") i++;
            if (field.trim() !== "" || row.length) rows.push([...row, field]);
            row = []; field = "";
        } else field += c;
    }
    return rows;
}

const explains = typeof contributions === "function" && base_values.length === 1, mostReasons = 3;

function answer(row) {
    const predicted = predict(row), reasons = explains ? [reasonsOf(contributions(row))] : [];
    if (isClassifier) return [predicted, ...probabilities(row), ...reasons];
    return [...(typeof predicted === "number" ? [predicted] : predicted), ...reasons];
}

// The columns that contribute most to the score, and their contributions.
function reasonsOf(phi) {
    const order = columns.map((_, j) => j).sort((a, b) => Math.abs(phi[b]) - Math.abs(phi[a]));
    const signed = (value) => (value < 0 ? "\u2212" : "+") + short(Number(Math.abs(value).toPrecision(2)));
    const some = order.slice(0, mostReasons).filter((j) => phi[j] !== 0);
    return some.map((j) => columns[j] + " " + signed(phi[j])).join(", ");
}

function heads(n) {
    const reasons = explains ? ["reasons"] : [];
    if (isClassifier) return ["prediction", ...classes.map((name) => "probability of " + name), ...reasons];
    return [...(n - reasons.length > 1 ? Array.from({ length: n - reasons.length }, (_, i) => "prediction " + (i + 1))
        : ["prediction"]), ...reasons];
}

function quoted(field) {
    return /[",\r\n]/.test(field) ? '"' + field.replace(/"/g, '""') + '"' : field;
}

const pause = () => new Promise((done) => setTimeout(done));

async function score(file) {
    const mine = ++job;
    at("result").hidden = true;
    say("Reading " + file.name);
    if (typeof ready !== "undefined") await ready;
    const text = await file.text();
    if (text.includes("\uFFFD")) throw new RangeError("the file is no text in UTF-8: save it as CSV UTF-8");
    const [names, ...rows] = parseCsv(text);
    if (!names || !rows.length) throw new RangeError("the file has no rows below its line of names");
    const placeOf = (name) => names.includes(name) ? names.indexOf(name)  // else but for blanks around names
        : names.findIndex((each) => each.trim() === name.trim());
    const places = columns.map(placeOf);
    const missing = columns.filter((_, j) => places[j] < 0 && !(takesCells && raw_columns[j].kind === "unused"));
    if (missing.length) throw new RangeError("the file has no column " + missing.map(quoted).join(", "));
    const twice = columns.filter((_, j) => names.includes(names[places[j]], places[j] + 1));
    if (twice.length) throw new RangeError("the file has two columns " + twice.map(quoted).join(", "));
    const answers = [], started = performance.now();
    for (let start = 0; start < rows.length; start += rowsTogether) {
        if (mine !== job) return;  // another file was dropped meanwhile
        for (const fields of rows.slice(start, start + rowsTogether)) {
            try {
                if (fields.length !== names.length) {
                    throw new RangeError("expected " + names.length + " columns, got " + fields.length);
                }
                answers.push(answer(places.map((j) => j < 0 ? "" : fields[j])));
            } catch (error) {
                answers.push(error.message);
            }
        }
        say("Scored " + answers.length + " of " + rows.length + " rows");
        await pause();
    }
    show(names, rows, answers, performance.now() - started, file.name);
}

function say(text, isBad) {
    at("state").textContent = text;
    at("state").className = isBad ? "bad" : "";
}

function show(names, rows, answers, time, name) {
    const good = answers.filter(Array.isArray), above = heads(good.length ? good[0].length : 1);
    const facts = [["rows", rows.length]], failed = good.length < rows.length;
    if (failed) facts.push(["rows that cannot be read", rows.length - good.length]);
    if (isClassifier) {
        for (const label of classes) {
            const n = good.filter((each) => each[0] === label).length;
            const share = (100 * n / (good.length || 1)).toFixed(1);
            if (n || classes.length < 20) facts.push([String(label), n + " (" + share + " %)"]);
        }
    } else if (good.length) {
        const values = good.map((each) => each[0]).sort((a, b) => a - b);
        for (const [what, share] of [["smallest", 0], ["median", 0.5], ["largest", 1]]) {
            facts.push([what, short(values[Math.round(share * (values.length - 1))])]);
        }
    }
    at("summary").replaceChildren(...facts.map(([what, value]) => {
        const fact = document.createElement("div");
        fact.append(Object.assign(document.createElement("span"), { textContent: what }),
            Object.assign(document.createElement("b"), { textContent: value }));
        return fact;
    }));
    const [head, body] = [document.querySelector("thead"), document.querySelector("tbody")];
    head.replaceChildren(line([...above, ...names].map((text) => ["th", text, ""])));
    body.replaceChildren(...rows.slice(0, shownRows).map((fields, i) => line([
        ...(Array.isArray(answers[i])
            ? answers[i].map((value, k) => ["td", shown(value, k), !k ? "p" : typeof value === "number" ? "n" : ""])
            : [["td", answers[i], "bad", above.length]]),
        ...names.map((_, j) => ["td", fields[j] ?? "", ""])])));
    const answered = (each) => Array.isArray(each) ? [...each, ...(failed ? [""] : [])]
        : [...above.map(() => ""), each];
    saved = [[...above, ...(failed ? ["error"] : []), ...names],
        ...rows.map((fields, i) => [...answered(answers[i]), ...fields])];
    at("result").hidden = false;
    const some = rows.length > shownRows ? "; the first " + shownRows + " are shown" : "";
    say(name + ": " + rows.length + " rows in " + (time / 1000).toFixed(2) + " s" + some);
}

function shown(value, k) {
    if (typeof value !== "number" || (isClassifier && !k)) return String(value);
    return isClassifier ? value.toFixed(4) : short(value);
}

function short(value) {
    return Number.isFinite(value) ? String(Number(value.toPrecision(6))) : String(value);
}

function line(cells) {
    const row = document.createElement("tr");
    for (const [kind, text, mark, width] of cells) {
        const cell = document.createElement(kind);
        row.append(Object.assign(cell, { textContent: text, className: mark, colSpan: width ?? 1 }));
    }
    return row;
}

function take(file) {
    if (file) score(file).catch((error) => say(error.message, true));
}

at("file").addEventListener("change", (event) => { take(event.target.files[0]); event.target.value = ""; });
for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
        event.preventDefault();
        at("drop").classList.toggle("over", kind === "dragover");
        if (kind === "drop") take(event.dataTransfer.files[0]);
    });
}
at("save").addEventListener("click", () => {
    const text = saved.map((fields) => fields.map((field) => quoted(String(field))).join(",") + "\r\n").join("");
    const link = Object.assign(document.createElement("a"), { download: "predictions.csv",
        href: URL.createObjectURL(new Blob([text], { type: "text/csv" })) });
    link.click();
    URL.revokeObjectURL(link.href);
});
"""
