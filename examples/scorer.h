/* A library around one model: scorer.c, which is compiled with rffscore.c. */
#include <stddef.h>

typedef struct scorer scorer;

scorer *scorer_open(const char *path);                                 /* NULL where the file cannot be read */
int scorer_label(scorer *s, const double *row, char *text, size_t size); /* 0, or a code of rffkern.h */
void scorer_close(scorer *s);
