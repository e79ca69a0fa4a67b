/* Read models from standard input, each a length of 8 bytes, little-endian, and so many bytes; answer with a line for
 * each, the code of the error and why.  Those that are accepted are described, and score rows.
 */
#include "rffscore.c"

static rff_error look_at(const rff_model *model)
{
    rff_info info;
    rff_label label;
    size_t k, n_bytes = 0;
    rff_error error = rff_describe(model, &info, sizeof info);
    for (k = 0; k < info.n_classes && error == RFF_OK; k++) {
        error = rff_get_label(model, k, &label);
        if (label.kind == RFF_TEXT) n_bytes += strlen(label.text) != label.length;
    }
    for (k = 0; k < info.n_features && info.has_feature_names; k++) n_bytes += !rff_feature_name(model, k);
    return error != RFF_OK || n_bytes ? RFF_E_ARGUMENT : RFF_OK;
}

/* Whether all answers at a few rows are finite; rows of zeros, then of a number that is large in both precisions. */
static int score_rows(const rff_model *model)
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
    rff_describe(model, &info, sizeof info);
    size = rff_scratch_size(model, N_ROWS);
    n_out = N_ROWS * (info.n_outputs > info.n_classes ? info.n_outputs : info.n_classes);
    rows = calloc(N_ROWS * info.n_features, sizeof *rows);
    single = calloc(N_ROWS * info.n_features, sizeof *single);
    out = calloc(n_out, sizeof *out);
    scratch = malloc(size ? size : 1);
    if (!rows || !single || !out || !scratch) return 0;
    for (kind = 0; kind < 2; kind++) {
        for (i = 0; i < N_ROWS * info.n_features; i++) single[i] = (float)(rows[i] = values[kind]);
        finite &= rff_score(model, RFF_FLOAT64, rows, N_ROWS, out, scratch, size) == RFF_OK;
        for (i = 0; i < N_ROWS * info.n_outputs; i++) finite &= isfinite(out[i]) != 0;
        finite &= rff_score(model, RFF_FLOAT32, single, N_ROWS, out, scratch, size) == RFF_OK;
        finite &= rff_predict(model, RFF_FLOAT64, rows, N_ROWS, out, scratch, size) == RFF_OK;
        for (i = 0; i < N_ROWS * info.n_predictions; i++) finite &= isfinite(out[i]) != 0;
        if (!info.n_classes) continue;
        finite &= rff_predict_proba(model, RFF_FLOAT32, single, N_ROWS, out, scratch, size) == RFF_OK;
        for (i = 0; i < N_ROWS * info.n_classes; i++) finite &= out[i] >= 0 && out[i] <= 1;
    }
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
