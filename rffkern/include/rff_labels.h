/* Labels and the names of columns: rffkern/_files/model_files.py. */
#ifndef RFF_LABELS_H
#define RFF_LABELS_H

#include "rff_archive.h"

/* Whether a string has no lone surrogates, and no control characters but tabs and line ends. */
static int rff_is_printable(const rff_json *json, uint32_t index)
{
    const rff_node *node = json->nodes + index;
    const uint8_t *at = json->text + node->start, *end = json->text + node->end;
    while (at < end) {
        const uint32_t c = rff_next_char(&at);
        if ((c < 32 && c != '\t' && c != '\n') || (c >= 0x7f && c <= 0x9f) || c >> 11 == 0x1b) return 0;
    }
    return 1;
}

/* Number of code points of a string. */
static size_t rff_length(const rff_json *json, uint32_t index)
{
    const rff_node *node = json->nodes + index;
    const uint8_t *at = json->text + node->start, *end = json->text + node->end;
    size_t length = 0;
    for (; at < end; length++) rff_next_char(&at);
    return length;
}

/* Room for all strings of the header as UTF-8, each with a 0 byte at its end: with their quotes they are longer. */
static int rff_make_room(rff_file *file, rff_model *model)
{
    if (!file->texts) file->texts = rff_own(model, file->header.size, 1);
    RFF_REQUIRE_MEMORY(file, file->texts);
    return 1;
}

/* A string as UTF-8 that belongs to the model, of a header whose strings are kept once each. */
static const char *rff_keep_text(rff_file *file, uint32_t index, size_t *size)
{
    const rff_node *node = file->header.nodes + index;
    const uint8_t *at = file->header.text + node->start, *end = file->header.text + node->end;
    const char *text = (const char *)file->texts;
    int shift;
    while (at < end) {
        const uint32_t c = rff_next_char(&at);
        shift = c < 0x80 ? 0 : c < 0x800 ? 6 : c < 0x10000 ? 12 : 18;
        *file->texts++ = (uint8_t)(c >> shift | (shift == 0 ? 0 : shift == 6 ? 0xc0 : shift == 12 ? 0xe0 : 0xf0));
        for (; shift; shift -= 6) *file->texts++ = (uint8_t)(0x80 | (c >> (shift - 6) & 63));
    }
    *size = (size_t)((const char *)file->texts++ - text);
    return text;
}

/* Names of columns, or none; `n_features` of them. */
static int rff_read_names(rff_file *file, rff_model *model, size_t n_features)
{
    static const char malformed[] = "the feature names are malformed";
    const rff_json *json = &file->header;
    const uint32_t list = rff_value_of(json, 0, "feature_names");
    uint32_t name;
    size_t k = 0, size;
    if (json->nodes[list].type == RFF_NULL) return 1;
    RFF_REQUIRE(file, json->nodes[list].type == RFF_ARRAY && json->nodes[list].count == n_features, malformed);
    model->feature_names = rff_own(model, n_features, sizeof *model->feature_names);
    RFF_REQUIRE_MEMORY(file, model->feature_names);
    if (!rff_make_room(file, model)) return 0;
    for (name = rff_first(json, list); name; name = json->nodes[name].next) {
        RFF_REQUIRE(file, json->nodes[name].type == RFF_STRING && rff_is_printable(json, name), malformed);
        model->feature_names[k++] = rff_keep_text(file, name, &size);
    }
    model->info.has_feature_names = 1;
    return 1;
}

/* What the dtype of labels asks of them. */
typedef struct {
    const char *name;
    rff_label_kind kind;
    int bits; /* of a whole number, or of a real one */
} rff_label_type;

static const rff_label_type rff_label_types[] = {
    {"|b1", RFF_BOOLEAN, 0},  {"|i1", RFF_INTEGER, 8},   {"<i2", RFF_INTEGER, 16},  {"<i4", RFF_INTEGER, 32},
    {"<i8", RFF_INTEGER, 64}, {"|u1", RFF_UNSIGNED, 8},  {"<u2", RFF_UNSIGNED, 16}, {"<u4", RFF_UNSIGNED, 32},
    {"<u8", RFF_UNSIGNED, 64}, {"<f4", RFF_REAL, 32},    {"<f8", RFF_REAL, 64},
};

/* Width of a dtype "<U..." of text, which has as many digits as an int64 holds at most; -1 for any other dtype. */
static int64_t rff_text_width(const rff_json *json, uint32_t index)
{
    const rff_node *node = json->nodes + index;
    const uint8_t *at = json->text + node->start, *end = json->text + node->end;
    int64_t width = 0;
    size_t length = rff_length(json, index);
    if (length < 3 || length >= 16 || rff_next_char(&at) != '<' || rff_next_char(&at) != 'U') return -1;
    while (at < end) {
        const uint32_t digit = rff_next_char(&at) - '0';
        if (digit > 9) return -1;
        width = 10 * width + digit;
    }
    return width;
}

/* The order of two whole numbers of any size, by their text. */
static int rff_compare_whole(const rff_json *json, const rff_node *one, const rff_node *other)
{
    const uint8_t *a = json->text + one->start, *b = json->text + other->start;
    const int a_negative = *a == '-', b_negative = *b == '-';
    const uint32_t a_size = one->end - one->start - (uint32_t)a_negative;
    const uint32_t b_size = other->end - other->start - (uint32_t)b_negative;
    int order;
    a += a_negative;
    b += b_negative;
    if (a_size == 1 && b_size == 1 && *a == '0' && *b == '0') return 0;
    if (a_negative != b_negative) return a_negative ? -1 : 1;
    order = a_size != b_size ? (a_size < b_size ? -1 : 1) : memcmp(a, b, a_size);
    return a_negative ? -order : order;
}

static int rff_is_before(const rff_json *json, uint32_t one, uint32_t other)
{
    const rff_node *a = json->nodes + one, *b = json->nodes + other;
    if (a->type == RFF_STRING) return rff_compare_text(json, a, b) < 0;
    if (a->type == RFF_WHOLE) return rff_compare_whole(json, a, b) < 0;
    if (a->type == RFF_FRACTION) return rff_real_number(json, one) < rff_real_number(json, other);
    return a->type == RFF_FALSE && b->type == RFF_TRUE;
}

/* The magnitude of a whole number of at most 64 bits. */
static int rff_magnitude(const rff_json *json, uint32_t index, uint64_t *magnitude, int *negative)
{
    const rff_node *node = json->nodes + index;
    const uint8_t *at = json->text + node->start, *end = json->text + node->end;
    *negative = *at == '-';
    for (*magnitude = 0, at += *negative; at < end; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');
        if (*magnitude > (UINT64_MAX - digit) / 10) return 0;
        *magnitude = 10 * *magnitude + digit;
    }
    *negative = *negative && *magnitude;
    return 1;
}

static int rff_keep_whole(rff_file *file, uint32_t index, const rff_label_type *type, rff_label *label)
{
    const int of_objects = type->bits == 0, is_signed = type->kind == RFF_INTEGER;
    const uint64_t most = UINT64_MAX >> (64 - (of_objects ? 64 : type->bits) + is_signed);
    uint64_t magnitude;
    int negative, fits = rff_magnitude(&file->header, index, &magnitude, &negative);
    fits = fits && (negative ? is_signed && magnitude - 1 <= most : magnitude <= most);
    RFF_REQUIRE(file, fits || of_objects, "labels do not fit their dtype");
    if (!fits) file->unsupported = "a label is a whole number that 64 bits do not hold";
    label->whole = fits ? magnitude : 0;
    label->integer = fits && negative ? -(int64_t)(magnitude - 1) - 1 : (int64_t)label->whole;
    return 1;
}

static int rff_keep_label(rff_file *file, uint32_t index, const rff_label_type *type, rff_label *label)
{
    const rff_json *json = &file->header;
    label->kind = type->kind;
    if (type->kind == RFF_TEXT) {
        label->text = rff_keep_text(file, index, &label->length);
    } else if (type->kind == RFF_REAL) {
        label->real = rff_real_number(json, index);
        RFF_REQUIRE(file, type->bits != 32 || (double)(float)label->real == label->real,
                    "labels do not fit their dtype");
    } else if (type->kind == RFF_BOOLEAN) {
        label->integer = json->nodes[index].type == RFF_TRUE;
        label->whole = (uint64_t)label->integer;
    } else {
        return rff_keep_whole(file, index, type, label);
    }
    return 1;
}

static int rff_is_of_kind(rff_json_type type, rff_label_kind kind)
{
    switch (kind) {
    case RFF_BOOLEAN: return type == RFF_FALSE || type == RFF_TRUE;
    case RFF_REAL: return type == RFF_FRACTION;
    case RFF_TEXT: return type == RFF_STRING;
    default: return type == RFF_WHOLE;
    }
}

/* What labels of a dtype must be; of objects, what the first one is. */
static int rff_find_label_type(rff_file *file, uint32_t dtype, uint32_t values, rff_label_type *type)
{
    const rff_json *json = &file->header;
    const uint32_t first = rff_first(json, values);
    const size_t n_types = sizeof rff_label_types / sizeof rff_label_types[0];
    size_t k, longest = 256;
    uint32_t value;
    const int64_t width = rff_text_width(json, dtype);
    type->bits = 0;
    if (width >= 0 || rff_is_text(json, dtype, "O")) {
        type->kind = width >= 0 ? RFF_TEXT : RFF_NO_LABELS;
        for (k = RFF_BOOLEAN; !type->kind && k <= RFF_TEXT; k++)
            if (rff_is_of_kind(json->nodes[first].type, (rff_label_kind)k)) type->kind = (rff_label_kind)k;
    } else {
        for (k = 0; k < n_types && !rff_is_text(json, dtype, rff_label_types[k].name); k++) continue;
        RFF_REQUIRE(file, k < n_types, "the dtype of the labels is not known");
        *type = rff_label_types[k];
    }
    for (value = first; value; value = json->nodes[value].next) {
        RFF_REQUIRE(file, type->kind && rff_is_of_kind(json->nodes[value].type, type->kind),
                    "labels must be of their dtype");
        if (type->kind != RFF_TEXT) continue;
        RFF_REQUIRE(file, rff_is_printable(json, value), "labels have control characters");
        k = rff_length(json, value);
        RFF_REQUIRE(file, width <= 0 || k <= (uint64_t)width, "labels do not fit their dtype");
        longest = k > longest ? k : longest;
    }
    RFF_REQUIRE(file, width <= (int64_t)longest, "the dtype of the labels is wider than the longest of them");
    RFF_REQUIRE(file, width <= 0 || 4 * (uint64_t)width * json->nodes[values].count
                <= RFF_FREE_MEMORY + 2 * (uint64_t)file->content.size, "labels would take too much memory");
    return 1;
}

static int rff_read_labels(rff_file *file, rff_model *model)
{
    static const char *const keys[] = {"dtype", "values"};
    const rff_json *json = &file->header;
    const uint32_t entry = rff_value_of(json, 0, "classes");
    const uint32_t dtype = rff_value_of(json, entry, "dtype"), values = rff_value_of(json, entry, "values");
    rff_label_type type;
    uint32_t value;
    size_t k = 0;
    RFF_REQUIRE(file, rff_has_keys(json, entry, keys, 2), "classes must have a dtype and values");
    RFF_REQUIRE(file, json->nodes[dtype].type == RFF_STRING && json->nodes[values].type == RFF_ARRAY
                && json->nodes[values].count >= 2, "classes are malformed");
    if (!rff_find_label_type(file, dtype, values, &type)) return 0;
    model->info.n_classes = json->nodes[values].count;
    model->labels = rff_own(model, model->info.n_classes, sizeof *model->labels);
    RFF_REQUIRE_MEMORY(file, model->labels);
    if (!rff_make_room(file, model)) return 0;
    for (value = rff_first(json, values); value; value = json->nodes[value].next) {
        if (!rff_keep_label(file, value, &type, model->labels + k++)) return 0;
        RFF_REQUIRE(file, !json->nodes[value].next || rff_is_before(json, value, json->nodes[value].next),
                    "labels must be distinct and sorted");
    }
    model->info.label_kind = type.kind;
    return 1;
}

#endif
