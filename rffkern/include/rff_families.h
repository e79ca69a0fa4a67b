/* Families of models: what beside the expansion a file of each holds, and how scores are read (`_restored` and `_link`
 * of the classes in Python).
 *
 * Parameters of training are not looked at, but for those that say how the arrays of a file belong together.
 */
#ifndef RFF_FAMILIES_H
#define RFF_FAMILIES_H

#include "rff_expansions.h"
#include "rff_training.h"

#define RFF_MOST_BAGS 1000
#define RFF_MOST_ROUNDS 100000000
#define RFF_MOST_COMPONENTS 1000000
#define RFF_LEAST_QUANTILE 1e-6
#define RFF_LARGEST_QUANTILE (1 - 1e-6)
#define RFF_GAINS 8 /* reasons with kernels, */
#define RFF_ASKED 9
#define RFF_LAST_REASON 11 /* and the last of all */

static const char *const rff_of_rounds[] = {"train_loss_", "eval_loss_", "feature_importances_", NULL};
static const char *const rff_of_network[] = {"train_loss_", "eval_loss_", "relevances_", NULL};
static const char *const rff_of_machine[] = {"train_loss_", "eval_loss_", "kernel_parameters_", NULL};
static const char *const rff_of_boosting[] = {"train_loss_", "eval_loss_", "feature_importances_", "bag_counts_",
                                              "term_rounds_", "_kernel_ridge_report", NULL};
static const char *const rff_of_regression[] = {"kernel_parameters_", NULL};
static const char *const rff_of_slope[] = {"proba_slope_", NULL};

static uint32_t rff_parameter(const rff_file *file, const char *name)
{
    return rff_value_of(&file->header, rff_value_of(&file->header, 0, "params"), name);
}

static int rff_whole_parameter(rff_file *file, const char *name, int64_t most, size_t *value)
{
    const uint32_t index = rff_parameter(file, name);
    int64_t number;
    RFF_REQUIRE(file, index && rff_whole_number(&file->header, index, 1, most, &number),
                "a parameter that the arrays depend on is out of range");
    *value = (size_t)number;
    return 1;
}

/* Rounds kept by loss curves: up to the first of the lowest evaluation loss, or all. */
static int rff_count_rounds(rff_file *file, size_t *n_rounds)
{
    const rff_array *train = rff_find_array(file, "train_loss_"), *held_out = rff_find_array(file, "eval_loss_");
    size_t i, best = 0;
    RFF_REQUIRE(file, train->n_dimensions == 1 && held_out->n_dimensions == 1 && train->size
                && (held_out->size == 0 || held_out->size == train->size), "loss curves do not agree in number");
    for (i = 1; i < held_out->size; i++)
        if (rff_number(held_out, i) < rff_number(held_out, best)) best = i;
    *n_rounds = held_out->size ? best : train->size - 1;
    return 1;
}

static size_t rff_count_columns(const rff_model *model)
{
    return model->has_map ? model->map.n_columns : model->expansion.n_features;
}

static int rff_check_rounds(rff_file *file, rff_model *model, size_t n_components)
{
    const rff_expansion *expansion = &model->expansion;
    const rff_array *importances = rff_find_array(file, "feature_importances_");
    size_t n_rounds;
    if (!rff_count_rounds(file, &n_rounds)) return 0;
    RFF_REQUIRE(file, rff_is_shaped(importances, 1, rff_count_columns(model), 0),
                "columns and importances do not agree in number");
    RFF_REQUIRE(file, expansion->n_terms % expansion->n_outputs == 0
                && expansion->n_terms / expansion->n_outputs % n_components == 0
                && expansion->n_terms / expansion->n_outputs / n_components == n_rounds,
                "rounds and loss curves do not agree in number");
    return 1;
}

static int rff_check_cosines(rff_file *file, rff_model *model) { return rff_check_rounds(file, model, 1); }

static int rff_check_landmarks(rff_file *file, rff_model *model)
{
    return rff_whole_parameter(file, "n_components", RFF_MOST_COMPONENTS, &model->n_components)
           && rff_check_rounds(file, model, model->n_components);
}

static int rff_check_kernels(rff_file *file, rff_model *model)
{
    const size_t n_terms = model->expansion.n_terms;
    size_t n_landmarks;
    if (!rff_whole_parameter(file, "n_components", RFF_MOST_COMPONENTS, &model->n_components)
        || !rff_whole_parameter(file, "n_landmarks", RFF_MOST_ROUNDS, &n_landmarks))
        return 0;
    RFF_REQUIRE(file, n_terms % model->n_components == 0 && n_terms / model->n_components == n_landmarks,
                "landmarks and terms do not agree in number");
    return 1;
}

static int rff_check_slope(rff_file *file, rff_model *model)
{
    const rff_array *slope = rff_find_array(file, "proba_slope_");
    RFF_REQUIRE(file, rff_is_shaped(slope, 1, 1, 0) && rff_number(slope, 0) > 0,
                "the slope of the probabilities is not one positive number");
    model->slope = rff_number(slope, 0);
    return rff_check_kernels(file, model);
}

static int rff_check_transformer(rff_file *file, rff_model *model)
{
    RFF_REQUIRE(file, model->expansion.n_outputs == 1, "features are the terms of one output");
    return rff_check_kernels(file, model);
}

static int rff_check_network(rff_file *file, rff_model *model)
{
    const rff_array *train = rff_find_array(file, "train_loss_"), *held_out = rff_find_array(file, "eval_loss_");
    const rff_array *relevances = rff_find_array(file, "relevances_");
    size_t j;
    RFF_REQUIRE(file, train->n_dimensions == 1 && held_out->n_dimensions == 1
                && (held_out->size == 0 || held_out->size == train->size), "loss curves do not agree in number");
    RFF_REQUIRE(file, rff_is_shaped(relevances, 1, model->expansion.n_features, 0), "relevances are malformed");
    for (j = 0; j < relevances->size; j++)
        RFF_REQUIRE(file, rff_number(relevances, j) >= 0, "relevances are malformed");
    return 1;
}

/* Lambda and others, then the length scales: positive but for a bias, which may be 0. */
static int rff_check_kernel(rff_file *file, const rff_model *model, size_t n_others)
{
    const rff_array *kernel = rff_find_array(file, "kernel_parameters_");
    size_t j;
    RFF_REQUIRE(file, rff_is_shaped(kernel, 1, n_others + model->expansion.n_features, 0),
                "kernel parameters are malformed");
    for (j = 0; j < kernel->size; j++)
        RFF_REQUIRE(file, n_others > 1 && j == 2 ? rff_number(kernel, j) >= 0 : rff_number(kernel, j) > 0,
                    "kernel parameters are malformed");
    return 1;
}

static int rff_check_regression(rff_file *file, rff_model *model) { return rff_check_kernel(file, model, 1); }

static int rff_check_machine(rff_file *file, rff_model *model)
{
    const rff_expansion *expansion = &model->expansion;
    size_t n_rounds, n_estimators, basis_size;
    if (!rff_count_rounds(file, &n_rounds) || !rff_whole_parameter(file, "n_estimators", RFF_MOST_ROUNDS, &n_estimators)
        || !rff_whole_parameter(file, "basis_size", RFF_MOST_COMPONENTS, &basis_size))
        return 0;
    RFF_REQUIRE(file, n_rounds <= n_estimators && (double)expansion->n_terms <= (double)n_rounds * (double)basis_size,
                "centers, rounds and basis_size do not agree");
    return rff_check_kernel(file, model, 3);
}

/* Bags that keep at least 0, 1, 2, ... rounds: whole numbers that do not grow. */
static int rff_check_bags(rff_file *file, size_t n_rounds)
{
    const rff_array *counts = rff_find_array(file, "bag_counts_");
    double before = RFF_MOST_BAGS;
    size_t i;
    RFF_REQUIRE(file, counts->n_dimensions == 1 && counts->size == n_rounds + 1,
                "bags and loss curves do not agree in number");
    for (i = 0; i < counts->size; i++) {
        const double count = rff_number(counts, i);
        RFF_REQUIRE(file, count == floor(count) && count >= 1 && count <= before,
                    "bags and loss curves do not agree in number");
        before = count;
    }
    return 1;
}

/* Whether a kernel ridge regression is stacked on the terms, and the numbers that decided it: fourier_boosting/parameters.py. */
static int rff_check_kernel_ridge_report(rff_file *file, const rff_model *model)
{
    const rff_array *choice = rff_find_array(file, "_kernel_ridge_report");
    const int has_kernels = model->kernels != NULL || model->expansion.kind == RFF_KERNEL;
    double reason;
    int is_sound = 1;
    size_t i;
    RFF_REQUIRE(file, rff_is_shaped(choice, 1, 6, 0), "the report on kernel ridge is malformed");
    reason = rff_number(choice, 0);
    for (i = 0; i < choice->size; i++) is_sound &= rff_number(choice, i) >= 0;
    is_sound &= reason <= RFF_LAST_REASON && reason == floor(reason);
    RFF_REQUIRE(file, is_sound && has_kernels == (reason == RFF_GAINS || reason == RFF_ASKED),
                "the report on kernel ridge is malformed");
    return 1;
}

static int rff_check_boosting(rff_file *file, rff_model *model)
{
    const rff_array *train = rff_find_array(file, "train_loss_"), *held_out = rff_find_array(file, "eval_loss_");
    const rff_array *importances = rff_find_array(file, "feature_importances_");
    const rff_array *rounds = rff_find_array(file, "term_rounds_");
    const rff_expansion *e = &model->expansion;
    size_t i;
    RFF_REQUIRE(file, train->n_dimensions == 1 && held_out->n_dimensions == 1 && train->size
                && train->size == held_out->size, "loss curves do not agree in number");
    if (!rff_check_bags(file, train->size - 1) || !rff_check_kernel_ridge_report(file, model)) return 0;
    RFF_REQUIRE(file, rff_is_shaped(importances, 1, rff_count_columns(model), 0),
                "columns and importances do not agree in number");
    RFF_REQUIRE(file, rff_is_shaped(rounds, 1, rff_count_boosted(e), 0),
                "rounds and terms do not agree in number");
    for (i = 0; i < rounds->size; i++) {
        const double round = rff_number(rounds, i);
        RFF_REQUIRE(file, round == floor(round) && round >= 0 && round <= (double)(train->size - 1),
                    "rounds and terms do not agree in number");
    }
    return 1;
}

/* The quantiles: one, or several in ascending order. */
static int rff_read_quantiles(rff_file *file, rff_model *model, size_t *n_quantiles)
{
    const rff_json *json = &file->header;
    const uint32_t given = rff_parameter(file, "quantile");
    uint32_t each = given && json->nodes[given].type == RFF_ARRAY ? rff_first(json, given) : given;
    double before = 0, *quantiles = rff_own(model, json->nodes[given].count + (size_t)1, sizeof *quantiles);
    RFF_REQUIRE_MEMORY(file, quantiles);
    for (*n_quantiles = 0; each; each = each == given ? 0 : json->nodes[each].next) {
        const double quantile = json->nodes[each].type == RFF_FRACTION ? rff_real_number(json, each) : 0;
        RFF_REQUIRE(file, quantile >= RFF_LEAST_QUANTILE && quantile <= RFF_LARGEST_QUANTILE
                    && quantile > before, "quantiles must be numbers from 0 to 1, in ascending order");
        quantiles[(*n_quantiles)++] = before = quantile;
    }
    RFF_REQUIRE(file, *n_quantiles, "quantiles must be numbers from 0 to 1, in ascending order");
    model->quantiles = quantiles;
    return 1;
}

/* Losses by name (`LOSSES` of fourier_boosting/parameters.py), and what `predict` makes of scores: of several quantiles
   of one target the smallest. */
static const struct {
    const char *name;
    rff_prediction prediction;
} rff_losses[] = {
    {"squared_error", RFF_IDENTITY}, {"absolute_error", RFF_IDENTITY},  {"huber", RFF_IDENTITY},
    {"quantile", RFF_SMALLEST},      {"poisson", RFF_EXPONENTIATED},    {"gamma", RFF_EXPONENTIATED},
    {"tweedie", RFF_EXPONENTIATED},
};

static int rff_check_boosted_targets(rff_file *file, rff_model *model)
{
    const size_t n_losses = sizeof rff_losses / sizeof rff_losses[0];
    const uint32_t loss = rff_parameter(file, "loss");
    size_t n_quantiles, k;
    for (k = 0; k < n_losses && !(loss && rff_is_text(&file->header, loss, rff_losses[k].name)); k++) continue;
    RFF_REQUIRE(file, k < n_losses, "the loss is not known");
    if (!rff_read_quantiles(file, model, &n_quantiles)) return 0;
    model->prediction = rff_losses[k].prediction;
    if (model->prediction == RFF_SMALLEST) {
        RFF_REQUIRE(file, n_quantiles == 1 || n_quantiles == model->expansion.n_outputs,
                    "quantiles and outputs do not agree in number");
        if (n_quantiles == 1) model->prediction = RFF_IDENTITY;
    }
    return rff_check_boosting(file, model);
}

typedef struct {
    const char *name, *class_name;
    rff_kind kind;
    int parts; /* that it has, as bits; 0 for any */
    rff_link link;
    double slope;
    const char *const *arrays; /* beside those of the expansion */
    int (*check)(rff_file *file, rff_model *model);
} rff_family;

enum { RFF_COSINES = 1 << RFF_PART_FOURIER, RFF_KERNELS = 1 << RFF_PART_KERNELS };

static const rff_family rff_families[] = {
    {"expansion", "Expansion", RFF_FUNCTION, 0, RFF_NO_LINK, 0, NULL, NULL},
    {"column_map", "ColumnMap", RFF_COLUMN_MAP, 0, RFF_NO_LINK, 0, NULL, NULL},
    {"fourier_boosting", "FourierBoostingClassifier", RFF_CLASSIFIER, 0, RFF_SOFTMAX, 1, rff_of_boosting,
     rff_check_boosting},
    {"fourier_boosting_regressor", "FourierBoostingRegressor", RFF_REGRESSOR, 0, RFF_NO_LINK, 0,
     rff_of_boosting, rff_check_boosted_targets},
    {"gbrff", "GBRFFClassifier", RFF_CLASSIFIER, RFF_COSINES, RFF_LINEAR, 0, rff_of_rounds, rff_check_landmarks},
    {"gbrff1", "GBRFF1Classifier", RFF_CLASSIFIER, RFF_COSINES, RFF_LOGISTIC, 2, rff_of_rounds, rff_check_landmarks},
    {"gbrff2", "GBRFF2Classifier", RFF_CLASSIFIER, RFF_COSINES, RFF_LOGISTIC, 2, rff_of_rounds, rff_check_cosines},
    {"gbrff_regressor", "GBRFFRegressor", RFF_REGRESSOR, RFF_COSINES, RFF_NO_LINK, 0, rff_of_rounds, rff_check_landmarks},
    {"kernel_ridge", "KernelRidgeClassifier", RFF_CLASSIFIER, RFF_KERNELS, RFF_SOFTMAX, 1, rff_of_regression,
     rff_check_regression},
    {"kernel_ridge_regressor", "KernelRidgeRegressor", RFF_REGRESSOR, RFF_KERNELS, RFF_NO_LINK, 0,
     rff_of_regression, rff_check_regression},
    {"pbrff", "PBRFFClassifier", RFF_CLASSIFIER, RFF_COSINES, RFF_LOGISTIC, 0, rff_of_slope, rff_check_slope},
    {"pbrff_transformer", "PBRFFTransformer", RFF_TRANSFORMER, RFF_COSINES, RFF_NO_LINK, 0, NULL,
     rff_check_transformer},
    {"rffnet", "RFFNetClassifier", RFF_CLASSIFIER, RFF_COSINES, RFF_SOFTMAX, 1, rff_of_network, rff_check_network},
    {"rffnet_regressor", "RFFNetRegressor", RFF_REGRESSOR, RFF_COSINES, RFF_NO_LINK, 0, rff_of_network,
     rff_check_network},
    {"sparse_kernel", "SparseKernelClassifier", RFF_CLASSIFIER, RFF_KERNELS, RFF_SOFTMAX, 1, rff_of_machine,
     rff_check_machine},
    {"sparse_kernel_regressor", "SparseKernelRegressor", RFF_REGRESSOR, RFF_KERNELS, RFF_NO_LINK, 0, rff_of_machine,
     rff_check_machine},
};

/* --- a model */

static void rff_fill_info(rff_model *model, const rff_family *family)
{
    const rff_expansion *expansion = &model->expansion;
    rff_info *info = &model->info;
    info->kind = family->kind;
    info->family = family->name;
    info->class_name = family->class_name;
    info->takes_missing = model->has_map;
    info->n_mapped = model->has_map ? model->map.n_outputs : expansion->n_features;
    info->n_features = model->has_map ? model->map.n_columns : expansion->n_features;
    info->n_terms = rff_count_terms(model);
    info->n_outputs = family->kind == RFF_COLUMN_MAP ? model->map.n_outputs : expansion->n_outputs;
    info->n_predictions = info->n_classes || model->prediction == RFF_SMALLEST ? 1 : info->n_outputs;
    if (model->link == RFF_NO_LINK) model->link = family->link;
    model->slope = family->slope > 0 ? family->slope : model->slope;
}

/* Whether the parameter `columns` and the map agree: "auto" may have led to one or to none. */
static int rff_check_choice(rff_file *file, int has_map)
{
    const rff_json *json = &file->header;
    const uint32_t params = rff_value_of(json, 0, "params"), columns = rff_value_of(json, params, "columns");
    RFF_REQUIRE(file, json->nodes[params].type == RFF_OBJECT, "the parameters are malformed");
    RFF_REQUIRE(file, columns && (rff_is_text(json, columns, "auto")
                || json->nodes[columns].type == (has_map ? RFF_OBJECT : RFF_NULL)),
                "the parameter columns and the columns do not agree");
    return 1;
}

static int rff_read_model(rff_file *file, rff_model *model, const rff_family *family)
{
    const rff_json *json = &file->header;
    const rff_expansion *expansion = &model->expansion;
    const uint32_t columns = rff_value_of(json, 0, "columns");
    const int has_map = json->nodes[columns].type != RFF_NULL;
    if (!rff_check_array_names(file, family->arrays, has_map)) return 0;
    RFF_REQUIRE(file, family->parts == 0 || family->parts == rff_parts_of(file),
                "the parts are not those of the family");
    if ((has_map && !rff_read_map(file, model, columns)) || !rff_read_expansion(file, model)
        || !rff_check_choice(file, has_map))
        return 0;
    if (!has_map && !rff_read_names(file, model, expansion->n_features)) return 0;
    RFF_REQUIRE(file, !has_map || model->map.n_outputs == expansion->n_features,
                "columns and expansion do not agree in number");
    if (family->kind == RFF_CLASSIFIER) {
        if (!rff_read_labels(file, model)) return 0;
        RFF_REQUIRE(file, expansion->n_outputs == (model->info.n_classes == 2 ? 1 : model->info.n_classes),
                    "labels and outputs do not agree in number");
    } else {
        RFF_REQUIRE(file, json->nodes[rff_value_of(json, 0, "classes")].type == RFF_NULL,
                    "a model without classes holds some");
    }
    return family->check(file, model) && rff_read_out_of_fold(file, model, family->kind == RFF_CLASSIFIER)
           && rff_read_reference(file, model, rff_count_columns(model));
}

static int rff_read_bare_map(rff_file *file, rff_model *model)
{
    const rff_json *json = &file->header;
    const rff_node *params = json->nodes + rff_value_of(json, 0, "params");
    RFF_REQUIRE(file, file->n_arrays == 1 && params->type == RFF_OBJECT && !params->count
                && json->nodes[rff_value_of(json, 0, "classes")].type == RFF_NULL, "a ColumnMap has columns alone");
    return rff_read_map(file, model, rff_value_of(json, 0, "columns"));
}

/* The name of what is predicted, of the metadata that `rffkern fit` and others write. */
static int rff_read_target(rff_file *file, rff_model *model)
{
    const rff_json *json = &file->header;
    const uint32_t metadata = rff_value_of(json, 0, "metadata");
    const uint32_t target = metadata ? rff_value_of(json, metadata, "target") : 0;
    size_t size;
    if (!target || json->nodes[target].type != RFF_STRING || !rff_is_printable(json, target)) return 1;
    if (!rff_make_room(file, model)) return 0;
    model->info.target = rff_keep_text(file, target, &size);
    return 1;
}

/* The model that a file holds. */
static int rff_build(rff_file *file, rff_model *model)
{
    const size_t n_families = sizeof rff_families / sizeof rff_families[0];
    const rff_json *json = &file->header;
    const rff_family *family = rff_families;
    size_t k;
    int done;
    for (k = 0; k < n_families && !rff_is_text(json, rff_value_of(json, 0, "family"), family->name); k++) family++;
    RFF_REQUIRE(file, k < n_families, "the family is not known");
    RFF_REQUIRE(file, rff_is_text(json, rff_value_of(json, 0, "class"), family->class_name),
                "class and family do not agree");
    if (family->kind == RFF_COLUMN_MAP) {
        done = rff_read_bare_map(file, model);
    } else if (family->kind == RFF_FUNCTION) {
        done = rff_check_array_names(file, NULL, 0) && rff_read_expansion(file, model);
    } else {
        done = rff_read_model(file, model, family);
    }
    if (!done || !rff_read_target(file, model)) return 0;
    RFF_REQUIRE_AS(file, !file->unsupported, RFF_E_UNSUPPORTED, file->unsupported);
    model->info.format_version = (int32_t)file->version;
    rff_fill_info(model, family);
    return 1;
}

#endif
