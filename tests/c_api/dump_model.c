/* Print what the reader hands to the scorer of the model named by the argument, numbers in hexadecimal. */
#include "rffscore.c"

static void print_numbers(const char *name, const double *numbers, size_t n)
{
    size_t i;
    printf("%s", name);
    for (i = 0; i < n; i++) printf(" %a", numbers[i]);
    puts("");
}

static void print_whole(const char *name, const void *numbers, size_t n, int is_signed)
{
    size_t i;
    printf("%s", name);
    for (i = 0; i < n; i++)
        printf(" %lld", is_signed ? (long long)((const int32_t *)numbers)[i] : (long long)((const uint32_t *)numbers)[i]);
    puts("");
}

static void print_map(const rff_column_map *map)
{
    size_t k;
    print_whole("starts", map->starts, map->n_columns + 1, 0);
    for (k = 0; k < map->n_outputs; k++) {
        const rff_form *form = map->forms + k;
        printf("form %d %a %a %a %a %a %a %a %d\n", form->kind, form->missing, form->divisor, form->a, form->b, form->c,
               form->d, map->neutral[k], (int)form->n_knots);
        print_numbers("knots", form->knots, form->n_knots);
        print_numbers("heights", form->heights, form->n_knots);
    }
    for (k = 0; k < map->n_imputations; k++) {
        const rff_imputation *imputation = map->imputations + k;
        printf("imputation %d %a %a\n", (int)imputation->output, imputation->low, imputation->high);
        print_whole("predictors", imputation->predictors, imputation->n_predictors, 0);
        print_numbers("factors", imputation->factors, imputation->n_predictors);
    }
}

static void print_expansion(const rff_expansion *e)
{
    const size_t n_wide = e->n_terms * e->n_features, n_values = e->n_terms * e->n_outputs;
    size_t k;
    print_numbers("intercept", e->intercept, e->n_outputs);
    if (e->center) print_numbers("center", e->center, e->n_features);
    if (e->lower) {
        print_numbers("lower", e->lower, e->n_features);
        print_numbers("upper", e->upper, e->n_features);
    }
    if (e->kind == RFF_KERNEL) {
        print_numbers("centers", e->centers, n_wide);
        print_numbers("weights", e->weights, n_values);
        print_numbers("inverse_length_scales", e->inverse_length_scales, e->n_features);
        printf("exponent %a\n", e->shape == RFF_EXPONENTIAL ? 1.0 : 2.0);
        print_whole("region_columns", e->region_columns, e->n_regions - 1, 0);
        print_numbers("region_thresholds", e->region_thresholds, e->n_regions - 1);
        printf("region_starts");
        for (k = 0; k <= e->n_regions; k++)
            printf(" %d", e->region_starts ? (int)e->region_starts[k] : (int)(k * e->n_terms));
        puts("");
        return;
    }
    if (e->omegas) {
        print_numbers("omegas", e->omegas, n_wide);
        print_numbers("phases", e->phases, e->n_terms);
        print_numbers("amplitudes", e->amplitudes, n_values);
    }
    if (e->slopes) print_numbers("coefficients", e->slopes, e->n_features * e->n_outputs);
    if (!e->tree_columns) return;
    print_whole("tree_columns", e->tree_columns, e->n_trees * e->depth, 1);
    print_numbers("tree_thresholds", e->thresholds, e->n_trees * e->depth);
    print_whole("steps", e->steps, e->n_trees * e->depth, 1);
    print_whole("tree_starts", e->tree_starts, e->n_trees + 1, 0);
    print_numbers("unit", &e->tree_unit, 1);
    printf("values");
    for (k = 0; k < e->tree_starts[e->n_trees] * e->n_outputs; k++) printf(" %a", (double)e->tree_values[k]);
    puts("");
}

int main(int argc, char **argv)
{
    rff_model *model;
    if (argc != 2 || rff_load(argv[1], 0, &model, NULL) != RFF_OK) return 1;
    if (model->has_map) print_map(&model->map);
    if (model->kernels) print_expansion(&model->kernels->expansion); /* before the intercept of the terms */
    print_expansion(&model->expansion);
    printf("link %d %a\nprediction %d\n", model->link, model->slope, model->prediction);
    rff_free(model);
    return 0;
}
