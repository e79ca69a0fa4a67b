/* Terms as the functions of a level read them, in one precision: RFF_REAL, named RFF_SUFFIX. */

#define RFF_PACKED_TYPE EXPAND2(rff_packed, RFF_SUFFIX)
#define RFF_FN(name) EXPAND2(rff_pack_##name, RFF_SUFFIX)
#define RFF_MAKE(n) ((RFF_REAL *)rff_own(model, (n) + 1, sizeof(RFF_REAL)))

/* Numbers of omegas that are not 0 alone, where these are few. */
static int RFF_FN(used)(rff_model *model, RFF_PACKED_TYPE *p, const RFF_REAL *angles)
{
    const size_t d = model->expansion.n_features, n_all = p->n_padded * d;
    size_t i, j, n_used = 0;
    int32_t *ends, *columns;
    RFF_REAL *numbers;
    for (i = 0; i < n_all; i++) n_used += angles[i] != 0;
    p->numbers = angles;
    if (n_used == 0 || (double)n_used >= RFF_MOST_USED * (double)n_all || n_used > INT32_MAX) return 1;
    ends = (int32_t *)rff_own(model, p->n_padded + 1, sizeof(int32_t));
    columns = (int32_t *)rff_own(model, n_used, sizeof(int32_t));
    numbers = RFF_MAKE(n_used);
    if (!ends || !columns || !numbers) return 0;
    for (n_used = i = 0; i < p->n_padded; i++) {
        for (j = 0; j < d; j++)
            if (angles[i * d + j] != 0) {
                columns[n_used] = (int32_t)j;
                numbers[n_used++] = angles[i * d + j];
            }
        ends[i + 1] = (int32_t)n_used;
    }
    p->ends = ends;
    p->columns = columns;
    p->numbers = numbers;
    return 1;
}

static int RFF_FN(cosines)(rff_model *model, RFF_PACKED_TYPE *p)
{
    const rff_expansion *e = &model->expansion;
    const size_t n = e->n_terms, d = e->n_features, k_outputs = e->n_outputs;
    RFF_REAL *angles, *shifts, *amplitudes, *terms;
    size_t j, k, o;
    p->n_padded = rff_up(n, VM_TERMS);
    p->stride = rff_up(n, VM_TERM_BLOCK);
    angles = RFF_MAKE(p->n_padded * d);
    p->shifts = shifts = RFF_MAKE(p->n_padded);
    p->amplitudes = amplitudes = RFF_MAKE(k_outputs * p->stride);
    p->terms = terms = RFF_MAKE(rff_up(n, VM_TILE) * (1 + d));
    if (!angles || !shifts || !amplitudes || !terms) return 0;
    for (k = 0; k < n; k++) {
        RFF_REAL *term = terms + k / VM_TILE * VM_TILE * (1 + d) + k % VM_TILE;
        shifts[k] = term[0] = (RFF_REAL)(e->phases[k] / RFF_PI);
        for (j = 0; j < d; j++)
            angles[k * d + j] = term[(1 + j) * VM_TILE] = (RFF_REAL)(e->omegas[k * d + j] / RFF_PI);
        for (o = 0; o < k_outputs; o++) amplitudes[o * p->stride + k] = (RFF_REAL)e->amplitudes[k * k_outputs + o];
    }
    return RFF_FN(used)(model, p, angles);
}

static int RFF_FN(centers)(rff_model *model, RFF_PACKED_TYPE *p, const double *middle, const double *scale)
{
    const rff_expansion *e = &model->expansion;
    const size_t d = e->n_features;
    RFF_REAL *centers;
    size_t k;
    p->n_padded = rff_up(e->n_terms, VM_TERMS);
    p->numbers = centers = RFF_MAKE(p->n_padded * d);
    for (k = 0; centers && k < e->n_terms * d; k++)
        centers[k] = (RFF_REAL)((e->centers[k] - middle[k % d]) * scale[k % d]);
    return centers != NULL;
}

#undef RFF_PACKED_TYPE
#undef RFF_FN
#undef RFF_MAKE
#undef RFF_REAL
#undef RFF_SUFFIX
