/* Passes over rows in single precision: Fourier terms, linear functions and losses of boosting.
 *
 * Columns lie apart by `stride` numbers: columns[j * stride + i] is column j of row i.  Widths are multiples of VB_TILE.
 * Rows whose weight is 0 add nothing, whatever they hold.
 */
#ifndef RFFKERN_BOOST_ROWS_H
#define RFFKERN_BOOST_ROWS_H

#include <stddef.h>

#define VB_TILE 128
#define VB_LANES 16 /* of a sum kept open: its entries add up to it */

/* Losses of a row: y is the target, F the score. */
#define VB_LOSSES(LOSS) \
    LOSS(SQUARED)  /* (y - F)^2 / 2 */ \
    LOSS(LOGISTIC) /* log(1 + exp(-y F)), y among -1 and 1; of rows that are wrong by more than 1e30, 1e30 */ \
    LOSS(SOFTMAX)  /* log(sum of exp(F_k)) - F_y, y among 0, 1, ... */ \
    LOSS(HUBER)    /* the squared loss up to |y - F| = parameter, linear beyond */ \
    LOSS(QUANTILE) /* (y - F) parameter, or (F - y) (1 - parameter) where F > y; h is that of a parabola above it */ \
    LOSS(POISSON)  /* exp(F) - y F, F held to +-50 in the exponential; h is larger where y is */ \
    LOSS(TWEEDIE)  /* y (exp((1 - p) F) - 1) / (p - 1) + (exp((2 - p) F) - 1) / (2 - p), p = parameter in (1, 2]; the \
                      second part is F for p = 2; F held to +-50 in exponentials; h is at least half of both together */

#define VB_NUMBER(name) VB_##name,
#define VB_ONE_MORE(name) + 1
#define VB_WORD(name) #name " "

typedef enum { VB_LOSSES(VB_NUMBER) } vb_loss; /* VB_SQUARED, VB_LOGISTIC, ... */
enum { VB_N_LOSSES = 0 VB_LOSSES(VB_ONE_MORE) };
#define VB_LOSS_NAMES VB_LOSSES(VB_WORD) /* one text */

typedef struct {
    vb_loss loss;
    float parameter;
    ptrdiff_t n_outputs, stride; /* of scores and directions; one output, unless the loss is VB_SOFTMAX */
    float *scores;
    const float *directions, *targets, *weight;
    float step;
} vb_rows;

typedef struct {
    /* out[j * width + i] = column subset[j] of row i, or 0 where its weight is 0 */
    void (*copy_columns)(const float *columns, ptrdiff_t stride, const ptrdiff_t *subset, ptrdiff_t n_columns,
                         const float *weight, ptrdiff_t width, float *out);
    /* totals[0] += sum of weight; totals[1 + k] += sum of gradient k, totals[1 + n_outputs + k] += sum of its square
       over weight */
    void (*term_totals)(const float *weight, const float *gradient, ptrdiff_t stride, ptrdiff_t n_outputs,
                        ptrdiff_t width, double *totals);
    /* sine and cosine of u = sum of omega[j] times column subset[j], or column j where there is no subset; with
       w = weight, c = cosine and s = sine, lanes of sums += w c, w s, w c^2, w c s, w s^2, then for each output
       gradient c, gradient s */
    void (*term_sums)(const float *columns, ptrdiff_t stride, const ptrdiff_t *subset, ptrdiff_t n_columns,
                      const double *omega, const float *weight, const float *gradient, ptrdiff_t gradient_stride,
                      ptrdiff_t n_outputs, ptrdiff_t width, float *sine, float *cosine, double *lanes);
    /* Lanes of sums += v times column j, which lie apart by `width`: v = sum over outputs of e (b c - a s),
       e = gradient - w (a c + b s + d); a, b and d lie behind each other in `numbers`, (3, n_outputs).  Of `open`,
       n_columns times VB_LANES numbers are used. */
    void (*term_gradient)(const float *columns, ptrdiff_t n_columns, const float *sine, const float *cosine,
                        const float *weight, const float *gradient, ptrdiff_t gradient_stride, ptrdiff_t n_outputs,
                        const double *numbers, ptrdiff_t width, float *open, double *lanes);
    /* out[k * stride + i] = a[k] cos(u) + b[k] sin(u); a and b lie behind each other in `amplitudes`, (2, n_outputs) */
    void (*evaluate_term)(const float *columns, ptrdiff_t stride, const ptrdiff_t *subset, ptrdiff_t n_columns,
                          const double *omega, const double *amplitudes, ptrdiff_t n_outputs, ptrdiff_t width,
                          float *out);
    /* out[i] += sum of coefficients[j] times column subset[j] */
    void (*add_linear)(const float *columns, ptrdiff_t stride, const ptrdiff_t *subset, ptrdiff_t n_columns,
                       const double *coefficients, ptrdiff_t width, float *out);
    /* sums[j] += sum of v times column subset[j]; both must be finite */
    void (*add_products)(const float *columns, ptrdiff_t stride, const ptrdiff_t *subset, ptrdiff_t n_columns,
                         const float *v, ptrdiff_t width, double *sums);
    /* With g = -dloss/dF and h = d2loss/dF2, or what stands for it, at F = scores + step directions,
       sums[0] += sum of weight g direction, sums[1] += sum of weight h direction^2, over rows from `first` to `last` */
    void (*derivatives)(const vb_rows *rows, ptrdiff_t first, ptrdiff_t last, double *sums);
    /* scores += step directions; gradient = weight g and hessian = weight h, of the shape of scores, unless they are
       NULL.  Returns the sum of weight times loss. */
    double (*update)(const vb_rows *rows, ptrdiff_t first, ptrdiff_t last, float *gradient, float *hessian);
} vb_table;

extern const vb_table vm_boost_baseline;
#ifdef VM_HAVE_LEVELS
extern const vb_table vm_boost_v3, vm_boost_v4;
#endif

static inline const vb_table *vm_table_boost(int level)
{
#ifdef VM_HAVE_LEVELS
    /* Level v2 has nothing that these functions would use. */
    static const vb_table *const tables[] = {&vm_boost_baseline, &vm_boost_baseline, &vm_boost_v3, &vm_boost_v4};
    return tables[level];
#else
    (void)level;
    return &vm_boost_baseline;
#endif
}

#endif
