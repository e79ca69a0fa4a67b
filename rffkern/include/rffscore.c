/* Compile this file alone: rffkern.h says what it offers. */
#include <errno.h>

/* A file is read once: little code matters more than speed.  Scores are to be fast, unless the program is to be
   small, or has a sanitizer, which would take minutes to compile. */
#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && !defined(__SANITIZE_ADDRESS__)
#define RFF_FAST
#endif
#include "rff_parts.h"

#ifdef __OPTIMIZE__
#if defined(__clang__)
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("Os")
#endif
#endif

#include "rff_families.h"

#ifdef __OPTIMIZE__
#if defined(__clang__)
#pragma clang attribute pop
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
#endif

#ifdef RFF_READER_ONLY /* without functions that score */
static rff_error rff_prepare(rff_model *model)
{
    (void)model;
    return RFF_OK;
}
#else
#include "rff_explain.h"
#endif

#define RFF_USUAL_BYTES ((size_t)1 << 30) /* of a file, where no other limit is given */
#define RFF_FIRST_BYTES ((size_t)1 << 20) /* read at once */

int rff_abi_version(void) { return RFF_ABI_VERSION; }

const char *rff_error_text(rff_error error)
{
    static const char *const texts[] = {
        "no error",
        "an argument is not valid",
        "the file cannot be read",
        "out of memory",
        "the file is larger than max_bytes",
        "not a model file, or damaged",
        "damaged: the checksum differs",
        "the file is of a newer format: a newer rffscore.c reads it",
        "the contents of the file contradict each other",
        "the model has what C does not score: labels beyond 64 bits",
        "too little scratch memory",
        "a row holds nan, inf or too large a number",
        "the model has no labels",
        "a column takes words or dates: give rows as cells to rff_score_cells and its like",
        "a cell is no value of its column",
        "the file does not keep what this takes: residuals of other rows than those of training, or distributions of columns",
        "coverage is too high for the number of rows that residuals are of",
    };
    return error >= 0 && (size_t)error < sizeof texts / sizeof texts[0] ? texts[error] : "an unknown error";
}

void rff_free(rff_model *model)
{
    if (model) rff_release(model);
}

rff_error rff_get_label(const rff_model *model, size_t index, rff_label *label)
{
    if (!model || !label) return RFF_E_ARGUMENT;
    if (!model->info.n_classes) return RFF_E_NO_LABELS;
    if (index >= model->info.n_classes) return RFF_E_ARGUMENT;
    *label = model->labels[index];
    return RFF_OK;
}

rff_error rff_describe_column(const rff_model *model, size_t index, rff_column_info *column, size_t size)
{
    rff_column_info found = {RFF_COLUMN_NUMERIC, 1, 0, 0, 0, NULL, "", ""};
    if (!model || !column || index >= model->info.n_features) return RFF_E_ARGUMENT;
    found.name = rff_feature_name(model, index);
    if (model->has_map) {
        const rff_column *from = model->map.columns + index;
        found.kind = from->kind;
        found.is_used = from->is_used;
        found.has_rare_levels = from->has_rare;
        found.n_levels = from->levels.n;
        found.format = from->format;
        found.dropped = from->dropped;
    }
    memset(column, 0, size);
    memcpy(column, &found, size < sizeof found ? size : sizeof found);
    return RFF_OK;
}

rff_error rff_get_level(const rff_model *model, size_t column, size_t index, const char **text, size_t *length)
{
    const rff_texts *levels;
    if (!model || !text || !model->has_map || column >= model->info.n_features) return RFF_E_ARGUMENT;
    levels = &model->map.columns[column].levels;
    if (index >= levels->n) return RFF_E_ARGUMENT;
    *text = (const char *)levels->at[index].at;
    if (length) *length = levels->at[index].size;
    return RFF_OK;
}

const char *rff_feature_name(const rff_model *model, size_t index)
{
    return model && model->feature_names && index < model->info.n_features ? model->feature_names[index] : NULL;
}

rff_error rff_load_memory(const void *bytes, size_t n_bytes, rff_model **model, const char **why)
{
    rff_file file;
    rff_model *made;
    if (model) *model = NULL;
    if (why) *why = "a null pointer";
    if (!model || !bytes) return RFF_E_ARGUMENT;
    memset(&file, 0, sizeof file);
    file.content.at = bytes;
    file.content.size = n_bytes;
    made = calloc(1, sizeof *made);
    if (!made || (rff_open(&file) && rff_build(&file, made) && rff_prepare(made) != RFF_OK))
        rff_refuse(&file.refusal, RFF_E_MEMORY, "out of memory");
    free(file.header.nodes);
    if (file.refusal.error == RFF_OK) *model = made;
    else rff_free(made);
    if (why) *why = file.refusal.why;
    return file.refusal.error;
}

/* All bytes of a stream, up to one more than `max_bytes`, read in pieces: what is not there is not asked for. */
static rff_error rff_read_stream(FILE *stream, size_t max_bytes, uint8_t **content, size_t *size)
{
    size_t room = 0;
    for (*content = NULL, *size = 0; !feof(stream);) {
        if (*size == room) {
            uint8_t *more;
            room = room > SIZE_MAX / 2 ? SIZE_MAX : room ? 2 * room : RFF_FIRST_BYTES;
            room = room > max_bytes ? max_bytes + 1 : room;
            more = realloc(*content, room);
            if (!more) return RFF_E_MEMORY;
            *content = more;
        }
        *size += fread(*content + *size, 1, room - *size, stream);
        if (ferror(stream)) return RFF_E_FILE;
        if (*size > max_bytes) return RFF_E_LARGE;
    }
    return RFF_OK;
}

rff_error rff_load(const char *path, size_t max_bytes, rff_model **model, const char **why)
{
    uint8_t *content = NULL;
    size_t size = 0;
    FILE *stream;
    rff_error error;
    int found;
    if (model) *model = NULL;
    if (why) *why = "a null pointer";
    if (!path || !model) return RFF_E_ARGUMENT;
    stream = fopen(path, "rb");
    if (stream) {
        error = rff_read_stream(stream, max_bytes ? (max_bytes < SIZE_MAX ? max_bytes : SIZE_MAX - 1) : RFF_USUAL_BYTES,
                                &content, &size);
        found = errno;
        fclose(stream);
        errno = found; /* which closing may change */
    } else {
        error = RFF_E_FILE;
    }
    if (error == RFF_OK) error = rff_load_memory(content, size, model, why);
    else if (why) *why = rff_error_text(error);
    free(content);
    return error;
}
