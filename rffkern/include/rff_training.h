/* What a file keeps of training rows: residuals of those out of fold (`check_record` of rffkern/_estimator/conformal.py)
 * and the distributions of columns (`Reference` of rffkern/_column_map/drift.py).
 */
#ifndef RFF_TRAINING_H
#define RFF_TRAINING_H

#include "rff_columns.h"

#define RFF_MOST_RESIDUALS 256

static int rff_is_number(const rff_json *json, uint32_t index)
{
    return json->nodes[index].type == RFF_WHOLE || json->nodes[index].type == RFF_FRACTION;
}

static int rff_are_numbers(const rff_json *json, uint32_t array)
{
    uint32_t k;
    if (json->nodes[array].type != RFF_ARRAY) return 0;
    for (k = rff_first(json, array); k; k = json->nodes[k].next)
        if (!rff_is_number(json, k)) return 0;
    return 1;
}

/* Numbers of an array of JSON that belong to the model; NULL if memory is out. */
static double *rff_keep_numbers(const rff_json *json, rff_model *model, uint32_t array)
{
    double *numbers = rff_own(model, json->nodes[array].count + (size_t)1, sizeof *numbers), *at = numbers;
    uint32_t k;
    for (k = rff_first(json, array); k && at; k = json->nodes[k].next) *at++ = rff_real_number(json, k);
    return numbers;
}

/* --- rows out of fold */

static int rff_read_residuals(rff_file *file, rff_model *model, uint32_t entry, int are_labels, rff_residuals *found)
{
    static const char malformed[] = "a sample of out-of-fold rows is malformed";
    static const char *const keys[] = {"rows", "values", "knots", "spreads"};
    const rff_json *json = &file->header;
    const uint32_t n_keys = are_labels ? 2 : 4;
    uint32_t k, places[4];
    size_t i;
    RFF_REQUIRE(file, rff_has_keys(json, entry, keys, n_keys), malformed);
    for (k = 0; k < n_keys; k++) {
        places[k] = rff_value_of(json, entry, keys[k]);
        RFF_REQUIRE(file, k ? rff_are_numbers(json, places[k]) : json->nodes[places[k]].type == RFF_WHOLE, malformed);
    }
    found->n_rows = rff_real_number(json, places[0]);
    found->n_values = json->nodes[places[1]].count;
    RFF_REQUIRE(file, found->n_values && (double)found->n_values
                == (found->n_rows < RFF_MOST_RESIDUALS ? found->n_rows : RFF_MOST_RESIDUALS), malformed);
    found->values = rff_keep_numbers(json, model, places[1]);
    RFF_REQUIRE_MEMORY(file, found->values);
    for (i = 1; i < found->n_values; i++)
        RFF_REQUIRE(file, !(found->values[i] - found->values[i - 1] < 0), malformed);
    if (are_labels) return 1;
    found->n_knots = json->nodes[places[2]].count;
    RFF_REQUIRE(file, found->n_knots && found->n_knots == json->nodes[places[3]].count, malformed);
    found->knots = rff_keep_numbers(json, model, places[2]);
    found->spreads = rff_keep_numbers(json, model, places[3]);
    RFF_REQUIRE_MEMORY(file, found->knots && found->spreads);
    for (i = 0; i < found->n_knots; i++)
        RFF_REQUIRE(file, found->spreads[i] > 0 && (!i || !(found->knots[i] - found->knots[i - 1] <= 0)), malformed);
    return 1;
}

/* A record of all rows, or of a group of them, of which samples are kept for each output; those of labels are looked at. */
static int rff_read_record(rff_file *file, rff_model *model, uint32_t record, int are_labels, rff_residuals *residuals)
{
    static const char malformed[] = "what is known of out-of-fold rows is malformed";
    const rff_json *json = &file->header;
    const rff_node *nodes = json->nodes;
    const uint32_t n_samples = are_labels ? 1 : (uint32_t)model->expansion.n_outputs;
    const uint32_t source = rff_value_of(json, record, "source"), figures = rff_value_of(json, record, "figures");
    const uint32_t variances = rff_value_of(json, record, "signal_variance");
    const uint32_t samples = rff_value_of(json, record, are_labels ? "labels" : "residuals");
    uint32_t k;
    RFF_REQUIRE(file, nodes[record].type == RFF_OBJECT && source && nodes[source].type == RFF_STRING
                && (!figures || nodes[figures].type == RFF_OBJECT) && samples && nodes[samples].type == RFF_ARRAY
                && nodes[samples].count == n_samples, malformed);
    RFF_REQUIRE(file, !variances || (nodes[variances].type == RFF_ARRAY && nodes[variances].count == n_samples),
                malformed);
    for (k = variances ? rff_first(json, variances) : 0; k; k = nodes[k].next) {
        const double variance = rff_is_number(json, k) ? rff_real_number(json, k) : -1;
        RFF_REQUIRE(file, nodes[k].type == RFF_FALSE || nodes[k].type == RFF_TRUE
                    || (variance >= 0 && variance <= DBL_MAX), malformed);
    }
    for (k = rff_first(json, samples); k; k = nodes[k].next)
        if (!rff_read_residuals(file, model, k, are_labels, residuals++)) return 0;
    return 1;
}

/* The record of a model, if its file has one: residuals of regressors are kept, of all rows without their groups. */
static int rff_read_out_of_fold(rff_file *file, rff_model *model, int are_labels)
{
    const rff_json *json = &file->header;
    const uint32_t record = rff_value_of(json, 0, "out_of_fold"), groups = rff_value_of(json, record, "groups");
    rff_residuals *residuals, *of_group;
    uint32_t k;
    if (!record) return 1;
    RFF_REQUIRE(file, !groups || json->nodes[groups].type == RFF_OBJECT, "groups of out-of-fold rows are malformed");
    residuals = rff_own(model, model->expansion.n_outputs, sizeof *residuals);
    of_group = rff_own(model, model->expansion.n_outputs, sizeof *residuals);
    RFF_REQUIRE_MEMORY(file, residuals && of_group);
    if (!rff_read_record(file, model, record, are_labels, residuals)) return 0;
    for (k = groups && json->nodes[groups].count ? groups + 1 : 0; k; k = json->nodes[k].next)
        if (!rff_read_record(file, model, k + 1, are_labels, of_group)) return 0;
    if (!are_labels) model->residuals = residuals;
    return 1;
}

/* --- distributions of columns */

/* Whether an array holds finite numbers, which are kept; 0 too if memory is out, which is a refusal. */
static int rff_keep_finite(rff_file *file, rff_model *model, uint32_t array, const double **numbers)
{
    size_t i;
    if (!array || !rff_are_numbers(&file->header, array)) return 0;
    *numbers = rff_keep_numbers(&file->header, model, array);
    RFF_REQUIRE_MEMORY(file, *numbers);
    for (i = 0; i < file->header.nodes[array].count; i++)
        if (!(fabs((*numbers)[i]) <= DBL_MAX)) return 0;
    return 1;
}

/* The sum of shares, or 0 where one is negative. */
static double rff_total(const double *shares, size_t n)
{
    double total = 0;
    size_t i;
    for (i = 0; i < n; i++) {
        if (!(shares[i] >= 0)) return 0;
        total += shares[i];
    }
    return total;
}

static int rff_read_distribution(rff_file *file, rff_model *model, uint32_t entry, rff_distribution *found)
{
    const rff_json *json = &file->header;
    const rff_node *nodes = json->nodes;
    const uint32_t missing = rff_value_of(json, entry, "missing"), levels = rff_value_of(json, entry, "levels");
    const uint32_t shares = rff_value_of(json, entry, "shares"), edges = rff_value_of(json, entry, "edges");
    const uint32_t values = rff_value_of(json, entry, "values"), of_values = rff_value_of(json, entry, "value_shares");
    uint32_t k, n_bins;
    if (!missing || !rff_is_number(json, missing) || !levels || nodes[levels].type != RFF_ARRAY || !edges
        || nodes[edges].type != RFF_ARRAY || !rff_keep_finite(file, model, shares, &found->shares))
        return 0;
    found->missing = rff_real_number(json, missing);
    n_bins = nodes[levels].count > nodes[edges].count ? nodes[levels].count : nodes[edges].count;
    if (!(found->missing >= 0 && found->missing <= 1) || nodes[shares].count != n_bins + 1) return 0;
    for (k = rff_first(json, levels); k; k = nodes[k].next)
        if (nodes[k].type != RFF_STRING) return 0;
    if (nodes[levels].count) {
        found->is_known = 1;
        return rff_total(found->shares, nodes[shares].count) > 0 && rff_make_room(file, model)
               && rff_keep_texts(file, model, levels, &found->levels);
    }
    found->is_known = 1; /* if only that nothing is */
    if (!values || nodes[values].type != RFF_ARRAY || !nodes[values].count) return 1;
    found->n_values = nodes[values].count;
    found->shares = NULL;
    if (!rff_keep_finite(file, model, values, &found->values)) return 0;
    if (!of_values || nodes[of_values].type == RFF_NULL) return 1;
    return rff_keep_finite(file, model, of_values, &found->shares) && nodes[of_values].count == found->n_values
           && fabs(rff_total(found->shares, found->n_values) - 1) <= 1e-6;
}

/* The distributions of the columns of a model, if its file has them and they are sound: scores do not need them.  0 if
   memory is out. */
static int rff_read_reference(rff_file *file, rff_model *model, size_t n_columns)
{
    const rff_json *json = &file->header;
    const uint32_t reference = rff_value_of(json, 0, "reference"), columns = rff_value_of(json, reference, "columns");
    rff_distribution *found;
    uint32_t k;
    size_t j = 0;
    if (!reference || !columns || json->nodes[columns].type != RFF_ARRAY || json->nodes[columns].count != n_columns)
        return 1;
    found = rff_own(model, n_columns, sizeof *found);
    RFF_REQUIRE_MEMORY(file, found);
    for (k = rff_first(json, columns); k; k = json->nodes[k].next, j++)
        if (json->nodes[k].type != RFF_NULL && !rff_read_distribution(file, model, k, found + j))
            return file->refusal.error == RFF_OK;
    model->distributions = found;
    return 1;
}

#endif
