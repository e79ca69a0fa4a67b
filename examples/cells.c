/* Answers for one row of a CSV file with words, dates and gaps: prints the label or prediction, and the scores.
 *
 *     inc=$(python -c "import rffkern; print(rffkern.get_include())")
 *     cc -O2 -I$inc -o cells cells.c $inc/rffscore.c -lm && ./cells MODEL 'city,since,mass' 'Bern,3 March 2024,"1,250 kg"'
 *
 * Columns are found by their names in the first line, in any order; those that the model does not know are left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rffkern.h"

/* Take the next field from a line, in place, without its quotes; NULL after the last. */
static char *next_field(char **line, size_t *length)
{
    char *from = *line, *field = from, *to = from;
    int quoted;
    if (!from) return NULL;
    for (quoted = 0; *from && (quoted || *from != ','); from++)
        if (*from != '"') *to++ = *from;
        else if (quoted && from[1] == '"') *to++ = *from++;
        else quoted = !quoted;
    *line = *from ? from + 1 : NULL;
    *length = (size_t)(to - field);
    return field;
}

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

int main(int argc, char **argv)
{
    rff_model *model;
    rff_info info;
    rff_label label;
    const char *why;
    char *names = argc == 4 ? argv[2] : NULL, *values = argc == 4 ? argv[3] : NULL, *name, *value;
    size_t n_name, n_value, row, column, size, o;
    rff_error error;
    if (argc != 4) return fail(argv[0], "give a model, names of columns and values");
    if (rff_load(argv[1], 0, &model, &why) != RFF_OK) return fail(argv[1], why);
    rff_describe(model, &info, sizeof info);
    size = rff_scratch_size(model, 1);
    rff_cell *cells = calloc(info.n_features, sizeof *cells); /* all missing */
    double *scores = calloc(info.n_outputs, sizeof *scores), *answers = calloc(info.n_predictions, sizeof *answers);
    void *scratch = malloc(size);
    if (!cells || !scores || !answers || !scratch) return fail(argv[0], "out of memory");
    while ((name = next_field(&names, &n_name)) != NULL && (value = next_field(&values, &n_value)) != NULL) {
        const size_t j = rff_find_column(model, name, n_name);
        if (j == RFF_NO_COLUMN) continue;
        cells[j].kind = RFF_CELL_TEXT;
        cells[j].text = value;
        cells[j].length = n_value;
    }
    error = rff_score_cells(model, cells, 1, scores, scratch, size, &row, &column);
    if (!error) error = rff_predict_cells(model, cells, 1, answers, scratch, size, &row, &column);
    if (error == RFF_E_CELL || error == RFF_E_ROWS) return fail(rff_feature_name(model, column), rff_error_text(error));
    if (error) return fail(argv[1], rff_error_text(error));
    if (info.n_classes && rff_get_label(model, (size_t)answers[0], &label) == RFF_OK && label.kind == RFF_TEXT)
        puts(label.text);
    else printf("%.17g\n", info.n_classes && label.kind == RFF_INTEGER ? (double)label.integer : answers[0]);
    for (o = 0; o < info.n_outputs; o++) printf("%.17g\n", scores[o]);
    free(cells);
    free(scores);
    free(answers);
    free(scratch);
    rff_free(model);
    return 0;
}
