/* Load the file named by the argument, and get ready to explain, with memory that runs out at the first request, at the
 * second, and so on until that succeeds; print how many requests that took.  Anything else than RFF_E_MEMORY before is a fault, as is memory
 * that is not released, which the sanitizer sees. */
#include <stdlib.h>

static long left;

static void *failing_malloc(size_t size) { return left-- > 0 ? malloc(size) : NULL; }
static void *failing_calloc(size_t n, size_t size) { return left-- > 0 ? calloc(n, size) : NULL; }
static void *failing_realloc(void *block, size_t size) { return left-- > 0 ? realloc(block, size) : NULL; }

#define malloc failing_malloc
#define calloc failing_calloc
#define realloc failing_realloc
#include "rffscore.c"

int main(int argc, char **argv)
{
    rff_model *model = NULL;
    rff_error error = RFF_E_MEMORY;
    long n;
    for (n = 0; argc == 2 && error == RFF_E_MEMORY; n++) {
        const char *why;
        left = n;
        error = rff_load(argv[1], 0, &model, &why);
        if ((error == RFF_OK) != (model != NULL) || (error == RFF_OK) != (why == NULL)) return 2;
        if (error == RFF_OK && (error = rff_prepare_explanations(model, &why)) == RFF_E_MEMORY) rff_free(model);
        if (error == RFF_E_UNSUPPORTED || error == RFF_E_NOT_KEPT) error = RFF_OK;
    }
    rff_free(model);
    printf("%ld\n", n - 1);
    return error != RFF_OK;
}
