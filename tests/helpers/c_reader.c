/* Read models from standard input, each a length of 8 bytes, little-endian, and so many bytes; answer with a line for
 * each, the code of the error and why.  Those that are accepted are described, and score and explain rows of numbers
 * and of cells.
 */
#include "rffscore.c"

static rff_error look_at(const rff_model *model)
{
    rff_info info;
    rff_label label;
    rff_column_info column;
    const char *level;
    size_t k, j, length, n_bytes = 0;
    rff_error error = rff_describe(model, &info, sizeof info);
    for (k = 0; k < info.n_classes && error == RFF_OK; k++) {
        error = rff_get_label(model, k, &label);
        if (label.kind == RFF_TEXT) n_bytes += strlen(label.text) != label.length;
    }
    for (k = 0; k < info.n_features && info.has_feature_names; k++) n_bytes += !rff_feature_name(model, k);
    for (k = 0; k < info.n_features && error == RFF_OK; k++) {
        error = rff_describe_column(model, k, &column, sizeof column);
        if (column.name) n_bytes += rff_find_column(model, column.name, strlen(column.name)) > k;
        n_bytes += strlen(column.format) + strlen(column.dropped) > RFF_MAX_HEADER;
        for (j = 0; j < column.n_levels && error == RFF_OK; j++) {
            error = rff_get_level(model, k, j, &level, &length);
            n_bytes += strlen(level) != length;
        }
    }
    if (info.takes_words) n_bytes += strlen(info.takes_words) < 20;
    if (info.target) n_bytes += strlen(info.target) > RFF_MAX_HEADER;
    return error != RFF_OK || n_bytes ? RFF_E_ARGUMENT : RFF_OK;
}

#ifndef RFF_READER_ONLY
/* Whether all answers at rows of some texts are finite, where cells that are refused are 0, or missing for dates. */
static int score_cells(const rff_model *model, const rff_info *info, double *out, void *scratch, size_t size)
{
    static const char *const texts[] = {
        "", " \t", "NA", "-nan", "+nan", "1e999", "-inf", "5", "-.5e-300", "1,234.5 kg", "1.234,5 \xe2\x82\xac", "($12)", "12 %",
        "2024-02-29 12:30:15.5+02:00", "3/4/2024", "Sun, 3 Mar 2024 10:00 PM", "12:30", "yes", "0", "007", "\xff\xfe",
        "\xc3", "a\xcc\x88", "bright \xce\xa3\xce\xa3 \xc4\xb0x, bright",
        "\xe3\x80\x80x\xe3\x80\x80", "123456789012345678901234567890123456789012345678901234567890123456.5"};
    enum { N_TEXTS = sizeof texts / sizeof texts[0] };
    rff_cell *cells = calloc(N_TEXTS * info->n_features, sizeof *cells);
    size_t row, i, j, column, place;
    int finite = 1;
    if (!cells) return 0;
    for (row = 0; row < N_TEXTS; row++) {
        rff_error error = RFF_OK;
        for (j = 0; j < info->n_features; j++) {
            const char *text = texts[(row + j) % N_TEXTS];
            rff_column_info about;
            size_t length = strlen(text);
            rff_describe_column(model, j, &about, sizeof about);
            if (about.n_levels && row % 2) rff_get_level(model, j, row % about.n_levels, &text, &length);
            cells[j].kind = RFF_CELL_TEXT;
            cells[j].text = memcpy(malloc(length ? length : 1), text, length); /* of just this size */
            cells[j].length = length;
        }
        do {
            error = rff_score_cells(model, cells, 1, out, scratch, size, &place, &column);
            if (error != RFF_E_ROWS && error != RFF_E_CELL) break;
            cells[column].kind = cells[column].kind == RFF_CELL_TEXT ? RFF_CELL_NUMBER : RFF_CELL_MISSING;
        } while (1);
        for (j = 0; j < info->n_features; j++) free((void *)cells[j].text);
        finite &= error == RFF_OK;
        for (i = 0; i < info->n_outputs; i++) finite &= isfinite(out[i]) != 0;
    }
    memset(cells, 0, N_TEXTS * info->n_features * sizeof *cells); /* all missing */
    if (info->takes_missing && rff_base_values(model))
        finite &= rff_explain_cells(model, cells, 1, out, scratch, size, NULL, NULL) == RFF_OK;
    finite &= rff_predict_cells(model, cells, N_TEXTS, NULL, scratch, size, NULL, NULL) == RFF_E_ARGUMENT;
    if (info->takes_missing) finite &= rff_score_cells(model, cells, 1, out, scratch, size, NULL, NULL) == RFF_OK;
    free(cells);
    return finite;
}
#endif

/* Whether all answers at a few rows are finite; rows of zeros, then of a number that is large in both precisions. */
static int score_rows(rff_model *model)
{
    int finite = 1;
#ifndef RFF_READER_ONLY
    enum { N_ROWS = 9 }; /* more than are scored one by one */
    static const double values[] = {0, 1e20};
    rff_info info;
    size_t size, i, kind, n_out;
    double *rows, *out;
    float *single;
    void *scratch;
    rff_prepare_explanations(model, NULL);
    rff_describe(model, &info, sizeof info);
    size = rff_scratch_size(model, N_ROWS);
    n_out = N_ROWS * ((info.n_features + 2) * info.n_outputs + info.n_classes);
    rows = calloc(N_ROWS * info.n_features, sizeof *rows);
    single = calloc(N_ROWS * info.n_features, sizeof *single);
    out = calloc(n_out, sizeof *out);
    scratch = malloc(size ? size : 1);
    if (!rows || !single || !out || !scratch) return 0;
    for (kind = 0; kind < 2; kind++) {
        for (i = 0; i < N_ROWS * info.n_features; i++) single[i] = (float)(rows[i] = values[kind]);
        if (rff_score(model, RFF_FLOAT64, rows, N_ROWS, out, scratch, size) == RFF_E_WORDS && info.takes_words) break;
        finite &= rff_score(model, RFF_FLOAT64, rows, N_ROWS, out, scratch, size) == RFF_OK;
        for (i = 0; i < N_ROWS * info.n_outputs; i++) finite &= isfinite(out[i]) != 0;
        finite &= rff_score(model, RFF_FLOAT32, single, N_ROWS, out, scratch, size) == RFF_OK;
        finite &= rff_predict(model, RFF_FLOAT64, rows, N_ROWS, out, scratch, size) == RFF_OK;
        for (i = 0; i < N_ROWS * info.n_predictions; i++) finite &= isfinite(out[i]) != 0;
        rff_predict_interval(model, 0.5, RFF_FLOAT64, rows, N_ROWS, out, scratch, size);
        if (rff_base_values(model))
            finite &= rff_explain(model, RFF_FLOAT32, single, N_ROWS, out, scratch, size) == RFF_OK;
        if (!info.n_classes) continue;
        finite &= rff_predict_proba(model, RFF_FLOAT32, single, N_ROWS, out, scratch, size) == RFF_OK;
        for (i = 0; i < N_ROWS * info.n_classes; i++) finite &= out[i] >= 0 && out[i] <= 1;
    }
    finite &= score_cells(model, &info, out, scratch, size);
    free(rows);
    free(single);
    free(out);
    free(scratch);
#else
    (void)model;
#endif
    return finite;
}

int main(void)
{
    uint8_t head[8];
    while (fread(head, 1, 8, stdin) == 8) {
        const size_t size = (size_t)rff_little64(head);
        uint8_t *bytes = malloc(size ? size : 1); /* of just this size, so that what is read beyond shows */
        const char *why;
        rff_model *model;
        rff_error error;
        if (!bytes || fread(bytes, 1, size, stdin) != size) return 1;
        error = rff_load_memory(bytes, size, &model, &why);
        free(bytes); /* before the model is looked at */
        if (error == RFF_OK && look_at(model) != RFF_OK) return 1;
        if (error == RFF_OK && !score_rows(model)) {
            fputs("answers at rows of one number are not finite\n", stderr);
            return 1;
        }
        rff_free(model);
        printf("%d %s\n", error, why ? why : "");
        fflush(stdout);
    }
    return 0;
}
