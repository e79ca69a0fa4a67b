/* One instruction-set level: VM_LEVEL names it, VECTOR_BYTES and VM_FUSES tell what it has. */

#include "score_trees.h"

#undef VM
#define VM(name) FN(name)
#undef BIN
#define BIN FN(bin)
#undef VM_DOUBLE
#undef FN_PACKED
#define FN_PACKED rff_packed_f32
#include "vecmath_score.h"
#include "rff_rows.h"

#define VM_DOUBLE
#undef FN_PACKED
#define FN_PACKED rff_packed_f64
#include "vecmath_score.h"
#include "rff_rows.h"

static const rff_level EXPAND2(rff_level, VM_LEVEL) = {
    {EXPAND3(cosines, f32, VM_LEVEL), EXPAND3(cosines, f64, VM_LEVEL)},
    {EXPAND3(kernels, f32, VM_LEVEL), EXPAND3(kernels, f64, VM_LEVEL)},
    {EXPAND3(trees, f32, VM_LEVEL), EXPAND3(trees, f64, VM_LEVEL)},
};
