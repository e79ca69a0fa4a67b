/* Column maps: rffkern/_column_map/fitted_column.py, fitted_map.py, transforms.py and compiled.py.
 *
 * The columns are read twice: to count outputs, then to keep them.
 */
#ifndef RFF_COLUMNS_H
#define RFF_COLUMNS_H

#include "rff_labels.h"

#define RFF_LARGEST_OUTPUT 1e30
#define RFF_LARGEST_KNOT 0x1p1022
#define RFF_LARGEST_FACTOR 1e250
#define RFF_SMALLEST_GAP 1e-290

/* Names of forms in files; a numeric one has the number of its kind, but for bins. */
enum { RFF_NAMED_BINS = 4, RFF_NAMED_MISSING, RFF_NAMED_LEVELS, RFF_NAMED_TARGET, RFF_NAMED_FREQUENCY, RFF_NAMED_TEXT,
       RFF_NAMED_PART, RFF_NAMED_DIFFERENCE = RFF_NAMED_PART + 3 };
static const char *const rff_form_names[] = {"raw", "standard", "bounded", "rank", "bins", "missing", "levels",
                                             "target", "frequency", "text", "hour", "weekday", "yearday",
                                             "difference"};
enum { RFF_FORM_NAMES = sizeof rff_form_names / sizeof rff_form_names[0] };

/* The map while it is read: numbers of which each form takes the next, and places for what is kept, or NULL. */
typedef struct {
    const double *numbers;
    size_t n_left, n_outputs, n_imputations, n_predictors, n_differences, n_values;
    size_t place; /* of the column that is read */
    rff_form *forms;
    rff_column *columns;
    rff_difference *differences;
    double divisor; /* of the numeric forms of a column */
    rff_imputation *imputations;
    uint32_t *predictors;
    double *neutral;
} rff_map_reader;

/* Sum of s, or of s (1 - s), in NumPy's order: pairwise, in eights. */
static double rff_sum_of_shares(const double *shares, size_t n, int spread)
{
    double sums[8] = {0}, total = 0;
    size_t i, half;
    volatile double term; /* rounded before it is added */
    if (n > 128) {
        half = n / 2 - n / 2 % 8;
        return rff_sum_of_shares(shares, half, spread) + rff_sum_of_shares(shares + half, n - half, spread);
    }
    for (i = 0; i < n / 8 * 8; i++) {
        term = spread ? shares[i] * (1 - shares[i]) : shares[i];
        sums[i % 8] += term;
    }
    total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    for (; i < n; i++) {
        term = spread ? shares[i] * (1 - shares[i]) : shares[i];
        total += term;
    }
    return total;
}

/* Keep an output of some value, or count it. */
static void rff_put_of(rff_map_reader *map, const rff_column *column, rff_form form, size_t source)
{
    form.source = source;
    if (map->forms) {
        if (column->kind == RFF_COLUMN_EMPTY) {
            form.kind = RFF_WITHIN;
            form.a = -INFINITY;
            form.b = INFINITY;
            form.c = form.d = form.missing;
        }
        map->forms[map->n_outputs] = form;
        map->neutral[map->n_outputs] = form.missing / form.divisor;
    }
    map->n_outputs++;
}

/* The same of the value of the column itself. */
static void rff_put(rff_map_reader *map, const rff_column *column, rff_form form)
{
    rff_put_of(map, column, form, map->place);
}

static int rff_are_shares(const double *shares, size_t n)
{
    size_t k;
    for (k = 0; k < n; k++)
        if (!(shares[k] > 0 && shares[k] < 1)) return 0;
    return n && rff_sum_of_shares(shares, n, 0) < 1 + 1e-9;
}

/* Indicators of groups, the k-th of which begins at edges[k - 1], or at k without edges. */
static void rff_put_groups(rff_map_reader *map, const rff_column *column, const double *shares, size_t n,
                           const double *edges, size_t n_edges, double divisor)
{
    rff_form form = {RFF_WITHIN, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0};
    const double spread = sqrt(rff_sum_of_shares(shares, n, 1));
    size_t k;
    form.divisor = divisor;
    for (k = 0; k < n; k++) {
        form.a = !edges ? (double)k : k ? edges[k - 1] : -INFINITY;
        form.b = !edges ? (double)k + 1 : k < n_edges ? edges[k] : INFINITY;
        form.c = (1 - shares[k]) / spread;
        form.d = (0 - shares[k]) / spread;
        rff_put(map, column, form);
    }
}

static int rff_read_bins(rff_file *file, rff_map_reader *map, const rff_column *column, size_t size)
{
    const size_t n_edges = size == 2 ? 1 : (size - 1) / 2, n_shares = size - n_edges;
    const double *edges = map->numbers, *shares = edges + n_edges;
    size_t k;
    RFF_REQUIRE(file, size == 2 || (size >= 5 && size % 2 == 1), "edges and shares of bins do not agree in number");
    RFF_REQUIRE(file, rff_are_shares(shares, n_shares), "shares of groups are not those of a whole");
    for (k = 1; k < n_edges; k++) RFF_REQUIRE(file, edges[k - 1] < edges[k], "edges of bins do not increase");
    rff_put_groups(map, column, shares, n_shares, edges, n_edges, map->divisor);
    return 1;
}

static int rff_read_rank(rff_file *file, rff_map_reader *map, const rff_column *column, size_t size)
{
    const size_t n = size / 2;
    const double *knots = map->numbers, *ranks = knots + n;
    rff_form form = {RFF_RANK, 0, 0, map->divisor, 0, 0, 0, 0, n, knots, ranks, 0};
    size_t k;
    RFF_REQUIRE(file, size >= 2 && size % 2 == 0, "knots and ranks differ in number");
    for (k = 0; k < n; k++) {
        RFF_REQUIRE(file, !k || (knots[k] - knots[k - 1] > RFF_SMALLEST_GAP && ranks[k] >= ranks[k - 1]),
                    "knots or ranks do not increase");
        RFF_REQUIRE(file, fabs(ranks[k]) <= RFF_LARGEST_OUTPUT && fabs(knots[k]) <= RFF_LARGEST_KNOT,
                    "knots or ranks are too large");
        form.c = fabs(ranks[k]) > form.c ? fabs(ranks[k]) : form.c;
    }
    rff_put(map, column, form);
    return 1;
}

static int rff_read_missing(rff_file *file, rff_map_reader *map, const rff_column *column, size_t size)
{
    const double share = size ? map->numbers[0] : 0;
    rff_form form = {RFF_WITHIN, 0, 0, 1, -INFINITY, INFINITY, 0, 0, 0, NULL, NULL, 0};
    RFF_REQUIRE(file, size == 1, "a form of missing values has 1 number");
    RFF_REQUIRE(file, share > 0 && share < 1, "the share of the missing is not that of a part");
    form.missing = 1 - share;
    form.c = form.d = 0 - share;
    rff_put(map, column, form);
    return 1;
}

/* Forms of a few numbers. */
static int rff_read_plain(rff_file *file, rff_map_reader *map, const rff_column *column, int kind, size_t size)
{
    static const size_t sizes[] = {1, 2, 4};
    const double *numbers = map->numbers;
    rff_form form = {0, 0, 0, 1, 0, 0, 0, 0, 0, NULL, NULL, 0};
    RFF_REQUIRE(file, size == sizes[kind], "a form has another number of numbers");
    form.kind = kind;
    form.divisor = map->divisor;
    if (kind == RFF_RAW) {
        form.missing = numbers[0];
    } else {
        form.a = numbers[0];
        form.b = numbers[1];
        form.c = kind == RFF_BOUNDED ? numbers[2] : 0;
        form.d = kind == RFF_BOUNDED ? numbers[3] : 1;
        RFF_REQUIRE(file, form.b > 0 && form.d > 0, "a deviation or width is not positive");
        form.d = kind == RFF_BOUNDED ? form.d : 0;
    }
    rff_put(map, column, form);
    return 1;
}

/* The scores of a text: the number of buckets, then shifts, idf and coefficients. */
static int rff_read_text_form(rff_file *file, rff_map_reader *map, rff_column *column, size_t size)
{
    const rff_form form = {RFF_RAW, 0, 0, 1, 0, 0, 0, 0, 0, NULL, NULL, 0};
    const double given = size ? map->numbers[0] : 0;
    const size_t n_buckets = given >= 1 << 10 && given <= 1 << 16 ? (size_t)given : 0;
    size_t k;
    RFF_REQUIRE(file, n_buckets && (double)n_buckets == given && !(n_buckets & (n_buckets - 1)),
                "the number of buckets of a text is malformed");
    RFF_REQUIRE(file, size - 1 > 2 * n_buckets && (size - 1 - n_buckets) % (1 + n_buckets) == 0,
                "buckets and coefficients of a text differ in number");
    for (k = 0; k < size; k++)
        RFF_REQUIRE(file, fabs(map->numbers[k]) <= RFF_LARGEST_OUTPUT, "coefficients of a text are too large");
    column->n_scores = (size - 1 - n_buckets) / (1 + n_buckets);
    column->first_score = map->n_values;
    for (column->n_bits = 10; n_buckets >> column->n_bits != 1; column->n_bits++) continue;
    column->text = map->numbers + 1;
    for (k = 0; k < column->n_scores; k++) rff_put_of(map, column, form, map->n_values++);
    return 1;
}

/* Forms of categories: indicators of levels, or the values that levels have. */
static int rff_read_levels(rff_file *file, rff_map_reader *map, const rff_column *column, int name, size_t size)
{
    rff_form form = {RFF_TABLE, 0, 0, 1, 0, 0, 0, 0, 0, NULL, NULL, 0};
    const size_t n = column->levels.n, n_groups = n + (size_t)column->has_rare, n_values = n + 1;
    size_t k;
    if (name == RFF_NAMED_LEVELS) {
        RFF_REQUIRE(file, rff_are_shares(map->numbers, size), "shares of groups are not those of a whole");
        RFF_REQUIRE(file, n < 2 ? size == 1 : n == 2 ? size == 1 || size == 3 : size == n || size == n + 1,
                    "levels and shares differ in number");
        RFF_REQUIRE(file, (size < n + 1 ? size : n + 1) == (n_groups == 2 ? 1 : n_groups),
                    "levels and shares differ in number");
        rff_put_groups(map, column, map->numbers, size, NULL, 0, 1);
        return 1;
    }
    RFF_REQUIRE(file, size && (name == RFF_NAMED_FREQUENCY ? size == n_values : size % n_values == 0),
                "levels and their values differ in number");
    for (k = 0; k < size; k++)
        RFF_REQUIRE(file, fabs(map->numbers[k]) <= RFF_LARGEST_OUTPUT, "values of levels are too large");
    form.c = (double)n;
    form.n_knots = n_values;
    form.stride = size / n_values;
    for (k = 0; k < form.stride; k++) {
        form.heights = map->numbers + k;
        rff_put(map, column, form);
    }
    return 1;
}

/* Seconds since another date of the row: the place of its column, and what standardises them. */
static int rff_read_difference(rff_file *file, rff_map_reader *map, const rff_column *column, size_t size)
{
    rff_form form = {RFF_STANDARD, 0, 0, 1, 0, 0, 0, 0, 0, NULL, NULL, 0};
    const double *numbers = map->numbers;
    rff_difference difference;
    RFF_REQUIRE(file, size == 3, "a form has another number of numbers");
    RFF_REQUIRE(file, numbers[0] >= 0 && numbers[0] < 2147483648.0 && numbers[0] == floor(numbers[0]),
                "the other column of a difference is malformed");
    RFF_REQUIRE(file, numbers[2] > 0, "a deviation is not positive");
    form.a = numbers[1];
    form.b = numbers[2];
    difference.value = map->n_values;
    difference.date = map->place;
    difference.other = (size_t)numbers[0];
    if (map->differences) map->differences[map->n_differences] = difference;
    map->n_differences++;
    rff_put_of(map, column, form, map->n_values++);
    return 1;
}

/* The sine and the cosine of a part of a date. */
static int rff_read_part(rff_file *file, rff_map_reader *map, const rff_column *column, int name, size_t size)
{
    rff_form form = {RFF_PART, 0, 0, 1, 0, 0.5, 0, 0, 0, NULL, NULL, 0};
    RFF_REQUIRE(file, size == 0, "a part of a date has no numbers");
    form.a = name - RFF_NAMED_PART;
    rff_put(map, column, form);
    form.b = 0;
    rff_put(map, column, form);
    return 1;
}

static int rff_read_form(rff_file *file, rff_map_reader *map, rff_column *column, int name, size_t size)
{
    const rff_column_kind kind = column->kind;
    const int fits = name == RFF_NAMED_MISSING || (name >= RFF_NAMED_PART ? kind == RFF_COLUMN_DATE
                     : name > RFF_NAMED_MISSING ? kind == RFF_COLUMN_CATEGORY : kind != RFF_COLUMN_CATEGORY);
    RFF_REQUIRE(file, fits, "a form is not known");
    if (name == RFF_NAMED_DIFFERENCE) return rff_read_difference(file, map, column, size);
    if (name >= RFF_NAMED_PART) return rff_read_part(file, map, column, name, size);
    if (name == RFF_NAMED_TEXT) return rff_read_text_form(file, map, column, size);
    if (name > RFF_NAMED_MISSING) return rff_read_levels(file, map, column, name, size);
    if (name == RFF_NAMED_MISSING) return rff_read_missing(file, map, column, size);
    if (name == RFF_NAMED_BINS) return rff_read_bins(file, map, column, size);
    if (name == RFF_RANK) return rff_read_rank(file, map, column, size);
    return rff_read_plain(file, map, column, name, size);
}

/* --- a column */

/* How text was read in training. */
static int rff_is_format(const rff_json *json, uint32_t index, rff_column_kind kind)
{
    const rff_node *node = json->nodes + index;
    const uint8_t *at = json->text + node->start;
    uint32_t first;
    if (node->type != RFF_STRING || !rff_is_printable(json, index)) return 0;
    if (node->start == node->end) return 1;
    if (kind == RFF_COLUMN_DATE) return rff_is_text(json, index, "dmy") || rff_is_text(json, index, "mdy");
    first = rff_next_char(&at);
    return kind == RFF_COLUMN_NUMERIC && (rff_is_text(json, index, "time") || rff_is_text(json, index, "duration")
                                          || first == '.' || first == ',');
}

/* Strings of an array, each with a 0 byte at its end, which belong to the model. */
static int rff_keep_texts(rff_file *file, rff_model *model, uint32_t array, rff_texts *texts)
{
    const rff_json *json = &file->header;
    rff_span *at;
    uint32_t k;
    texts->n = json->nodes[array].count;
    texts->at = at = rff_own(model, texts->n, sizeof *at);
    RFF_REQUIRE_MEMORY(file, at);
    for (k = rff_first(json, array); k; k = json->nodes[k].next, at++)
        at->at = (const uint8_t *)rff_keep_text(file, k, &at->size);
    return 1;
}

/* What the column keeps of its texts. */
static int rff_keep_column(rff_file *file, rff_model *model, uint32_t entry, rff_column *column)
{
    const rff_json *json = &file->header;
    size_t size;
    if (!rff_keep_texts(file, model, rff_value_of(json, entry, "levels"), &column->levels)
        || !rff_keep_texts(file, model, rff_value_of(json, entry, "words"), &column->words))
        return 0;
    column->dropped = rff_keep_text(file, rff_value_of(json, entry, "dropped"), &size);
    column->format = column->unit = rff_keep_text(file, rff_value_of(json, entry, "format"), &size);
    column->decimal = '.';
    if (column->kind == RFF_COLUMN_DATE || strcmp(column->format, "time") == 0
        || strcmp(column->format, "duration") == 0) column->decimal = 0;
    else if (*column->format) column->decimal = *column->unit++;
    return 1;
}

/* Its own facts beside forms and imputations. */
static int rff_read_facts(rff_file *file, uint32_t entry, rff_column *column)
{
    static const char *const keys[] = {"kind", "levels", "has_rare", "dropped", "forms", "imputations", "format", "words"};
    static const char *const kinds[] = {"numeric", "category", "date", "empty"};
    static const char malformed[] = "the levels of a column must be distinct, sorted text";
    const rff_json *json = &file->header;
    const rff_node *nodes = json->nodes;
    const uint32_t kind = rff_value_of(json, entry, "kind"), levels = rff_value_of(json, entry, "levels");
    const uint32_t has_rare = rff_value_of(json, entry, "has_rare"), dropped = rff_value_of(json, entry, "dropped");
    const uint32_t forms = rff_value_of(json, entry, "forms"), format = rff_value_of(json, entry, "format");
    const uint32_t words = rff_value_of(json, entry, "words");
    uint32_t k;
    RFF_REQUIRE(file, rff_has_keys(json, entry, keys, 8), "a column is malformed");
    for (k = 0; k < 4 && !rff_is_text(json, kind, kinds[k]); k++) continue;
    RFF_REQUIRE(file, k < 4 && (nodes[has_rare].type == RFF_FALSE || nodes[has_rare].type == RFF_TRUE)
                && nodes[dropped].type == RFF_STRING && rff_is_printable(json, dropped),
                "the kind of a column is malformed");
    memset(column, 0, sizeof *column);
    column->kind = (rff_column_kind)k;
    RFF_REQUIRE(file, nodes[levels].type == RFF_ARRAY, malformed);
    column->levels.n = nodes[levels].count;
    column->has_rare = nodes[has_rare].type == RFF_TRUE;
    column->is_used = nodes[forms].type == RFF_ARRAY && nodes[forms].count;
    RFF_REQUIRE(file, column->kind == RFF_COLUMN_CATEGORY || (!column->levels.n && !column->has_rare), malformed);
    for (k = rff_first(json, levels); k; k = nodes[k].next)
        RFF_REQUIRE(file, nodes[k].type == RFF_STRING && rff_is_printable(json, k)
                    && (!nodes[k].next || nodes[nodes[k].next].type != RFF_STRING
                        || rff_compare_text(json, nodes + k, nodes + nodes[k].next) < 0), malformed);
    RFF_REQUIRE(file, rff_is_format(json, format, column->kind) && nodes[words].type == RFF_ARRAY,
                "the format of a column is malformed");
    for (k = rff_first(json, words); k; k = nodes[k].next)
        RFF_REQUIRE(file, nodes[k].type == RFF_STRING && rff_is_printable(json, k),
                    "the format of a column is malformed");
    /* A column has forms or a reason; the first one has both where all are dropped. */
    RFF_REQUIRE(file, nodes[forms].type == RFF_ARRAY
                && ((column->kind == RFF_COLUMN_EMPTY && nodes[forms].count)
                    || (nodes[forms].count > 0) != (nodes[dropped].end > nodes[dropped].start)),
                "the forms of a column are malformed");
    return 1;
}

/* Name and number of numbers of a form. */
static int rff_read_form_entry(rff_file *file, uint32_t entry, int *name, int64_t *size)
{
    const rff_json *json = &file->header;
    const rff_node *nodes = json->nodes;
    RFF_REQUIRE(file, nodes[entry].type == RFF_ARRAY && nodes[entry].count == 2
                && rff_whole_number(json, nodes[entry + 1].next, 0, INT64_MAX, size),
                "the forms of a column are malformed");
    for (*name = 0; *name < RFF_FORM_NAMES && !rff_is_text(json, entry + 1, rff_form_names[*name]); (*name)++) continue;
    RFF_REQUIRE(file, *name < RFF_FORM_NAMES, "a form is not known");
    return 1;
}

static int rff_read_forms(rff_file *file, rff_map_reader *map, uint32_t list, rff_column *column, unsigned *found)
{
    const rff_json *json = &file->header;
    uint32_t entry;
    int name, n_numeric = 0;
    int64_t size;
    for (*found = 0, entry = rff_first(json, list); entry; entry = json->nodes[entry].next) {
        if (!rff_read_form_entry(file, entry, &name, &size)) return 0;
        RFF_REQUIRE(file, !(*found >> name & 1), "the forms of a column are malformed");
        *found |= 1u << name;
        n_numeric += name <= RFF_NAMED_BINS;
    }
    map->divisor = sqrt(n_numeric);
    for (entry = rff_first(json, list); entry; entry = json->nodes[entry].next) {
        if (!rff_read_form_entry(file, entry, &name, &size)) return 0;
        RFF_REQUIRE(file, (uint64_t)size <= map->n_left, "the columns and their numbers differ in number");
        if (!rff_read_form(file, map, column, name, (size_t)size)) return 0;
        map->numbers += size;
        map->n_left -= (size_t)size;
    }
    return 1;
}

static int rff_read_imputation(rff_file *file, rff_map_reader *map, uint32_t entry)
{
    static const char malformed[] = "an imputation is malformed";
    const rff_json *json = &file->header;
    const rff_node *nodes = json->nodes;
    uint32_t list, index;
    rff_imputation imputation;
    int64_t number;
    size_t k = 0;
    RFF_REQUIRE(file, nodes[entry].type == RFF_ARRAY && nodes[entry].count == 2
                && rff_whole_number(json, entry + 1, 0, INT32_MAX, &number)
                && nodes[list = nodes[entry + 1].next].type == RFF_ARRAY, malformed);
    imputation.output = (size_t)number;
    imputation.n_predictors = nodes[list].count;
    RFF_REQUIRE(file, map->n_left >= 2 && map->n_left - 2 >= imputation.n_predictors,
                "the columns and their numbers differ in number");
    imputation.low = map->numbers[0];
    imputation.high = map->numbers[1];
    imputation.factors = map->numbers + 2;
    imputation.predictors = map->predictors + (map->predictors ? map->n_predictors : 0);
    RFF_REQUIRE(file, imputation.low <= imputation.high, "an imputation is out of range");
    for (index = rff_first(json, list); index; index = nodes[index].next, k++) {
        RFF_REQUIRE(file, rff_whole_number(json, index, 0, INT32_MAX, &number), malformed);
        RFF_REQUIRE(file, fabs(imputation.factors[k]) <= RFF_LARGEST_FACTOR, "an imputation is out of range");
        if (map->predictors) map->predictors[map->n_predictors + k] = (uint32_t)number;
    }
    if (map->imputations) map->imputations[map->n_imputations] = imputation;
    map->n_imputations++;
    map->n_predictors += imputation.n_predictors;
    map->numbers += 2 + imputation.n_predictors;
    map->n_left -= 2 + imputation.n_predictors;
    return 1;
}

static int rff_read_column(rff_file *file, rff_model *model, rff_map_reader *map, uint32_t entry, size_t j)
{
    const rff_json *json = &file->header;
    const uint32_t imputations = rff_value_of(json, entry, "imputations");
    rff_column column;
    uint32_t imputation;
    unsigned found;
    map->place = j;
    if (!rff_read_facts(file, entry, &column)) return 0;
    if (map->columns && !rff_keep_column(file, model, entry, &column)) return 0;
    if (!rff_read_forms(file, map, rff_value_of(json, entry, "forms"), &column, &found)) return 0;
    if (map->columns) map->columns[j] = column;
    RFF_REQUIRE(file, json->nodes[imputations].type == RFF_ARRAY, "an imputation is malformed");
    RFF_REQUIRE(file, !json->nodes[imputations].count || found >> RFF_NAMED_MISSING & 1,
                "a column without missing values is filled in");
    for (imputation = rff_first(json, imputations); imputation; imputation = json->nodes[imputation].next)
        if (!rff_read_imputation(file, map, imputation)) return 0;
    return 1;
}

/* --- the map */

static int rff_check_differences(rff_file *file, const rff_column_map *map)
{
    size_t k;
    for (k = 0; k < map->n_differences; k++) {
        const size_t other = map->differences[k].other;
        RFF_REQUIRE(file, other < map->n_columns && other != map->differences[k].date
                    && map->columns[other].kind == RFF_COLUMN_DATE && map->columns[other].is_used,
                    "the other column of a difference has no dates");
    }
    return 1;
}

/* The column of each output, and where those of each column begin, are known by now. */
static int rff_check_imputations(rff_file *file, rff_model *model, const uint32_t *imputation_starts)
{
    const rff_column_map *map = &model->map;
    uint8_t *filled = rff_own(model, map->n_outputs, 1);
    size_t column, k, i;
    RFF_REQUIRE_MEMORY(file, filled);
    for (column = 0; column < map->n_columns; column++)
        for (k = imputation_starts[column]; k < imputation_starts[column + 1]; k++) {
            const rff_imputation *imputation = map->imputations + k;
            const uint32_t start = map->starts[column], stop = map->starts[column + 1];
            RFF_REQUIRE(file, imputation->output >= start && imputation->output < stop,
                        "an output of another column is filled in");
            RFF_REQUIRE(file, !filled[imputation->output]++, "an output is filled in twice");
            for (i = 0; i < imputation->n_predictors; i++)
                RFF_REQUIRE(file, imputation->predictors[i] < map->n_outputs
                            && (imputation->predictors[i] < start || imputation->predictors[i] >= stop),
                            "a missing value is told by its own column");
        }
    return 1;
}

/* Read all columns; `starts` get the first output and fill of each, unless they are NULL. */
static int rff_read_all_columns(rff_file *file, rff_model *model, rff_map_reader *map, uint32_t list, uint32_t *starts,
                                uint32_t *imputation_starts)
{
    uint32_t entry;
    size_t j = 0;
    for (entry = rff_first(&file->header, list); entry; entry = file->header.nodes[entry].next, j++) {
        if (starts) {
            starts[j] = (uint32_t)map->n_outputs;
            imputation_starts[j] = (uint32_t)map->n_imputations;
        }
        if (!rff_read_column(file, model, map, entry, j)) return 0;
    }
    if (starts) {
        starts[j] = (uint32_t)map->n_outputs;
        imputation_starts[j] = (uint32_t)map->n_imputations;
    }
    RFF_REQUIRE(file, map->n_left == 0, "the columns and their numbers differ in number");
    return 1;
}

/* Places for what was counted. */
static int rff_make_map(rff_file *file, rff_model *model, const rff_map_reader *counted, rff_map_reader *map,
                        uint32_t **starts, uint32_t **imputation_starts)
{
    rff_column_map *kept = &model->map;
    kept->n_values = counted->n_values;
    kept->n_outputs = counted->n_outputs;
    kept->n_imputations = counted->n_imputations;
    kept->n_differences = counted->n_differences;
    RFF_REQUIRE(file, kept->n_outputs > 0, "all columns are dropped");
    RFF_REQUIRE_AS(file, kept->n_outputs < INT32_MAX, RFF_E_UNSUPPORTED, "too many mapped columns");
    if (!rff_make_room(file, model)) return 0;
    map->forms = rff_own(model, kept->n_outputs, sizeof *map->forms);
    map->columns = rff_own(model, kept->n_columns, sizeof *map->columns);
    map->imputations = rff_own(model, kept->n_imputations, sizeof *map->imputations);
    map->predictors = rff_own(model, counted->n_predictors, sizeof *map->predictors);
    map->neutral = rff_own(model, kept->n_outputs, sizeof *map->neutral);
    map->differences = rff_own(model, kept->n_differences, sizeof *map->differences);
    *starts = rff_own(model, kept->n_columns + 1, sizeof **starts);
    *imputation_starts = rff_own(model, kept->n_columns + 1, sizeof **imputation_starts);
    RFF_REQUIRE_MEMORY(file, map->forms && map->columns && map->imputations && map->predictors);
    RFF_REQUIRE_MEMORY(file, map->neutral && map->differences && *starts && *imputation_starts);
    kept->forms = map->forms;
    kept->columns = map->columns;
    kept->imputations = map->imputations;
    kept->neutral = map->neutral;
    kept->differences = map->differences;
    kept->starts = *starts;
    return 1;
}

/* The map of a file, `columns` of its header. */
static int rff_read_map(rff_file *file, rff_model *model, uint32_t entry)
{
    static const char *const keys[] = {"params", "columns"};
    const rff_json *json = &file->header;
    const uint32_t list = rff_value_of(json, entry, "columns"), names = rff_value_of(json, 0, "feature_names");
    const rff_array *array = rff_find_array(file, "columns");
    rff_map_reader counted = {0}, map = {0};
    rff_column_map *kept = &model->map;
    uint32_t *starts, *imputation_starts;
    RFF_REQUIRE(file, rff_has_keys(json, entry, keys, 2) && json->nodes[list].type == RFF_ARRAY
                && json->nodes[rff_value_of(json, entry, "params")].type == RFF_OBJECT, "the columns are malformed");
    RFF_REQUIRE(file, array && array->n_dimensions == 1 && json->nodes[list].count,
                "the columns and their numbers differ in number");
    kept->n_columns = json->nodes[list].count;
    if (!rff_read_names(file, model, kept->n_columns)) return 0;
    if (model->feature_names && !rff_are_distinct(json, &file->refusal, names, "the feature names are repeated"))
        return 0;
    counted.numbers = map.numbers = rff_copy(model, array);
    counted.n_left = map.n_left = array->size;
    counted.n_values = map.n_values = kept->n_columns;
    RFF_REQUIRE_MEMORY(file, counted.numbers);
    if (!rff_read_all_columns(file, model, &counted, list, NULL, NULL)
        || !rff_make_map(file, model, &counted, &map, &starts, &imputation_starts)
        || !rff_read_all_columns(file, model, &map, list, starts, imputation_starts))
        return 0;
    model->has_map = 1;
    RFF_REQUIRE_MEMORY(file, rff_note_words(model));
    return rff_check_differences(file, kept) && rff_check_imputations(file, model, imputation_starts);
}

#endif
