/* Scores of some rows at one instruction-set level in one precision: of a model that is read.
 *
 * Included after vecmath_score.h for each, without an include guard.
 */

/* tile[j * width + i] = (x[row + i][j] - center[j]) * scale[j], 0 beyond the rows; without a center, x itself. */
static void FN(lay)(const rff_rows *X, size_t row, size_t n_rows, const double *center, const double *scale,
                    REAL *tile, size_t width)
{
    size_t i, j, k, n, step;
    for (j = 0; j < X->n_features; j++) {
        const double zero = center ? center[j] : 0, unit = scale ? scale[j] : 1;
        for (k = 0; k < n_rows; k += n) {
            const size_t place = rff_place(X, row + k, j);
            const float *singles = (const float *)X->values + place;
            const double *doubles = (const double *)X->values + place;
            REAL *column = tile + j * width + k;
            n = rff_run(X, row + k, n_rows - k, &step);
            if (X->type == RFF_FLOAT32)
                for (i = 0; i < n; i++) column[i] = (REAL)((singles[i * step] - zero) * unit);
            else
                for (i = 0; i < n; i++) column[i] = (REAL)((doubles[i * step] - zero) * unit);
        }
        for (i = n_rows; i < width; i++) tile[j * width + i] = 0;
    }
}

/* out += the cosines of a tile of rows. */
static void FN(cosines_of_tile)(const rff_expansion *e, const FN_PACKED *p, const rff_rows *X, size_t row,
                                size_t n_rows, double *out, REAL *tile)
{
    REAL h[VM_TERM_BLOCK * VM_TILE], total[VM_TILE];
    const size_t width = rff_up(n_rows, VM_LANES), d = e->n_features;
    size_t i, k, o, term;
    FN(lay)(X, row, n_rows, e->center, NULL, tile, width);
    for (term = 0; term < p->n_padded; term += VM_TERM_BLOCK) {
        const size_t n_block = p->n_padded - term < VM_TERM_BLOCK ? p->n_padded - term : VM_TERM_BLOCK;
        for (k = 0; k < n_block; k += VM_TERMS)
            if (p->ends)
                VM(project_used)(tile, width, p->ends + term + k, p->columns, p->numbers, p->shifts + term + k,
                                 h + k * width);
            else
                VM(project_terms)(tile, d, width, p->numbers + (term + k) * d, p->shifts + term + k, h + k * width);
        VM(cospi)(h, n_block * width);
        for (o = 0; o < e->n_outputs; o++) {
            const REAL *amplitudes = p->amplitudes + o * p->stride + term;
            for (i = 0; i < width; i++) total[i] = 0;
            for (k = 0; k < n_block; k++)
                if (amplitudes[k] != 0) VM(add_scaled)(h + k * width, width, amplitudes[k], total);
            for (i = 0; i < n_rows; i++) out[i * e->n_outputs + o] += total[i];
        }
    }
}

/* The same for one row: vectors run over the terms. */
static void FN(cosines_of_row)(const rff_expansion *e, const FN_PACKED *p, const rff_rows *X, size_t row,
                               double *out, REAL *numbers)
{
    REAL u[VM_TILE];
    const size_t d = 1 + e->n_features, size = d * VM_TILE;
    size_t o, term;
    numbers[0] = -1;
    FN(lay)(X, row, 1, e->center, NULL, numbers + 1, 1);
    for (term = 0; term < p->stride; term += VM_TERM_BLOCK) {
        const REAL *terms = p->terms + term / VM_TILE * size;
        if (term % VM_TILE == 0) {
            VM(project)(terms, term + VM_TILE < p->stride ? terms + size : terms, d, numbers, 0, u);
            VM(cospi)(u, VM_TILE);
        }
        for (o = 0; o < e->n_outputs; o++)
            out[o] += VM(dot_terms)(u + term % VM_TILE, p->amplitudes + o * p->stride + term);
    }
}

/* out = intercept + the cosines of rows; `work` holds a tile. */
static void FN(cosines)(const rff_model *model, const rff_rows *X, size_t row, size_t n_rows, double *out, void *work)
{
    const rff_expansion *e = &model->expansion;
    const FN_PACKED *p = &((const rff_prepared *)model->prepared)->SUFFIX;
    const size_t rows = rff_rows_at_once(e->n_features, sizeof(REAL));
    size_t i, o;
    for (i = 0; i < n_rows; i++)
        for (o = 0; o < e->n_outputs; o++) out[i * e->n_outputs + o] = e->intercept[o];
    if (n_rows < RFF_FEW)
        for (i = 0; i < n_rows; i++) FN(cosines_of_row)(e, p, X, row + i, out + i * e->n_outputs, (REAL *)work);
    else
        for (i = 0; i < n_rows; i += rows)
            FN(cosines_of_tile)(e, p, X, row + i, n_rows - i < rows ? n_rows - i : rows, out + i * e->n_outputs,
                                (REAL *)work);
}

/* out = intercept + the kernels of rows; `work` holds a tile, then the scores of its rows by output. */
static void FN(kernels)(const rff_model *model, const rff_rows *X, size_t row, size_t n_rows, double *out, void *work)
{
    const rff_expansion *e = &model->expansion;
    const rff_prepared *prepared = (const rff_prepared *)model->prepared;
    const FN_PACKED *p = &prepared->SUFFIX;
    const size_t rows = rff_rows_at_once(e->n_features, sizeof(REAL)), k_outputs = e->n_outputs;
    double *total = (double *)work;
    REAL *tile = (REAL *)(total + k_outputs * VM_TILE), u[VM_TERMS * VM_TILE];
    size_t first, i, k, o, term;
    for (first = 0; first < n_rows; first += rows) {
        const size_t some = n_rows - first < rows ? n_rows - first : rows, width = rff_up(some, VM_LANES);
        FN(lay)(X, row + first, some, prepared->middle, prepared->scale, tile, width);
        for (o = 0; o < k_outputs; o++)
            for (i = 0; i < width; i++) total[o * VM_TILE + i] = e->intercept[o];
        for (term = 0; term < p->n_padded; term += VM_TERMS) {
            VM(distances)(tile, e->n_features, width, p->numbers + term * e->n_features, u);
            for (k = 0; k < VM_TERMS; k++)
                if (e->shape == RFF_EXPONENTIAL)
                    VM(decay_root)(u + k * VM_TILE, width);
                else
                    VM(decay)(u + k * VM_TILE, width);
            for (o = 0; o < k_outputs; o++)
                VM(add_columns)(u, VM_TILE, VM_TERMS, prepared->weights + o * p->n_padded + term, width,
                                total + o * VM_TILE);
        }
        for (i = 0; i < some; i++)
            for (o = 0; o < k_outputs; o++) out[(first + i) * k_outputs + o] = total[o * VM_TILE + i];
    }
}

/* out += the values of the leaves of rows of this precision; `work` holds their bins. */
static void FN(trees)(const rff_model *model, const rff_rows *X, size_t row, size_t n_rows, double *out, void *work)
{
    const rff_expansion *e = &model->expansion;
    const rff_trees *trees = &((const rff_prepared *)model->prepared)->trees;
    const size_t n_binned = (size_t)trees->packed.n_columns, few = n_rows < RFF_FEW;
    const size_t width = few ? 1 : VT_TILE, n_bins = n_binned * width, n_trees = e->n_trees;
    const size_t tree_bytes = e->tree_starts[n_trees] / n_trees * e->n_outputs * sizeof(float) + 6 * e->depth;
    const size_t block = rff_up(RFF_TREE_BYTES / tree_bytes + 1, VT_TREE_BLOCK), n_together = few ? n_trees : block;
    size_t first, tree, i, j, n, step;
    for (first = 0; first < n_rows; first += width) {
        const size_t some = n_rows - first < width ? n_rows - first : width;
        int8_t *binned = (int8_t *)work + first / width * n_bins;
        for (j = 0; j < n_binned; j++) {
            const ptrdiff_t start = trees->edge_starts[j], n_edges = trees->edge_starts[j + 1] - start;
            for (i = 0; i < some; i += n) {
                const REAL *x = (const REAL *)X->values + rff_place(X, row + first + i, trees->columns[j]);
                n = rff_run(X, row + first + i, some - i, &step);
                BIN(x, (ptrdiff_t)step, (ptrdiff_t)n, trees->SUFFIX + start, n_edges, binned + j * width + i);
            }
            for (i = some; i < width; i++) binned[j * width + i] = -128;
        }
    }
    for (tree = 0; tree < n_trees; tree += n_together) {
        const ptrdiff_t stop = (ptrdiff_t)(n_trees - tree < n_together ? n_trees : tree + n_together);
        for (first = 0; first < n_rows; first += width) {
            const int8_t *binned = (const int8_t *)work + first / width * n_bins;
            double *scores = out + first * e->n_outputs;
            if (few)
                TREES(score_row)(&trees->packed, (ptrdiff_t)tree, stop, binned, scores);
            else
                TREES(score)(&trees->packed, (ptrdiff_t)tree, stop, binned,
                             (ptrdiff_t)(n_rows - first < width ? n_rows - first : width), scores);
        }
    }
}
