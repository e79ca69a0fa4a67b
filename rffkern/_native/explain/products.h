/* Shapley values of terms that are products of one factor a column, for VX_ROWS rows at once.
 *
 * The factor of column g at row i is factors[g * VX_ROWS + i], and of a complex one the imaginary part
 * factors[(k + g) * VX_ROWS + i], for k columns.
 */
#ifndef RFFKERN_PRODUCTS_H
#define RFFKERN_PRODUCTS_H

#include <stddef.h>

#define VX_ROWS 16

/* Gauss-Legendre nodes in [0, 1]. */
typedef struct {
    const double *nodes;
    const double *weights;
    ptrdiff_t n_nodes;
} vx_rule;

/* Numbers of scratch that k columns take. */
static inline ptrdiff_t vx_scratch_size(ptrdiff_t k, int with_pairs)
{
    return VX_ROWS * (6 * k + (with_pairs ? k * (k - 1) : 0));
}

typedef struct {
    /* out[i] = sum over entries e of numbers[e] tile[columns[e] * VX_ROWS + i] */
    void (*angles)(const double *tile, const ptrdiff_t *columns, const double *numbers, ptrdiff_t n_entries,
                   double *out);
    /* out[i] = sum of (numbers[e] (tile[columns[e] * VX_ROWS + i] - centers[e]))^2 */
    void (*squares)(const double *tile, const ptrdiff_t *columns, const double *numbers, const double *centers,
                    ptrdiff_t n_entries, double *out);
    /* factors[i] = 0 unless lows[e] < tile[columns[e] * VX_ROWS + i] <= highs[e] for all entries */
    void (*within)(const double *tile, const ptrdiff_t *columns, const double *lows, const double *highs,
                   ptrdiff_t n_entries, double *factors);
    /* With u the factors, w the means, f = w + t (u - w) at each node t:
       out[j * VX_ROWS + i] += Re(turn (u_j - w_j) sum of weight prod_{g != j} f_g) */
    void (*complex_values)(const double *factors, const double *real_means, const double *imaginary_means, ptrdiff_t k,
                           const double *turn, vx_rule rule, double *scratch, double *out);
    void (*real_values)(const double *factors, const double *means, ptrdiff_t k, vx_rule rule, double *scratch,
                        double *out);
    /* The same for pairs i < j, one after the other: with (u_i - w_i) (u_j - w_j) and the product of all others */
    void (*complex_pairs)(const double *factors, const double *real_means, const double *imaginary_means, ptrdiff_t k,
                          const double *turn, vx_rule rule, double *scratch, double *out);
    void (*real_pairs)(const double *factors, const double *means, ptrdiff_t k, vx_rule rule, double *scratch,
                       double *out);
    /* totals[i] += weight values[i] */
    void (*add)(const double *values, double weight, double *totals);
} vx_table;

extern const vx_table vm_explain_baseline;
#ifdef VM_HAVE_LEVELS
extern const vx_table vm_explain_v3, vm_explain_v4;
#endif

static inline const vx_table *vm_table_explain(int level)
{
#ifdef VM_HAVE_LEVELS
    static const vx_table *const tables[] = {&vm_explain_baseline, &vm_explain_baseline, &vm_explain_v3,
                                             &vm_explain_v4};
    return tables[level];
#else
    (void)level;
    return &vm_explain_baseline;
#endif
}

#endif
