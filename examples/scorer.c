/* A library that tells the label of a row, and allocates nothing once it is open.
 *
 *     inc=$(python -c "import rffkern; print(rffkern.get_include())")
 *     cc -O2 -I$inc -DSCORER_MAIN -o scorer scorer.c $inc/rffscore.c -lm && ./scorer MODEL 0.5 1 2
 */
#include "scorer.h"

#include <stdio.h>
#include <stdlib.h>

#include "rffkern.h"

struct scorer {
    rff_model *model;
    void *scratch;
    size_t size;
};

scorer *scorer_open(const char *path)
{
    scorer *s = calloc(1, sizeof *s);
    if (s && rff_load(path, 0, &s->model, NULL) == RFF_OK) {
        s->size = rff_scratch_size(s->model, 1);
        s->scratch = malloc(s->size);
    }
    if (s && s->scratch) return s;
    scorer_close(s);
    return NULL;
}

int scorer_label(scorer *s, const double *row, char *text, size_t size)
{
    double index;
    rff_label label;
    rff_error error = rff_predict(s->model, RFF_FLOAT64, row, 1, &index, s->scratch, s->size);
    if (!error) error = rff_get_label(s->model, (size_t)index, &label);
    if (!error && label.kind == RFF_TEXT) snprintf(text, size, "%s", label.text);
    else if (!error) snprintf(text, size, "%.17g", label.kind == RFF_REAL ? label.real : (double)label.integer);
    return error;
}

void scorer_close(scorer *s)
{
    if (!s) return;
    rff_free(s->model);
    free(s->scratch);
    free(s);
}

#ifdef SCORER_MAIN
int main(int argc, char **argv)
{
    scorer *s = argc > 2 ? scorer_open(argv[1]) : NULL;
    double *row = calloc((size_t)argc, sizeof *row);
    char text[256];
    int i;
    for (i = 2; row && i < argc; i++) row[i - 2] = strtod(argv[i], NULL);
    if (!s || !row || scorer_label(s, row, text, sizeof text)) return 1;
    puts(text);
    scorer_close(s);
    free(row);
    return 0;
}
#endif
