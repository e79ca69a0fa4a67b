/* Score the rows of a file with a model, for tools/bits.py and tests/c_api.
 *
 *     score_rows MODEL 4|8 ROWS OUT      all answers, as doubles: scores, predictions, then probabilities if there are any
 *     score_rows MODEL cells ROWS OUT    the same for rows of cells
 *     score_rows MODEL 4|8 ROWS time     microseconds of one row, the best of some runs
 *
 * ROWS holds numbers of 4 or 8 bytes, row by row; or of each cell its kind, number and length, and then its text.  All rows are scored in one call, and then each alone: status 3 if
 * that is not the same to the last bit.
 */
#define _POSIX_C_SOURCE 199309L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rffkern.h"

typedef rff_error scorer(const rff_model *, rff_type, const void *, size_t, double *, void *, size_t);

static void *read_all(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes;
    if (!file || fseek(file, 0, SEEK_END)) exit(66);
    *size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(*size + 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size) exit(66);
    fclose(file);
    return bytes;
}

static void answer(scorer *score, const rff_model *model, rff_type type, const char *rows, size_t n, size_t n_bytes,
                   size_t n_out, FILE *out)
{
    const size_t size = rff_scratch_size(model, n);
    char *scratch = malloc(size + 1);
    double *all = malloc((n * n_out + 1) * sizeof(double)), *one = malloc((n_out + 1) * sizeof(double));
    size_t i;
    int error;
    if (!all || !one || !scratch) exit(70);
    error = score(model, type, rows, n, all, scratch + 1, size);
    for (i = 0; i < n && !error; i++) {
        error = score(model, type, rows + i * n_bytes, 1, one, scratch, size);
        if (!error && memcmp(one, all + i * n_out, n_out * sizeof(double))) exit(3);
    }
    if (error) {
        fprintf(stderr, "%s\n", rff_error_text(error));
        exit(65);
    }
    fwrite(all, sizeof(double), n * n_out, out);
    free(all);
    free(one);
    free(scratch);
}

/* The cells of a file, whose text is left where it is. */
static rff_cell *cells_of(const char *bytes, size_t size, size_t *n_cells)
{
    rff_cell *cells = calloc(size / 16 + 1, sizeof *cells);
    const char *at = bytes;
    if (!cells) exit(70);
    for (*n_cells = 0; at < bytes + size; ++*n_cells) {
        rff_cell *cell = cells + *n_cells;
        int32_t kind;
        uint32_t length;
        memcpy(&kind, at, 4);
        memcpy(&cell->number, at + 4, 8);
        memcpy(&length, at + 12, 4);
        cell->kind = (rff_cell_kind)kind;
        cell->text = at + 16;
        cell->length = length;
        at += 16 + length;
    }
    return cells;
}

static rff_error score_cells(const rff_model *model, rff_type type, const void *cells, size_t n, double *out,
                             void *scratch, size_t size)
{
    (void)type;
    return rff_score_cells(model, cells, n, out, scratch, size, NULL, NULL);
}

static rff_error predict_cells(const rff_model *model, rff_type type, const void *cells, size_t n, double *out,
                               void *scratch, size_t size)
{
    (void)type;
    return rff_predict_cells(model, cells, n, out, scratch, size, NULL, NULL);
}

static rff_error predict_proba_cells(const rff_model *model, rff_type type, const void *cells, size_t n, double *out,
                                     void *scratch, size_t size)
{
    (void)type;
    return rff_predict_proba_cells(model, cells, n, out, scratch, size, NULL, NULL);
}

static void measure(const rff_model *model, rff_type type, const char *rows, size_t n, size_t n_bytes, size_t n_out)
{
    const size_t size = rff_scratch_size(model, 1), n_calls = 20000;
    void *scratch = malloc(size);
    double *out = malloc(n_out * sizeof(double)), best = 1e9;
    size_t run, i;
    for (run = 0; run < 7; run++) {
        struct timespec start, stop;
        double each;
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (i = 0; i < n_calls; i++) rff_score(model, type, rows + i % n * n_bytes, 1, out, scratch, size);
        clock_gettime(CLOCK_MONOTONIC, &stop);
        each = ((double)(stop.tv_sec - start.tv_sec) * 1e6 + (double)(stop.tv_nsec - start.tv_nsec) / 1e3) / n_calls;
        best = each < best ? each : best;
    }
    printf("%.3f\n", best);
}

int main(int argc, char **argv)
{
    rff_model *model;
    rff_info info;
    const char *why;
    char *rows;
    size_t size, n_bytes, n;
    int are_cells;
    rff_type type;
    FILE *out;
    if (argc != 5) return 64;
    if (rff_load(argv[1], 0, &model, &why)) {
        fprintf(stderr, "%s\n", why);
        return 65;
    }
    rff_describe(model, &info, sizeof info);
    type = (rff_type)atoi(argv[2]);
    rows = read_all(argv[3], &size);
    n_bytes = info.n_features * (size_t)type;
    n = type ? size / n_bytes : 0;
    are_cells = !strcmp(argv[2], "cells");
    if (are_cells) {
        rows = (char *)cells_of(rows, size, &n);
        n_bytes = info.n_features * sizeof(rff_cell);
        n /= info.n_features;
    }
    if (!strcmp(argv[4], "time")) {
        measure(model, type, rows, n, n_bytes, info.n_outputs);
        return 0;
    }
    out = fopen(argv[4], "wb");
    if (!out) return 74;
    answer(are_cells ? score_cells : rff_score, model, type, rows, n, n_bytes, info.n_outputs, out);
    answer(are_cells ? predict_cells : rff_predict, model, type, rows, n, n_bytes, info.n_predictions, out);
    if (info.kind == RFF_CLASSIFIER)
        answer(are_cells ? predict_proba_cells : rff_predict_proba, model, type, rows, n, n_bytes, info.n_classes, out);
    rff_free(model);
    free(rows);
    return fclose(out) ? 74 : 0;
}
