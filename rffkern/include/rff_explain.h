/* What models know of rows that they were not trained on, and why they score a row as they do: ends of intervals
 * (rffkern/_estimator/conformal.py) and Shapley values of columns (rffkern/_model/shapley.py, which has the mathematics).
 */
#ifndef RFF_EXPLAIN_H
#define RFF_EXPLAIN_H

#include "rff_scorer.h"

#define RFF_INTERVAL_ROUNDING 1e-14 /* of exponentials of scores, in units of them */

/* --- intervals */

/* The piecewise linear function through knots, as NumPy's `interp` computes it. */
static double rff_interpolate(double x, const double *knots, const double *heights, size_t n)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (knots[middle] <= x) low = middle + 1;
        else high = middle;
    }
    if (low == 0) return heights[0];
    if (low == n || knots[low - 1] == x) return heights[low - 1];
    return (heights[low] - heights[low - 1]) / (knots[low] - knots[low - 1]) * (x - knots[low - 1]) + heights[low - 1];
}

/* The level of value k of a sample. */
static double rff_level_of(const rff_residuals *sample, size_t k)
{
    const double end = 1 / (sample->n_rows + 1);
    if ((double)sample->n_values == sample->n_rows) return ((double)k + 1) / (sample->n_rows + 1);
    return end + (1 - 2 * end) * (1 - cos(RFF_PI * (double)k / ((double)sample->n_values - 1))) / 2;
}

/* The value of a sample at a level. */
static double rff_quantile(const rff_residuals *sample, double level)
{
    double levels[2], values[2], unit = 0;
    size_t k, low = 0;
    for (k = 0; k < sample->n_values; k++) unit = fmax(unit, fabs(sample->values[k]));
    unit = unit == 0 ? 1 : unit; /* in which differences cannot overflow */
    while (low + 1 < sample->n_values && rff_level_of(sample, low + 1) <= level) low++;
    for (k = 0; k < 2; k++) {
        const size_t at = low + k < sample->n_values ? low + k : low;
        levels[k] = rff_level_of(sample, at);
        values[k] = sample->values[at] / unit;
    }
    return unit * rff_interpolate(level, levels, values, low + 1 < sample->n_values ? 2 : 1);
}

/* The level of the outermost residual that leaves at most a share `tail` of new rows beyond it, or 0. */
static double rff_rank(const rff_residuals *sample, double tail)
{
    return floor((sample->n_rows + 1) * tail * (1 + 1e-12)) / (sample->n_rows + 1);
}

static size_t rff_nearest_quantile(const rff_model *model, double level)
{
    size_t o, best = 0;
    for (o = 1; o < model->info.n_outputs; o++)
        if (fabs(model->quantiles[o] - level) < fabs(model->quantiles[best] - level)) best = o;
    return best;
}

static double rff_end_of(const rff_residuals *residuals, double f, double factor)
{
    const double end = f + factor * rff_interpolate(f, residuals->knots, residuals->spreads, residuals->n_knots);
    return end > DBL_MAX ? DBL_MAX : end < -DBL_MAX ? -DBL_MAX : end;
}

static void rff_give_intervals(const rff_model *model, double coverage, const rff_rows *X, size_t row, size_t n_rows,
                               double *out, double *base)
{
    const double *scores = rff_scores_given(model, X, row, n_rows, base), tail = (1 - coverage) / 2;
    const size_t n = model->info.n_outputs, n_targets = model->info.n_predictions;
    const int of_quantiles = model->prediction == RFF_SMALLEST;
    double *factors = base + rff_scratch_layout(model).factors;
    size_t i, o, below, above;
    for (o = 0; o < n; o++) {
        const double level = rff_rank(model->residuals + o, tail);
        factors[2 * o] = rff_quantile(model->residuals + o, level);
        factors[2 * o + 1] = rff_quantile(model->residuals + o, 1 - level);
    }
    for (i = 0; i < n_rows; i++, scores += n)
        for (o = 0; o < n_targets; o++, out += 2) {
            double low, high, first, second;
            below = of_quantiles ? rff_nearest_quantile(model, tail) : o;
            above = of_quantiles ? rff_nearest_quantile(model, 1 - tail) : o;
            first = of_quantiles ? scores[below] : rff_target(model, scores[o]);
            second = of_quantiles ? scores[above] : first;
            first = rff_end_of(model->residuals + below, first, factors[2 * below]);
            second = rff_end_of(model->residuals + above, second, factors[2 * above + 1]);
            low = first < second ? first : second;
            high = first < second ? second : first;
            if (model->prediction == RFF_EXPONENTIATED) {
                low *= 1 + -RFF_INTERVAL_ROUNDING;
                high *= 1 + RFF_INTERVAL_ROUNDING;
                low = low > 0 ? low : 0;
                high = high > 0 ? high : 0;
            }
            out[0] = low;
            out[1] = high;
        }
}

/* Whether a model has what intervals of a coverage take. */
static rff_error rff_check_coverage(const rff_model *model, double coverage)
{
    size_t o;
    if (!model || !(coverage > 0 && coverage < 1)) return RFF_E_ARGUMENT;
    if (model->info.kind != RFF_REGRESSOR || !model->residuals) return RFF_E_NOT_KEPT;
    for (o = 0; o < model->info.n_outputs; o++)
        if (!(rff_rank(model->residuals + o, (1 - coverage) / 2) > 0)) return RFF_E_COVERAGE;
    return RFF_OK;
}

RFF_API rff_error rff_predict_interval(const rff_model *model, double coverage, rff_type type, const void *rows,
                                       size_t n_rows, double *ends, void *scratch, size_t scratch_size)
{
    const rff_error error = rff_check_coverage(model, coverage);
    return error ? error : rff_give(model, type, rows, 0, n_rows, rff_give_intervals, coverage,
                                    2 * model->info.n_predictions, ends, scratch, scratch_size, NULL, NULL);
}

RFF_API rff_error rff_predict_interval_cells(const rff_model *model, double coverage, const rff_cell *cells,
                                             size_t n_rows, double *ends, void *scratch, size_t scratch_size,
                                             size_t *row, size_t *column)
{
    const rff_error error = rff_check_coverage(model, coverage);
    return error ? error : rff_give(model, RFF_FLOAT64, cells, 1, n_rows, rff_give_intervals, coverage,
                                    2 * model->info.n_predictions, ends, scratch, scratch_size, row, column);
}

/* --- contributions */

typedef struct {
    const uint32_t *sources;     /* (n_features,) the raw column of each column of the expansion */
    double *base_values;         /* (n_outputs,) */
    double *line_means;          /* (n_features, n_outputs) */
    /* Of cosines: a term has the raw columns `players` from ends[t] on, the means of whose factors are complex. */
    size_t *ends;                /* (n_terms + 1,) */
    uint32_t *players;
    double *means;               /* real parts before imaginary ones */
    size_t *rule_ends;           /* (most + 2,) nodes for so many columns */
    double *nodes, *weights;
    /* Of trees: the values of their raw columns in each leaf. */
    size_t *place_ends;          /* (n_trees + 1,) */
    uint32_t *places;
    size_t *table_starts;        /* (n_trees,) */
    double *tables;              /* (n_leaves, n_players, n_outputs) of each tree */
} rff_explainer;

/* The product of the distributions of raw columns: each has the points of its own in the first rows. */
typedef struct {
    size_t n_rows;
    double *rows;   /* (n_rows, n_features) mapped and clipped */
    double *shares; /* (n_columns, n_rows), 0 beyond the points of a column */
} rff_background;

/* The first column of the expansion that is of a raw one, or of one after it. */
static size_t rff_start_of(const rff_model *model, size_t column)
{
    return model->has_map ? model->map.starts[column] : column;
}

/* Levels that are not among the n points of a column, which share their rows evenly, as further points. */
static size_t rff_add_other_levels(const rff_column *column, double *at, size_t stride, double *shares, size_t n,
                                   double share)
{
    const size_t n_named = n, n_codes = column->levels.n + (size_t)column->has_rare;
    size_t code, k;
    for (code = 0; code < n_codes; code++) {
        for (k = 0; k < n_named && at[k * stride] != (double)code; k++) continue;
        if (k == n_named) at[n++ * stride] = (double)code;
    }
    if (n == n_named) at[n++ * stride] = column->has_rare ? (double)column->levels.n : NAN;
    for (k = n_named; k < n; k++) shares[k] = share / (double)(n - n_named);
    return n;
}

/* The points of raw column j, which are `values_of_training` of drift.py, at `at` and every `stride` from there, and their
   shares; return how many. */
static size_t rff_fill_points(const rff_model *model, size_t j, double *at, size_t stride, double *shares,
                              rff_text_work *work)
{
    const rff_distribution *d = model->distributions + j;
    const rff_column *column = model->has_map ? model->map.columns + j : NULL;
    const int is_category = column && column->kind == RFF_COLUMN_CATEGORY;
    double total = 0, missing = d->missing;
    size_t n = 0, k;
    if (column && (!column->is_used || !d->is_known)) {
        shares[0] = 1;
        return 1;
    }
    for (; is_category && n < d->levels.n; n++) {
        const rff_span text = d->levels.at[n];
        rff_cell cell = {RFF_CELL_TEXT, 0, NULL, 0};
        cell.text = (const char *)text.at;
        cell.length = text.size;
        at[n * stride] = rff_code_of_text(column, text);
        shares[n] = d->shares[n];
        if (column->n_scores)
            rff_score_cell(column, &cell, at[n * stride], at + n * stride - j + column->first_score, work);
    }
    if (is_category && !column->n_scores) n = rff_add_other_levels(column, at, stride, shares, n, d->shares[n]);
    for (; n < d->n_values; n++) {
        at[n * stride] = d->values[n];
        shares[n] = d->shares ? d->shares[n] : 1 / (double)d->n_values;
    }
    if (!column) return n;
    for (k = 0; k < n; k++) total += shares[k];
    if (!column->n_scores) { /* all shares are scaled alike, as there */
        total = (1 - missing) * total + missing;
        missing /= total;
    }
    for (k = 0; k < n; k++) shares[k] *= (1 - d->missing) / total;
    shares[n] = missing;
    return n + 1;
}

/* Missing values of the background that are imputed, as they are where all other columns are at their means. */
static void rff_impute_background(const rff_model *model, const rff_background *b, const double *values, double *means)
{
    const rff_column_map *map = &model->map;
    const rff_prepared *prepared = (const rff_prepared *)model->prepared;
    const size_t n = map->n_outputs;
    size_t f, j, k, r;
    for (j = 0; j < map->n_columns; j++)
        for (k = map->starts[j]; k < map->starts[j + 1]; k++)
            for (r = 0; r < b->n_rows; r++) means[k] += b->shares[j * b->n_rows + r] * b->rows[r * n + k];
    for (f = 0; f < map->n_imputations; f++) {
        const double found = rff_imputed(map, map->imputations + f, means, 1);
        for (r = 0; r < b->n_rows; r++) {
            const double x = values[r * map->n_values + prepared->imputation_columns[f]];
            if (x != x) b->rows[r * n + map->imputations[f].output] = found;
        }
    }
}

/* The background, in memory of another model. */
static int rff_make_background(const rff_model *model, rff_model *memory, rff_background *b)
{
    const size_t n_values = rff_n_values(model), n_columns = model->info.n_features, n = model->expansion.n_features;
    const int clips = ((const rff_prepared *)model->prepared)->clips;
    rff_text_work *work = (rff_text_work *)rff_own(memory, 1, sizeof *work);
    double *values, *outputs = (double *)rff_own(memory, (n + 1) * RFF_PIECE, sizeof *outputs);
    rff_model bare = *model; /* which imputes nothing */
    size_t i, j, k, n_points;
    for (j = 0; j < n_columns; j++) {
        const rff_distribution *d = model->distributions + j;
        const size_t most = d->levels.n + d->n_values + 2 + (model->has_map ? model->map.columns[j].levels.n : 0);
        b->n_rows = most > b->n_rows ? most : b->n_rows;
    }
    values = (double *)rff_own(memory, b->n_rows * n_values, sizeof *values);
    b->rows = (double *)rff_own(memory, b->n_rows * n, sizeof *values);
    b->shares = (double *)rff_own(memory, b->n_rows * n_columns, sizeof *values);
    if (!work || !outputs || !values || !b->rows || !b->shares) return 0;
    for (i = 0; i < b->n_rows * n_values; i++) values[i] = NAN;
    for (j = 0; j < n_columns; j++) {
        n_points = rff_fill_points(model, j, values + j, n_values, b->shares + j * b->n_rows, work);
        for (i = n_points; i < b->n_rows; i++) values[i * n_values + j] = values[j]; /* without weight */
    }
    bare.map.n_imputations = 0;
    for (i = 0; i < b->n_rows; i += RFF_PIECE) {
        const rff_rows X = {values, RFF_FLOAT64, n_values, 1};
        const size_t some = b->n_rows - i < RFF_PIECE ? b->n_rows - i : RFF_PIECE;
        if (!model->has_map) {
            memcpy(b->rows + i * n, values + i * n, some * n * sizeof *values);
            continue;
        }
        rff_map_piece(&bare, &X, i, some, outputs, NULL);
        for (j = 0; j < some; j++)
            for (k = 0; k < n; k++) b->rows[(i + j) * n + k] = outputs[k * RFF_PIECE + j];
    }
    memset(outputs, 0, n * sizeof *outputs);
    if (model->has_map) rff_impute_background(model, b, values, outputs);
    if (clips) {
        const rff_rows X = {b->rows, RFF_FLOAT64, n, 1};
        rff_clip(model, &X, b->n_rows, b->rows);
    }
    return 1;
}

static int rff_explain_lines(rff_model *model, const rff_background *b, rff_explainer *x)
{
    const rff_expansion *e = &model->expansion;
    size_t j, o, r;
    x->line_means = (double *)rff_own(model, e->n_features * e->n_outputs, sizeof(double));
    if (!x->line_means) return 0;
    for (j = 0; j < e->n_features; j++)
        for (o = 0; o < e->n_outputs; o++) {
            double *mean = x->line_means + j * e->n_outputs + o;
            for (r = 0; r < b->n_rows; r++)
                *mean += b->shares[x->sources[j] * b->n_rows + r] * rff_line(e, j, o, b->rows[r * e->n_features + j]);
            x->base_values[o] += *mean;
        }
    return 1;
}

/* The angle of a term that raw column c of a row makes. */
static double rff_angle_of(const rff_model *model, size_t term, size_t c, const double *row)
{
    const rff_expansion *e = &model->expansion;
    const size_t stop = rff_start_of(model, c + 1);
    double angle = 0;
    size_t j;
    for (j = rff_start_of(model, c); j < stop; j++) angle += e->omegas[term * e->n_features + j] * (row[j] - e->center[j]);
    return angle;
}

/* Nodes in [0, 1] and weights of Gauss and Legendre. */
static void rff_find_rule(size_t n, double *nodes, double *weights)
{
    size_t i, k;
    int step;
    for (i = 0; i < n; i++) {
        double x = cos(RFF_PI * ((double)i + 0.75) / ((double)n + 0.5)), slope = 1;
        for (step = 0; step < 20; step++) { /* of Newton's method, to the last bit */
            double before = 1, value = x;
            for (k = 2; k <= n; k++) {
                const double next = ((2 * (double)k - 1) * x * value - ((double)k - 1) * before) / (double)k;
                before = value;
                value = next;
            }
            slope = (double)n * (x * value - before) / (x * x - 1);
            x -= value / slope;
        }
        nodes[i] = (x + 1) / 2;
        weights[i] = 1 / ((1 - x * x) * slope * slope);
    }
}

/* The raw columns that a cosine reads, kept unless `players` is NULL, and how many; those of the expansion are in the order
   of the raw ones. */
static size_t rff_players_of_term(const rff_expansion *e, const uint32_t *sources, size_t term, uint32_t *players)
{
    size_t j, n = 0;
    uint32_t last = 0;
    for (j = 0; j < e->n_features; j++) {
        if (e->omegas[term * e->n_features + j] == 0 || (n && sources[j] == last)) continue;
        last = sources[j];
        if (players) players[n] = last;
        n++;
    }
    return n;
}

static int rff_explain_cosines(rff_model *model, const rff_background *b, rff_explainer *x)
{
    const rff_expansion *e = &model->expansion;
    size_t t, k, o, r, n, most = 0;
    x->ends = (size_t *)rff_own(model, e->n_terms + 1, sizeof(size_t));
    if (!x->ends) return 0;
    for (t = 0; t < e->n_terms; t++) {
        x->ends[t + 1] = x->ends[t] + rff_players_of_term(e, x->sources, t, NULL);
        most = x->ends[t + 1] - x->ends[t] > most ? x->ends[t + 1] - x->ends[t] : most;
    }
    n = x->ends[e->n_terms];
    x->players = (uint32_t *)rff_own(model, n, sizeof(uint32_t));
    x->means = (double *)rff_own(model, 2 * n, sizeof(double));
    x->rule_ends = (size_t *)rff_own(model, most + 2, sizeof(size_t));
    if (!x->players || !x->means || !x->rule_ends) return 0;
    for (k = 1; k <= most; k++) {
        const size_t exact = (k + 1) / 2, enough = 32 + (size_t)ceil(2 * sqrt((double)k));
        x->rule_ends[k + 1] = x->rule_ends[k] + (exact < enough ? exact : enough);
    }
    x->nodes = (double *)rff_own(model, x->rule_ends[most + 1], sizeof(double));
    x->weights = (double *)rff_own(model, x->rule_ends[most + 1], sizeof(double));
    if (!x->nodes || !x->weights) return 0;
    for (k = 1; k <= most; k++)
        rff_find_rule(x->rule_ends[k + 1] - x->rule_ends[k], x->nodes + x->rule_ends[k], x->weights + x->rule_ends[k]);
    for (t = 0; t < e->n_terms; t++) {
        double re = cos(e->phases[t]), im = -sin(e->phases[t]);
        rff_players_of_term(e, x->sources, t, x->players + x->ends[t]);
        for (k = x->ends[t]; k < x->ends[t + 1]; k++) {
            const double *shares = b->shares + x->players[k] * b->n_rows, before = re;
            double *mean = x->means + 2 * k;
            for (r = 0; r < b->n_rows; r++) {
                const double angle = rff_angle_of(model, t, x->players[k], b->rows + r * e->n_features);
                if (shares[r] == 0) continue;
                mean[0] += shares[r] * cos(angle);
                mean[1] += shares[r] * sin(angle);
            }
            re = re * mean[0] - im * mean[1];
            im = before * mean[1] + im * mean[0];
        }
        for (o = 0; o < e->n_outputs; o++) x->base_values[o] += e->amplitudes[t * e->n_outputs + o] * re;
    }
    return 1;
}

/* The raw columns by which a tree splits. */
static size_t rff_players_of_tree(const rff_expansion *e, const uint32_t *sources, size_t tree, uint32_t *players)
{
    size_t n = 0, l, k;
    for (l = tree * e->depth; l < (tree + 1) * e->depth; l++) {
        if (!e->steps[l]) continue;
        for (k = 0; k < n && players[k] != sources[e->tree_columns[l]]; k++) continue;
        if (k == n) players[n++] = sources[e->tree_columns[l]];
    }
    return n;
}

/* The number of the leaf of a row, or what raw column `player` alone adds to it. */
static size_t rff_leaf_of(const rff_expansion *e, size_t tree, const double *row, const uint32_t *sources,
                          const uint32_t *player)
{
    size_t l, leaf = 0;
    for (l = tree * e->depth; l < (tree + 1) * e->depth; l++)
        if (row[e->tree_columns[l]] > e->thresholds[l] && (!player || sources[e->tree_columns[l]] == *player))
            leaf += (size_t)e->steps[l];
    return leaf;
}

/* What a raw column adds to the number of a leaf: a column by which a tree splits k times is a digit of k + 1 values. */
static size_t rff_part_of_leaf(const rff_expansion *e, size_t tree, size_t leaf, const uint32_t *sources, uint32_t player)
{
    size_t l, m, part = 0;
    for (l = tree * e->depth; l < (tree + 1) * e->depth; l++) {
        size_t base = 1, is_first = 1;
        if (!e->steps[l] || sources[e->tree_columns[l]] != player) continue;
        for (m = tree * e->depth; m < (tree + 1) * e->depth; m++)
            if (e->steps[m] == e->steps[l]) {
                base++;
                is_first &= m >= l;
            }
        if (is_first) part += leaf / (size_t)e->steps[l] % base * (size_t)e->steps[l];
    }
    return part;
}

/* The table of a tree: the Shapley values of its k players at each leaf.  v(S), the value of a coalition S at a leaf, is
   the mean of the values of all leaves whose parts of S are those of this leaf, by the shares that the parts of other
   players have in the background.  Player g gets inside(|S|) v(S) from each S with g, and -outside(|S|) v(S) from each
   without g.  Of two players 0 and 1, all factors are 1/2: phi_0 = (v{0} - v{}) / 2 + (v{0, 1} - v{1}) / 2. */
static void rff_tabulate(const rff_expansion *e, size_t tree, size_t k, const size_t *parts, const double *shares,
                         size_t *agreeing, double *means, double *table, double *base_values)
{
    const size_t n_leaves = e->tree_starts[tree + 1] - e->tree_starts[tree], n_outputs = e->n_outputs;
    const float *values = e->tree_values + e->tree_starts[tree] * n_outputs;
    size_t coalition, leaf, g, o; /* player g is in the coalition if its bit g is 1 */
    for (coalition = 0; coalition < (size_t)1 << k; coalition++) {
        double inside = 1, outside = 1;
        size_t size = 0;
        for (g = 0; g < k; g++) size += coalition >> g & 1;
        for (g = 1; g < size; g++) inside *= (double)g / (double)(k - size + g);
        inside /= (double)k; /* (size - 1)! (k - size)! / k! */
        for (g = 1; g < k - size; g++) outside *= (double)g / (double)(size + g);
        outside /= (double)k; /* size! (k - size - 1)! / k! */
        memset(means, 0, n_leaves * n_outputs * sizeof *means);
        for (leaf = 0; leaf < n_leaves; leaf++) {
            double share = 1;
            for (g = agreeing[leaf] = 0; g < k; g++) /* the sum of parts of S: the same number for leaves that agree */
                if (coalition >> g & 1) agreeing[leaf] += parts[g * n_leaves + leaf];
                else share *= shares[g * n_leaves + parts[g * n_leaves + leaf]];
            for (o = 0; o < n_outputs; o++)
                means[agreeing[leaf] * n_outputs + o] += share * (e->tree_unit * values[leaf * n_outputs + o]);
        }
        for (o = 0; o < n_outputs && !coalition; o++) base_values[o] += means[o];
        for (leaf = 0; leaf < n_leaves; leaf++)
            for (g = 0; g < k; g++)
                for (o = 0; o < n_outputs; o++)
                    table[(leaf * k + g) * n_outputs + o] += (coalition >> g & 1 ? inside : -outside)
                                                             * means[agreeing[leaf] * n_outputs + o];
    }
}

static int rff_explain_trees(rff_model *model, rff_model *memory, const rff_background *b, rff_explainer *x)
{
    const rff_expansion *e = &model->expansion;
    size_t t, k, g, r, leaf, n_numbers = 0, most = 1;
    size_t *parts, *agreeing;
    double *shares, *means;
    x->place_ends = (size_t *)rff_own(model, e->n_trees + 1, sizeof(size_t));
    x->table_starts = (size_t *)rff_own(model, e->n_trees, sizeof(size_t));
    x->places = (uint32_t *)rff_own(model, e->n_trees * e->depth + 1, sizeof(uint32_t));
    if (!x->place_ends || !x->table_starts || !x->places) return 0;
    for (t = 0; t < e->n_trees; t++) {
        const size_t n_leaves = e->tree_starts[t + 1] - e->tree_starts[t];
        k = rff_players_of_tree(e, x->sources, t, x->places + x->place_ends[t]);
        x->place_ends[t + 1] = x->place_ends[t] + k;
        x->table_starts[t] = n_numbers;
        n_numbers += n_leaves * k * e->n_outputs;
        most = n_leaves > most ? n_leaves : most;
    }
    x->tables = (double *)rff_own(model, n_numbers, sizeof(double));
    parts = (size_t *)rff_own(memory, e->depth * most + 1, sizeof(size_t));
    agreeing = (size_t *)rff_own(memory, most, sizeof(size_t));
    shares = (double *)rff_own(memory, e->depth * most + 1, sizeof(double));
    means = (double *)rff_own(memory, most * e->n_outputs, sizeof(double));
    if (!x->tables || !parts || !agreeing || !shares || !means) return 0;
    for (t = 0; t < e->n_trees; t++) {
        const size_t n_leaves = e->tree_starts[t + 1] - e->tree_starts[t];
        const uint32_t *players = x->places + x->place_ends[t];
        k = x->place_ends[t + 1] - x->place_ends[t];
        memset(shares, 0, (k * n_leaves + 1) * sizeof *shares);
        for (g = 0; g < k; g++) {
            for (leaf = 0; leaf < n_leaves; leaf++)
                parts[g * n_leaves + leaf] = rff_part_of_leaf(e, t, leaf, x->sources, players[g]);
            for (r = 0; r < b->n_rows; r++) {
                leaf = rff_leaf_of(e, t, b->rows + r * e->n_features, x->sources, players + g);
                shares[g * n_leaves + leaf] += b->shares[players[g] * b->n_rows + r];
            }
        }
        rff_tabulate(e, t, k, parts, shares, agreeing, means, x->tables + x->table_starts[t], x->base_values);
    }
    return 1;
}

/* Whether each column that is used has what is known of it in the right form. */
static int rff_has_distributions(const rff_model *model)
{
    size_t j;
    for (j = 0; model->distributions && j < model->info.n_features; j++) {
        const rff_distribution *d = model->distributions + j;
        const rff_column *column = model->has_map ? model->map.columns + j : NULL;
        if (column && (!column->is_used || !d->is_known)) continue;
        if (column && column->kind == RFF_COLUMN_CATEGORY ? !d->levels.n : !d->n_values) return 0;
    }
    return model->distributions != NULL;
}

RFF_API rff_error rff_prepare_explanations(rff_model *model, const char **why)
{
    rff_model memory = {0}; /* of this function alone */
    rff_background b = {0, NULL, NULL};
    const rff_expansion *e;
    rff_explainer *x;
    uint32_t *sources;
    size_t c, j;
    int done;
    if (why) *why = "a null pointer";
    if (!model) return RFF_E_ARGUMENT;
    if (why) *why = NULL;
    if (model->explainer) return RFF_OK;
    e = &model->expansion;
    if (why) *why = "contributions in C are those of cosines, linear functions and trees, not of kernels";
    if (e->parts & ~(1 << RFF_PART_FOURIER | 1 << RFF_PART_LINEAR | 1 << RFF_PART_TREES)) return RFF_E_UNSUPPORTED;
    if (why) *why = "the file keeps no distributions of the columns in training";
    if (e->kind == RFF_NO_EXPANSION || !rff_has_distributions(model)) return RFF_E_NOT_KEPT;
    x = (rff_explainer *)rff_own(model, 1, sizeof *x);
    sources = (uint32_t *)rff_own(model, e->n_features, sizeof *sources);
    done = x && sources && (x->base_values = (double *)rff_own(model, e->n_outputs, sizeof(double))) != NULL;
    for (c = 0; done && c < model->info.n_features; c++)
        for (j = rff_start_of(model, c); j < rff_start_of(model, c + 1); j++) sources[j] = (uint32_t)c;
    if (done) {
        x->sources = sources;
        memcpy(x->base_values, e->intercept, e->n_outputs * sizeof(double));
    }
    done = done && rff_make_background(model, &memory, &b) && (!e->has_slopes || rff_explain_lines(model, &b, x))
           && (!e->n_terms || rff_explain_cosines(model, &b, x))
           && (!e->n_trees || rff_explain_trees(model, &memory, &b, x));
    rff_release_blocks(memory.blocks);
    if (done) model->explainer = x;
    if (why) *why = done ? NULL : "out of memory";
    return done ? RFF_OK : RFF_E_MEMORY;
}

RFF_API const double *rff_base_values(const rff_model *model)
{
    return model && model->explainer ? ((const rff_explainer *)model->explainer)->base_values : NULL;
}

/* Of complex factors w + t u of m columns, real parts before imaginary ones: the integrals over t of the products of all
   but each, by nodes in [0, 1] from `first` to `last`.  Exported files have it in JavaScript too. */
static void rff_integrate(int m, const double *w, const double *u, const double *nodes, const double *weights, int first,
                          int last, double *before, double *sums)
{
    for (int g = 0; g < 2 * m; g++) sums[g] = 0;
    for (int q = first; q < last; q++) {
        double re = 1, im = 0;
        for (int g = 0; g < 2 * m; g += 2) {
            double f_re = w[g] + nodes[q] * u[g], f_im = w[g + 1] + nodes[q] * u[g + 1];
            double next = re * f_re - im * f_im;
            before[g] = re;
            before[g + 1] = im;
            im = re * f_im + im * f_re;
            re = next;
        }
        re = weights[q];
        im = 0;
        for (int g = 2 * m - 2; g >= 0; g -= 2) {
            double f_re = w[g] + nodes[q] * u[g], f_im = w[g + 1] + nodes[q] * u[g + 1];
            double next = re * f_re - im * f_im;
            sums[g] += before[g] * re - before[g + 1] * im;
            sums[g + 1] += before[g] * im + before[g + 1] * re;
            im = re * f_im + im * f_re;
            re = next;
        }
    }
}

/* Add the contributions of the columns of a row to cosine t; `work` has 6 numbers of each column. */
static void rff_explain_cosine(const rff_model *model, size_t t, const double *row, double *out, double *work)
{
    const rff_expansion *e = &model->expansion;
    const rff_explainer *x = (const rff_explainer *)model->explainer;
    const size_t start = x->ends[t], m = x->ends[t + 1] - start, n_outputs = e->n_outputs;
    const double *w = x->means + 2 * start, turn = cos(e->phases[t]), slope = sin(e->phases[t]);
    double *u = work, *before = u + 2 * m, *sums = before + 2 * m;
    size_t g, o;
    for (g = 0; g < m; g++) {
        const double angle = rff_angle_of(model, t, x->players[start + g], row);
        u[2 * g] = cos(angle) - w[2 * g];
        u[2 * g + 1] = sin(angle) - w[2 * g + 1];
    }
    rff_integrate((int)m, w, u, x->nodes, x->weights, (int)x->rule_ends[m], (int)x->rule_ends[m + 1], before, sums);
    for (g = 0; g < 2 * m; g += 2) {
        const double value = turn * (u[g] * sums[g] - u[g + 1] * sums[g + 1])
                             + slope * (u[g] * sums[g + 1] + u[g + 1] * sums[g]);
        for (o = 0; o < n_outputs; o++)
            out[x->players[start + g / 2] * n_outputs + o] += e->amplitudes[t * n_outputs + o] * value;
    }
}

static void rff_give_contributions(const rff_model *model, double coverage, const rff_rows *X, size_t row,
                                   size_t n_rows, double *out, double *base)
{
    const rff_expansion *e = &model->expansion;
    const rff_explainer *x = (const rff_explainer *)model->explainer;
    const rff_layout place = rff_scratch_layout(model);
    const size_t n_outputs = e->n_outputs, n_out = model->info.n_features * n_outputs;
    double *values = base + place.values;
    rff_rows exact = {values, RFF_FLOAT64, X->n_features, 1}, mapped; /* rows of single precision are explained in double */
    size_t i, j, o, p, t;
    (void)coverage;
    if (X->type == RFF_FLOAT32)
        for (i = 0; i < n_rows * X->n_features; i++)
            values[i] = ((const float *)X->values)[row * X->n_features + i];
    else exact = *X;
    row = X->type == RFF_FLOAT32 ? 0 : row;
    mapped = rff_map_given(model, &exact, &row, n_rows, NULL, base);
    for (i = 0; i < n_rows; i++, out += n_out) {
        const double *at = (const double *)mapped.values + (row + i) * e->n_features;
        for (o = 0; o < n_out; o++) out[o] = 0;
        for (j = 0; e->has_slopes && j < e->n_features; j++)
            for (o = 0; o < n_outputs; o++)
                out[x->sources[j] * n_outputs + o] += rff_line(e, j, o, at[j]) - x->line_means[j * n_outputs + o];
        for (t = 0; t < e->n_terms; t++) rff_explain_cosine(model, t, at, out, base + place.factors);
        for (t = 0; t < e->n_trees; t++) {
            const size_t k = x->place_ends[t + 1] - x->place_ends[t];
            const double *table = x->tables + x->table_starts[t] + rff_leaf_of(e, t, at, NULL, NULL) * k * n_outputs;
            for (p = 0; p < k; p++)
                for (o = 0; o < n_outputs; o++)
                    out[x->places[x->place_ends[t] + p] * n_outputs + o] += table[p * n_outputs + o];
        }
    }
}

RFF_API rff_error rff_explain(const rff_model *model, rff_type type, const void *rows, size_t n_rows,
                              double *contributions, void *scratch, size_t scratch_size)
{
    if (!model || !model->explainer) return RFF_E_ARGUMENT;
    return rff_give(model, type, rows, 0, n_rows, rff_give_contributions, 0,
                    model->info.n_features * model->info.n_outputs, contributions, scratch, scratch_size, NULL, NULL);
}

RFF_API rff_error rff_explain_cells(const rff_model *model, const rff_cell *cells, size_t n_rows, double *contributions,
                                    void *scratch, size_t scratch_size, size_t *row, size_t *column)
{
    if (!model || !model->explainer) return RFF_E_ARGUMENT;
    return rff_give(model, RFF_FLOAT64, cells, 1, n_rows, rff_give_contributions, 0,
                    model->info.n_features * model->info.n_outputs, contributions, scratch, scratch_size, row, column);
}

#endif
