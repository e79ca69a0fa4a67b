// The answer for one row of a CSV file in JavaScript, by WebAssembly: here in node, and the same in a browser.
//
//     inc=$(python -c "import rffkern; print(rffkern.get_include())")
//     functions="malloc rff_load_memory rff_find_column rff_score_cells rff_predict_cells rff_scratch_size rff_get_label
//                rff_describe"
//     python -m ziglang cc -target wasm32-wasi -mexec-model=reactor -Oz -s -I$inc -o rffscore.wasm $inc/rffscore.c \
//         $(printf -- '-Wl,--export=%s ' $functions)
//     node scorer.mjs rffscore.wasm MODEL 'city,mass' 'Bern,"1,250 kg"'
import { readFileSync } from "node:fs";

const [wasm, path, names, values] = process.argv.slice(2);
// Files and clocks are not there, and not needed: what asks for them gets an error of WASI.
const none = new Proxy({}, { get: () => () => 52 });
const module = await WebAssembly.compile(readFileSync(wasm));
const c = (await WebAssembly.instantiate(module, { wasi_snapshot_preview1: none })).exports;
c._initialize?.();

const view = () => new DataView(c.memory.buffer);  // which moves when memory grows
const put = (bytes) => {
  const at = c.malloc(bytes.length + 1);
  new Uint8Array(c.memory.buffer).set(bytes, at);
  return at;
};
const fields = (line) => [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
  ([, quoted, plain]) => quoted === undefined ? plain : quoted.replaceAll('""', '"'));
const check = (error) => { if (error) throw new Error(`error ${error} of rffkern.h`); };

const bytes = readFileSync(path), place = c.malloc(8);
check(c.rff_load_memory(put(bytes), bytes.length, place, 0));
const model = view().getUint32(place, true), infoSize = 24 + 6 * 4, info = c.malloc(infoSize);
check(c.rff_describe(model, info, infoSize));  // the first members of rff_info, of which sizes have 4 bytes here
const [nFeatures, , , nOutputs, nClasses, nPredictions] = new Uint32Array(c.memory.buffer, info + 24, 6);
const cellSize = 24, cells = c.malloc(cellSize * nFeatures);
new Uint8Array(c.memory.buffer).fill(0, cells, cells + cellSize * nFeatures);  // all missing
const given = fields(values);
fields(names).forEach((name, k) => {
  const text = new TextEncoder().encode(name), column = c.rff_find_column(model, put(text), text.length) >>> 0;
  if (column >= nFeatures) return;
  const value = new TextEncoder().encode(given[k]), at = cells + cellSize * column, start = put(value);
  view().setInt32(at, 2, true);  // RFF_CELL_TEXT
  view().setUint32(at + 16, start, true);
  view().setUint32(at + 20, value.length, true);
});
const size = c.rff_scratch_size(model, 1), scratch = c.malloc(size);
const scores = c.malloc(8 * nOutputs), answers = c.malloc(8 * nPredictions), label = c.malloc(48);
check(c.rff_score_cells(model, cells, 1, scores, scratch, size, 0, 0));
check(c.rff_predict_cells(model, cells, 1, answers, scratch, size, 0, 0));
const answer = view().getFloat64(answers, true);
if (nClasses && c.rff_get_label(model, answer, label) === 0 && view().getInt32(label, true) === 5) {  // RFF_TEXT
  const [start, length] = [32, 36].map((at) => view().getUint32(label + at, true));
  console.log(new TextDecoder().decode(new Uint8Array(c.memory.buffer, start, length)));
} else console.log(answer);
for (let k = 0; k < nOutputs; k++) console.log(view().getFloat64(scores + 8 * k, true));
