/* What all parts of the reader share: bytes, refusals, and memory that belongs to a model. */
#ifndef RFF_READER_H
#define RFF_READER_H

#include <stdlib.h>
#include <string.h>

#include "rff_decimals.h"
#include "rff_model.h"

#define RFF_ALIGNMENT 64
#define RFF_FREE_MEMORY ((uint64_t)1 << 25) /* bytes that a file of any size may ask for */

/* The first refusal: its code and a sentence. */
typedef struct {
    rff_error error;
    const char *why;
} rff_refusal;

/* Return 0, which ends reading, and keep the first reason. */
static int rff_refuse(rff_refusal *refusal, rff_error error, const char *why)
{
    if (refusal->error == RFF_OK) {
        refusal->error = error;
        refusal->why = why;
    }
    return 0;
}

#define RFF_REQUIRE_AS(file, condition, error, why)                                                                    \
    do {                                                                                                               \
        if (!(condition)) return rff_refuse(&(file)->refusal, error, why);                                             \
    } while (0)
#define RFF_REQUIRE(file, condition, why) RFF_REQUIRE_AS(file, condition, RFF_E_INVALID, why)
#define RFF_REQUIRE_MEMORY(file, pointer) RFF_REQUIRE_AS(file, pointer, RFF_E_MEMORY, "out of memory")

static void *rff_own(rff_model *model, size_t n, size_t size)
{
    const size_t before = sizeof(void *) + RFF_ALIGNMENT;
    void *block;
    uintptr_t start;
    if (size && n > (SIZE_MAX - before) / size) return NULL;
    block = calloc(1, n * size + before);
    if (!block) return NULL;
    *(void **)block = model->blocks;
    model->blocks = block;
    start = (uintptr_t)block + sizeof(void *);
    return (uint8_t *)block + sizeof(void *) + (RFF_ALIGNMENT - start % RFF_ALIGNMENT) % RFF_ALIGNMENT;
}

static void rff_release_blocks(void *block)
{
    void *next;
    for (; block; block = next) {
        next = *(void **)block;
        free(block);
    }
}

/* The models of the kernels of each region, which share the arrays of all.  0 where memory is short. */
static int rff_divide(rff_model *model)
{
    rff_expansion *e = &model->expansion;
    size_t region;
    if (e->n_regions == 1) return 1;
    model->regions = (rff_model *)rff_own(model, e->n_regions, sizeof *model->regions);
    if (!model->regions) return 0;
    for (region = 0; region < e->n_regions; region++) {
        const size_t start = e->region_starts[region];
        rff_expansion *part = &model->regions[region].expansion;
        *part = *e;
        part->n_regions = 1;
        part->n_terms = e->region_starts[region + 1] - start;
        part->centers = e->centers + start * e->n_features;
        part->weights = e->weights + start * e->n_outputs;
    }
    return 1;
}

/* All memory of a model but that of itself and of the kernels beside it. */
static void rff_release_parts(rff_model *model)
{
    size_t region;
    for (region = 0; model->regions && region < model->expansion.n_regions; region++)
        rff_release_blocks(model->regions[region].blocks);
    rff_release_blocks(model->blocks);
}

static void rff_release(rff_model *model)
{
    if (model->kernels) rff_release_parts(model->kernels);
    rff_release_parts(model);
    free(model);
}

/* The code point at a place of UTF-8; the place moves on. */
static uint32_t rff_decode(const uint8_t **place)
{
    const uint8_t *at = *place;
    uint32_t c = *at++;
    int more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    if (more)
        for (c &= 63u >> more; more; more--) c = c << 6 | (*at++ & 63u);
    *place = at;
    return c;
}

/* Whether bytes are UTF-8: the shortest form of code points that are no surrogates. */
static int rff_is_utf8(rff_span text)
{
    static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
    size_t i = 0;
    int more, k;
    uint32_t c;
    while (i < text.size) {
        c = text.at[i++];
        if (c < 0x80) continue;
        more = c < 0xc2 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : -1;
        if (more < 0 || (size_t)more > text.size - i) return 0;
        for (c &= 63u >> more, k = 0; k < more; k++, i++) {
            if ((text.at[i] & 0xc0) != 0x80) return 0;
            c = c << 6 | (text.at[i] & 63);
        }
        if (c < least[more] || c > 0x10ffff || c >> 11 == 0x1b) return 0;
    }
    return 1;
}

/* The sentence for callers who give numbers to a column of words, in memory of the model; 0 if that is short. */
static int rff_note_words(rff_model *model)
{
    static const char holds[] = " holds categories: give rows as cells to rff_score_cells and its like";
    static const char holds_dates[] = " holds dates: give rows as cells to rff_score_cells and its like";
    char number[RFF_SHORTEST_ROOM], *text;
    const rff_column *columns = model->map.columns;
    const char *name = number, *rest;
    size_t j, size;
    for (j = 0; j < model->map.n_columns; j++)
        if (columns[j].is_used && (columns[j].kind == RFF_COLUMN_CATEGORY || columns[j].kind == RFF_COLUMN_DATE)) break;
    if (j == model->map.n_columns) return 1;
    size = rff_write_number((double)j, number);
    if (model->feature_names) {
        name = model->feature_names[j];
        size = strlen(name);
    }
    rest = columns[j].kind == RFF_COLUMN_DATE ? holds_dates : holds;
    text = (char *)rff_own(model, size + 10 + sizeof holds, 1);
    if (!text) return 0;
    memcpy(text, "column ", 7);
    memcpy(text + 7, name, size);
    memcpy(text + 7 + size, rest, strlen(rest) + 1);
    model->info.takes_words = text;
    return 1;
}

RFF_API rff_error rff_describe(const rff_model *model, rff_info *info, size_t size)
{
    if (!model || !info) return RFF_E_ARGUMENT;
    memset(info, 0, size);
    memcpy(info, &model->info, size < sizeof *info ? size : sizeof *info);
    return RFF_OK;
}

static uint32_t rff_little16(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8; }

static uint32_t rff_little32(const uint8_t *at) { return rff_little16(at) | rff_little16(at + 2) << 16; }

static uint64_t rff_little64(const uint8_t *at) { return rff_little32(at) | (uint64_t)rff_little32(at + 4) << 32; }

RFF_API size_t rff_find_column(const rff_model *model, const char *name, size_t length)
{
    size_t j;
    for (j = 0; model && name && model->feature_names && j < model->info.n_features; j++)
        if (strlen(model->feature_names[j]) == length && memcmp(model->feature_names[j], name, length) == 0) return j;
    return RFF_NO_COLUMN;
}

#endif
