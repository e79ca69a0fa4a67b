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

static void rff_release(rff_model *model)
{
    if (model->kernels) rff_release_blocks(model->kernels->blocks);
    rff_release_blocks(model->blocks);
    free(model);
}

static uint32_t rff_little16(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8; }

static uint32_t rff_little32(const uint8_t *at) { return rff_little16(at) | rff_little16(at + 2) << 16; }

static uint64_t rff_little64(const uint8_t *at) { return rff_little32(at) | (uint64_t)rff_little32(at + 4) << 32; }

#endif
