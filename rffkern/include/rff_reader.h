/* What all parts of the reader share: bytes, refusals, and memory that belongs to a model. */
#ifndef RFF_READER_H
#define RFF_READER_H

#include <stdlib.h>
#include <string.h>

#include "rff_model.h"

#define RFF_ALIGNMENT 64
#define RFF_FREE_MEMORY ((uint64_t)1 << 25) /* bytes that a file of any size may ask for */

typedef struct {
    const uint8_t *at;
    size_t size;
} rff_span;

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

#define RFF_REQUIRE_AS(refusal, condition, error, why)                                                                 \
    do {                                                                                                               \
        if (!(condition)) return rff_refuse(refusal, error, why);                                                      \
    } while (0)
#define RFF_REQUIRE(refusal, condition, why) RFF_REQUIRE_AS(refusal, condition, RFF_E_INVALID, why)
#define RFF_REQUIRE_MEMORY(refusal, pointer) RFF_REQUIRE_AS(refusal, pointer, RFF_E_MEMORY, "out of memory")

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

static uint32_t rff_little16(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8; }

static uint32_t rff_little32(const uint8_t *at) { return rff_little16(at) | rff_little16(at + 2) << 16; }

static uint64_t rff_little64(const uint8_t *at) { return rff_little32(at) | (uint64_t)rff_little32(at + 4) << 32; }

#endif
