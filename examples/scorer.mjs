// Scores of a row in JavaScript, by WebAssembly: here in node, and the same in a browser.
//
//     inc=$(python -c "import rffkern; print(rffkern.get_include())")
//     python -m ziglang cc -target wasm32-wasi -mexec-model=reactor -Oz -s -I$inc -o rffscore.wasm $inc/rffscore.c \
//         -Wl,--export=malloc,--export=rff_load_memory,--export=rff_score,--export=rff_scratch_size,--export=rff_describe
//     node scorer.mjs rffscore.wasm MODEL 2 0.5 1 2        (2 scores of 3 numbers)
import { readFileSync } from "node:fs";

const [wasm, path, nOutputs, ...row] = process.argv.slice(2);
const bytes = readFileSync(path);
// Files and clocks are not there, and not needed: what asks for them gets an error of WASI.
const none = new Proxy({}, { get: () => () => 52 });
const module = await WebAssembly.compile(readFileSync(wasm));
const c = (await WebAssembly.instantiate(module, { wasi_snapshot_preview1: none })).exports;
c._initialize?.();

const put = (array) => {
  const at = c.malloc(array.byteLength + 8);
  new Uint8Array(c.memory.buffer).set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
  return at;
};
const place = c.malloc(8), scores = c.malloc(8 * nOutputs);
if (c.rff_load_memory(put(bytes), bytes.length, place, 0)) throw new Error("not a model");
const model = new DataView(c.memory.buffer).getUint32(place, true);
const size = c.rff_scratch_size(model, 1);
const error = c.rff_score(model, 8, put(Float64Array.from(row, Number)), 1, scores, c.malloc(size), size);
if (error) throw new Error(`rff_score: ${error}`);
for (const score of new Float64Array(c.memory.buffer, scores, Number(nOutputs))) console.log(score);
