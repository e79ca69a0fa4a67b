/* The scorer of the C interface with the functions of the level that `simd` has chosen. */
#define VM_LEVEL chosen
#define FN(name) EXPAND3(name, SUFFIX, VM_LEVEL)
#define VM(name) (EXPAND2(rff_table, SUFFIX)->name)
#define TREES(name) (rff_table_trees->name)
#define BIN (rff_table_trees->EXPAND2(bin, SUFFIX))

#define REAL float
#define SUFFIX f32
#define FN_PACKED rff_packed_f32
#include "../../include/rff_rows.h"
#undef REAL
#undef SUFFIX
#undef FN_PACKED
#define REAL double
#define SUFFIX f64
#define FN_PACKED rff_packed_f64
#include "../../include/rff_rows.h"

static const rff_level *rff_choose_level(void)
{
    static const rff_level chosen = {{cosines_f32_chosen, cosines_f64_chosen}, {kernels_f32_chosen, kernels_f64_chosen},
                                     {trees_f32_chosen, trees_f64_chosen}};
    return &chosen;
}
