/* The bytes of a model file, checked from the first to the last: rffkern/_files/archive.py says how it is laid out. */
#ifndef RFF_ARCHIVE_H
#define RFF_ARCHIVE_H

#include <float.h>
#include <math.h>

#include "rff_digest.h"
#include "rff_json.h"

#define RFF_FORMAT_VERSION 1
#define RFF_MAX_HEADER (1u << 24)
#define RFF_MAX_DIRECTORY (1u << 16)
#define RFF_MAX_MEMBERS 32 /* more than any model has */
#define RFF_MAX_NAME 24
#define RFF_MAX_PREFIX 192 /* bytes before the data of an array of up to two dimensions */
#define RFF_LARGE_FILE ((uint64_t)1 << 31)
#define RFF_IN_EXTRA 0xffffffffu /* for a size that does not fit */
#define RFF_DIGEST_SIZE 71       /* sha256: and 64 digits */

enum { RFF_LOCAL_SIZE = 30, RFF_ENTRY_SIZE = 46, RFF_END_SIZE = 22, RFF_LARGE_END_SIZE = 76 };

typedef struct {
    rff_span name;
    uint32_t flags, method, crc;
    uint64_t size, packed_size, offset;
} rff_member;

/* An array as the file has it, in half, single or double precision; the model gets a copy in double. */
typedef struct {
    char name[RFF_MAX_NAME];
    uint32_t n_dimensions;
    size_t shape[2], size; /* size: numbers in all */
    size_t width; /* bytes of a number: 2, 4 or 8 */
    const uint8_t *data;
} rff_array;

/* A file while it is read. */
typedef struct {
    rff_span content;
    rff_refusal refusal;
    const char *unsupported; /* what C cannot score of a model, or NULL */
    rff_json header;
    int64_t version;
    rff_array arrays[RFF_MAX_MEMBERS];
    size_t n_arrays;
    uint8_t *texts; /* where the next label or name is kept */
} rff_file;

static int rff_begins(rff_span span, size_t at, const char *mark, size_t size)
{
    return at <= span.size && size <= span.size - at && memcmp(span.at + at, mark, size) == 0;
}

static rff_span rff_part(rff_span whole, size_t at, size_t size)
{
    rff_span part;
    at = at < whole.size ? at : whole.size;
    part.at = whole.at + at;
    part.size = size < whole.size - at ? size : whole.size - at;
    return part;
}

static int rff_check_digest(rff_file *file)
{
    const rff_span content = file->content;
    char digits[64];
    RFF_REQUIRE_AS(file, rff_begins(content, 0, "PK\3\4", 4), RFF_E_FORMAT,
                   "not a model file: it does not begin as a .npz archive");
    RFF_REQUIRE_AS(file, content.size >= RFF_DIGEST_SIZE
                   && rff_begins(content, content.size - RFF_DIGEST_SIZE, "sha256:", 7), RFF_E_FORMAT,
                   "damaged, cut off or not a model file: no checksum at its end");
    rff_sha256(rff_part(content, 0, content.size - 64), digits);
    RFF_REQUIRE_AS(file, memcmp(digits, content.at + content.size - 64, 64) == 0, RFF_E_CHECKSUM,
                   "damaged: the checksum differs");
    return 1;
}

/* Where the list of members begins and ends. */
static int rff_find_directory(rff_file *file, size_t *start, size_t *stop)
{
    const rff_span content = file->content;
    size_t end = content.size - RFF_DIGEST_SIZE - RFF_END_SIZE, i;
    const uint8_t *record;
    uint64_t size, offset;
    int is_large;
    RFF_REQUIRE_AS(file, content.size > RFF_DIGEST_SIZE + RFF_END_SIZE
                   && rff_begins(content, end, "PK\5\6", 4), RFF_E_FORMAT, "the archive does not end at its checksum");
    for (i = end + 1; i < content.size; i++)
        RFF_REQUIRE_AS(file, !rff_begins(content, i, "PK\5\6", 4), RFF_E_FORMAT,
                       "the archive does not end at its checksum");
    is_large = end >= 20 && rff_begins(content, end - 20, "PK\6\7", 4);
    RFF_REQUIRE_AS(file, content.size >= RFF_LARGE_FILE || !is_large, RFF_E_FORMAT,
                   "the archive is of the large kind, but small");
    record = content.at + end;
    size = rff_little32(record + 12);
    offset = rff_little32(record + 16);
    RFF_REQUIRE_AS(file, size <= RFF_MAX_DIRECTORY, RFF_E_FORMAT, "members must be few");
    end -= is_large ? RFF_LARGE_END_SIZE : 0;
    RFF_REQUIRE_AS(file, size <= end, RFF_E_FORMAT, "the list of members is cut off");
    RFF_REQUIRE_AS(file, offset == (is_large && end - size >= RFF_IN_EXTRA ? RFF_IN_EXTRA : end - size)
                   && rff_little32(record + 4) == 0 && rff_little16(record + 8) == rff_little16(record + 10)
                   && rff_little16(record + 20) == RFF_DIGEST_SIZE, RFF_E_FORMAT,
                   "the end of the archive is malformed");
    *start = end - (size_t)size;
    *stop = end;
    return 1;
}

/* Numbers of four bytes; those that need more have all bits set, and stand in the extra bytes in their order. */
static int rff_widen(rff_file *file, uint64_t **numbers, int n_numbers, rff_span extra)
{
    size_t at = 4;
    int i;
    for (i = 0; i < n_numbers; i++) {
        if (*numbers[i] != RFF_IN_EXTRA) continue;
        RFF_REQUIRE_AS(file, rff_begins(extra, 0, "\1\0", 2) && at + 8 <= extra.size, RFF_E_FORMAT,
                       "the size of a member is missing");
        *numbers[i] = rff_little64(extra.at + at);
        at += 8;
    }
    return 1;
}

static int rff_read_entry(rff_file *file, rff_span data, size_t *at, rff_member *member)
{
    const uint8_t *entry = data.at + *at;
    uint64_t *numbers[3];
    size_t n_name, n_extra;
    RFF_REQUIRE_AS(file, rff_begins(data, *at, "PK\1\2", 4) && data.size - *at >= RFF_ENTRY_SIZE,
                   RFF_E_FORMAT, "the list of members is malformed");
    RFF_REQUIRE_AS(file, rff_little16(entry + 6) <= 45, RFF_E_FORMAT,
                   "a member needs a newer version of the format of archives");
    member->flags = rff_little16(entry + 8);
    member->method = rff_little16(entry + 10);
    member->crc = rff_little32(entry + 16);
    member->packed_size = rff_little32(entry + 20);
    member->size = rff_little32(entry + 24);
    member->offset = rff_little32(entry + 42);
    n_name = rff_little16(entry + 28);
    n_extra = rff_little16(entry + 30);
    member->name = rff_part(data, *at + RFF_ENTRY_SIZE, n_name);
    numbers[0] = &member->size;
    numbers[1] = &member->packed_size;
    numbers[2] = &member->offset;
    if (!rff_widen(file, numbers, 3, rff_part(data, *at + RFF_ENTRY_SIZE + n_name, n_extra))) return 0;
    *at += RFF_ENTRY_SIZE + n_name + n_extra + rff_little16(entry + 32);
    return 1;
}

static int rff_read_directory(rff_file *file, rff_span data, rff_member *members, size_t *n_members)
{
    size_t at = 0;
    uint64_t total = 0;
    for (*n_members = 0; at < data.size; (*n_members)++) {
        RFF_REQUIRE_AS(file, *n_members < RFF_MAX_MEMBERS, RFF_E_INVALID, "members are not those of a model");
        if (!rff_read_entry(file, data, &at, members + *n_members)) return 0;
    }
    RFF_REQUIRE_AS(file, at == data.size, RFF_E_FORMAT, "the list of members is cut off");
    for (at = 0; at < *n_members; at++) {
        const rff_member *each = members + at;
        RFF_REQUIRE_AS(file, each->method == 0 && each->flags == 0 && each->size == each->packed_size,
                       RFF_E_FORMAT, "members must be stored, not compressed");
        RFF_REQUIRE_AS(file, each->size <= file->content.size - total, RFF_E_FORMAT, "members overlap");
        total += each->size;
    }
    RFF_REQUIRE_AS(file, *n_members > 0, RFF_E_FORMAT, "members are missing or repeated");
    return 1;
}

/* Where the bytes of each member are: one follows another, from the first byte to `end`. */
static int rff_place_members(rff_file *file, const rff_member *members, size_t n_members, size_t end, rff_span *places)
{
    const rff_span content = file->content;
    size_t at = 0, k;
    for (k = 0; k < n_members; k++) {
        const rff_member *member = members + k;
        const uint8_t *local = content.at + at;
        uint64_t size, packed_size, *numbers[2];
        size_t n_name, n_extra;
        RFF_REQUIRE_AS(file, member->offset == at && RFF_LOCAL_SIZE <= end - at, RFF_E_FORMAT,
                       "members overlap, or have gaps between them");
        size = rff_little32(local + 22);
        packed_size = rff_little32(local + 18);
        n_name = rff_little16(local + 26);
        n_extra = rff_little16(local + 28);
        numbers[0] = &size;
        numbers[1] = &packed_size;
        if (!rff_widen(file, numbers, 2, rff_part(content, at + RFF_LOCAL_SIZE + n_name, n_extra))) return 0;
        RFF_REQUIRE_AS(file, rff_begins(content, at, "PK\3\4", 4) && rff_little16(local + 6) == member->flags
                       && rff_little16(local + 8) == member->method && rff_little32(local + 14) == member->crc
                       && size == member->size && packed_size == member->packed_size && n_name == member->name.size
                       && rff_begins(content, at + RFF_LOCAL_SIZE, (const char *)member->name.at, n_name), RFF_E_FORMAT,
                       "a member is not what the list says");
        at += RFF_LOCAL_SIZE + n_name + n_extra;
        RFF_REQUIRE_AS(file, at <= end && member->size <= end - at, RFF_E_FORMAT, "members overlap");
        places[k] = rff_part(content, at, (size_t)member->size);
        at += (size_t)member->size;
        RFF_REQUIRE_AS(file, rff_crc32(places[k]) == member->crc, RFF_E_FORMAT, "the checksum of a member differs");
    }
    RFF_REQUIRE_AS(file, at == end, RFF_E_FORMAT, "the list of members is not where they end");
    return 1;
}

/* The bytes before the data in a `.npy` of version 1.0; their number. */
static size_t rff_npy_prefix(const char *dtype, uint32_t n_dimensions, const size_t *shape, char *prefix)
{
    char text[RFF_MAX_PREFIX] = "()";
    size_t n_text, total;
    if (n_dimensions == 1) snprintf(text, sizeof text, "(%llu,)", (unsigned long long)shape[0]);
    if (n_dimensions == 2)
        snprintf(text, sizeof text, "(%llu, %llu)", (unsigned long long)shape[0], (unsigned long long)shape[1]);
    n_text = (size_t)snprintf(prefix + 10, RFF_MAX_PREFIX - 10,
                              "{'descr': '%s', 'fortran_order': False, 'shape': %.48s, }", dtype, text);
    total = (10 + n_text + 1 + 63) / 64 * 64;
    memcpy(prefix, "\x93NUMPY\1\0", 8);
    prefix[8] = (char)(total - 10);
    prefix[9] = 0;
    memset(prefix + 10 + n_text, ' ', total - 10 - n_text);
    prefix[total - 1] = '\n';
    return total;
}

static int rff_read_name(rff_file *file, const rff_node *node, char name[RFF_MAX_NAME])
{
    const uint8_t *at = file->header.text + node->start, *end = file->header.text + node->end;
    size_t size = 0;
    while (at < end) {
        const uint32_t c = rff_next_char(&at);
        RFF_REQUIRE(file, c - 1 < 127 && size + 1 < RFF_MAX_NAME, "members are not those of a model");
        name[size++] = (char)c;
    }
    name[size] = 0;
    return 1;
}

/* Shapes of arrays as the header lists them, and the names of members that follow from it. */
static int rff_read_shape(rff_file *file, uint32_t entry, rff_array *array)
{
    static const char malformed[] = "the list of arrays is malformed";
    const rff_json *json = &file->header;
    const rff_node *nodes = json->nodes;
    const uint32_t name = entry + 1;
    uint32_t shape, n;
    RFF_REQUIRE(file, nodes[entry].type == RFF_ARRAY && nodes[entry].count == 2
                && nodes[name].type == RFF_STRING && nodes[nodes[name].next].type == RFF_ARRAY
                && nodes[nodes[name].next].count <= 2, malformed);
    shape = nodes[name].next;
    array->n_dimensions = nodes[shape].count;
    array->size = 1;
    for (n = rff_first(json, shape), shape = 0; n; n = nodes[n].next) {
        int64_t length;
        RFF_REQUIRE(file, rff_whole_number(json, n, 0, INT64_MAX, &length), malformed);
        RFF_REQUIRE(file, (uint64_t)length <= file->content.size, "an array is larger than the file");
        array->shape[shape++] = (size_t)length;
        array->size = array->size && (size_t)length > SIZE_MAX / array->size ? SIZE_MAX : array->size * (size_t)length;
    }
    return rff_read_name(file, nodes + name, array->name);
}

static int rff_is_named(rff_span name, const char *stem)
{
    const size_t size = strlen(stem);
    return name.size == size + 4 && memcmp(name.at, stem, size) == 0 && memcmp(name.at + size, ".npy", 4) == 0;
}

static int rff_read_shapes(rff_file *file, const rff_member *members, size_t n_members)
{
    const rff_json *json = &file->header;
    const uint32_t list = rff_value_of(json, 0, "arrays");
    uint32_t entry;
    size_t k;
    RFF_REQUIRE(file, json->nodes[list].type == RFF_ARRAY, "the list of arrays is malformed");
    RFF_REQUIRE(file, json->nodes[list].count == n_members - 1, "members are not those that the header lists");
    for (entry = rff_first(json, list), file->n_arrays = 0; entry; entry = json->nodes[entry].next) {
        rff_array *array = file->arrays + file->n_arrays++;
        if (!rff_read_shape(file, entry, array)) return 0;
        RFF_REQUIRE(file, rff_is_named(members[file->n_arrays].name, array->name),
                    "members are not those that the header lists");
        for (k = 0; k + 1 < file->n_arrays; k++)
            RFF_REQUIRE(file, strcmp(file->arrays[k].name, array->name) != 0, "members are missing or repeated");
    }
    return 1;
}

static double rff_half(const uint8_t *at)
{
    const int bits = at[0] | at[1] << 8, exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? INFINITY : exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    if (bits == 0x7bff) return DBL_MAX; /* the largest number of a precision stands for that of double */
    return bits >> 15 ? -size : size;
}

static double rff_single(const uint8_t *at)
{
    const uint32_t bits = rff_little32(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value == FLT_MAX ? DBL_MAX : (double)value;
}

static double rff_double(const uint8_t *at)
{
    const uint64_t bits = rff_little64(at);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double rff_number(const rff_array *array, size_t index)
{
    const uint8_t *at = array->data + array->width * index;
    return array->width == 2 ? rff_half(at) : array->width == 4 ? rff_single(at) : rff_double(at);
}

static int rff_read_array(rff_file *file, rff_span data, rff_array *array)
{
    char prefix[RFF_MAX_PREFIX];
    static const char *const types[] = {"<f2", "<f4", "<f8"};
    size_t i, n_prefix = 0;
    int type, found = 0;
    for (type = 0; type < 3 && !found; type++) {
        array->width = (size_t)2 << type;
        n_prefix = rff_npy_prefix(types[type], array->n_dimensions, array->shape, prefix);
        found = rff_begins(data, 0, prefix, n_prefix) && (data.size - n_prefix) % array->width == 0
                && (data.size - n_prefix) / array->width == array->size;
    }
    RFF_REQUIRE(file, found, "an array does not have the declared shape");
    array->data = data.at + n_prefix;
    for (i = 0; i < array->size; i++)
        RFF_REQUIRE(file, isfinite(rff_number(array, i)), "an array holds nan or inf");
    return 1;
}

/* About how many bytes the values of some JSON take in Python, each counted by the mark before it. */
static uint64_t rff_parsed_size(rff_span data)
{
    uint64_t size = 0;
    size_t i;
    for (i = 0; i < data.size; i++)
        size += data.at[i] == ',' || data.at[i] == '[' ? 64 : data.at[i] == '{' ? 256 : 0;
    return size;
}

static int rff_read_header(rff_file *file, rff_span data)
{
    static const char *const keys[] = {"format", "version", "package", "family", "class", "params", "classes",
                                       "feature_names", "columns", "arrays"};
    static const char *const optional[] = {"metadata", "out_of_fold", "reference"}; /* nothing here reads them */
    const char *present[13];
    rff_json *json = &file->header;
    char prefix[RFF_MAX_PREFIX];
    size_t size, n_prefix;
    uint32_t version, value, n_keys = 10, k;
    RFF_REQUIRE(file, data.size >= 10, "the header is malformed");
    n_prefix = 10 + rff_little16(data.at + 8);
    RFF_REQUIRE(file, n_prefix <= data.size, "the header is malformed");
    size = data.size - n_prefix;
    RFF_REQUIRE(file, rff_npy_prefix("|u1", 1, &size, prefix) == n_prefix && rff_begins(data, 0, prefix, n_prefix)
                && size <= RFF_MAX_HEADER, "the header is malformed");
    RFF_REQUIRE(file, rff_parsed_size(data) <= RFF_FREE_MEMORY + 2 * (uint64_t)file->content.size,
                "the header would take too much memory");
    if (!rff_parse_json(json, rff_part(data, n_prefix, size), &file->refusal)) return 0;
    RFF_REQUIRE_AS(file, rff_is_text(json, rff_value_of(json, 0, "format"), "rffkern"), RFF_E_FORMAT,
                   "not a model file of this package");
    version = rff_value_of(json, 0, "version");
    RFF_REQUIRE(file, json->nodes[version].type == RFF_WHOLE && json->text[json->nodes[version].start] != '-'
                && json->text[json->nodes[version].start] != '0', "the format version is not known");
    RFF_REQUIRE_AS(file, rff_whole_number(json, version, 1, RFF_FORMAT_VERSION, &file->version), RFF_E_NEWER,
                   "written by a newer rffkern, whose rffscore.c reads it");
    memcpy(present, keys, sizeof keys);
    for (k = 0; k < 3; k++) {
        value = rff_value_of(json, 0, optional[k]);
        RFF_REQUIRE(file, !value || json->nodes[value].type == RFF_OBJECT,
                    "metadata, out_of_fold or reference is malformed");
        if (value) present[n_keys++] = optional[k];
    }
    RFF_REQUIRE(file, rff_has_keys(json, 0, present, n_keys), "the keys of the header are not those of its version");
    return 1;
}

/* Header and arrays of a file; `file->header.nodes` is to be freed in any case. */
static int rff_open(rff_file *file)
{
    rff_member members[RFF_MAX_MEMBERS];
    rff_span places[RFF_MAX_MEMBERS];
    size_t start, stop, n_members, k;
    if (!rff_check_digest(file) || !rff_find_directory(file, &start, &stop)
        || !rff_read_directory(file, rff_part(file->content, start, stop - start), members, &n_members))
        return 0;
    RFF_REQUIRE_AS(file, rff_is_named(members[0].name, "header"), RFF_E_FORMAT, "members are missing or repeated");
    if (!rff_place_members(file, members, n_members, start, places) || !rff_read_header(file, places[0])
        || !rff_read_shapes(file, members, n_members))
        return 0;
    for (k = 0; k < file->n_arrays; k++)
        if (!rff_read_array(file, places[k + 1], file->arrays + k)) return 0;
    return 1;
}

/* The array of a name, or NULL. */
static const rff_array *rff_find_array(const rff_file *file, const char *name)
{
    size_t k;
    for (k = 0; k < file->n_arrays; k++)
        if (strcmp(file->arrays[k].name, name) == 0) return file->arrays + k;
    return NULL;
}

/* Numbers of an array, one after the other, that belong to the model; NULL if memory is out. */
static double *rff_copy(rff_model *model, const rff_array *array)
{
    double *numbers = rff_own(model, array->size, sizeof *numbers);
    size_t i;
    if (numbers)
        for (i = 0; i < array->size; i++) numbers[i] = rff_number(array, i);
    return numbers;
}

#endif
