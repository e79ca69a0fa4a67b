/* JSON as Python's `json.loads` reads it, without NaN and infinities, and without keys that are repeated.
 *
 * Values stand in one array in the order of the text.  Nothing recurses.  Index 0 is the whole text, and means "none"
 * where an index of a part is asked for.
 */
#ifndef RFF_JSON_H
#define RFF_JSON_H

#include <math.h>
#include <stdio.h>

#include "rff_reader.h"

#define RFF_MAX_NESTING 1000
#define RFF_MAX_DIGITS 4300 /* of a whole number: more than Python reads */

typedef enum {
    RFF_NULL, RFF_FALSE, RFF_TRUE, RFF_WHOLE, RFF_FRACTION, RFF_STRING, RFF_ARRAY, RFF_OBJECT
} rff_json_type;

typedef struct {
    rff_json_type type;
    uint32_t start, end;   /* of its text; of a string without the quotes */
    uint32_t next;         /* the next value of an array, or key of an object; 0 after the last */
    uint32_t parent, last; /* while reading */
    uint32_t count;        /* of values in an array, of keys in an object */
} rff_node;

typedef struct {
    const uint8_t *text;
    uint32_t size, at;
    rff_node *nodes;
    uint32_t n_nodes, room;
} rff_json;

static uint32_t rff_hex4(const uint8_t *at)
{
    uint32_t value = 0;
    int i;
    for (i = 0; i < 4; i++) value = value << 4 | (uint32_t)(at[i] <= '9' ? at[i] - '0' : (at[i] | 32) - 'a' + 10);
    return value;
}

/* The same as `rff_decode` in a string of JSON, which may have escapes; lone surrogates are told as they are. */
static uint32_t rff_next_char(const uint8_t **place)
{
    static const char escapes[] = "b\bf\fn\nr\rt\t";
    const uint8_t *at = *place;
    uint32_t c, low;
    const char *found;
    if (*at != '\\') return rff_decode(place);
    c = at[1];
    at += 2;
    if (c == 'u') {
        c = rff_hex4(at);
        at += 4;
        if (c >> 10 == 0x36 && at[0] == '\\' && at[1] == 'u' && (low = rff_hex4(at + 2)) >> 10 == 0x37) {
            c = 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
            at += 6;
        }
    } else if ((found = strchr(escapes, (int)c)) != NULL) {
        c = (uint32_t)found[1];
    }
    *place = at;
    return c;
}

/* Compare two strings by their code points: negative, 0 or positive. */
static int rff_compare_text(const rff_json *json, const rff_node *one, const rff_node *other)
{
    const uint8_t *a = json->text + one->start, *b = json->text + other->start;
    const uint8_t *a_end = json->text + one->end, *b_end = json->text + other->end;
    while (a < a_end && b < b_end) {
        const uint32_t x = rff_next_char(&a), y = rff_next_char(&b);
        if (x != y) return x < y ? -1 : 1;
    }
    return (a < a_end) - (b < b_end);
}

/* Whether a value is a string of plain ASCII. */
static int rff_is_text(const rff_json *json, uint32_t index, const char *expected)
{
    const rff_node *node = json->nodes + index;
    const uint8_t *at = json->text + node->start, *end = json->text + node->end;
    if (node->type != RFF_STRING) return 0;
    for (; at < end && *expected; expected++)
        if (rff_next_char(&at) != (uint32_t)(unsigned char)*expected) return 0;
    return at == end && !*expected;
}

/* The value of a key of an object, or 0. */
static uint32_t rff_value_of(const rff_json *json, uint32_t object, const char *key)
{
    uint32_t k;
    if (json->nodes[object].type != RFF_OBJECT || !json->nodes[object].count) return 0;
    for (k = object + 1; k; k = json->nodes[k].next)
        if (rff_is_text(json, k, key)) return k + 1;
    return 0;
}

/* The first value of an array, or 0. */
static uint32_t rff_first(const rff_json *json, uint32_t array) { return json->nodes[array].count ? array + 1 : 0; }

/* Whether a value is an object of some keys and no others. */
static int rff_has_keys(const rff_json *json, uint32_t object, const char *const *keys, uint32_t n_keys)
{
    uint32_t k;
    if (json->nodes[object].type != RFF_OBJECT || json->nodes[object].count != n_keys) return 0;
    for (k = 0; k < n_keys; k++)
        if (!rff_value_of(json, object, keys[k])) return 0;
    return 1;
}

/* Whether a value is a whole number in [low, high], of up to 18 digits, and the number. */
static int rff_whole_number(const rff_json *json, uint32_t index, int64_t low, int64_t high, int64_t *number)
{
    const rff_node *node = json->nodes + index;
    const uint8_t *at = json->text + node->start, *end = json->text + node->end;
    const int negative = at < end && *at == '-';
    int64_t value = 0;
    at += negative;
    if (node->type != RFF_WHOLE || end - at > 18) return 0; /* more may not fit, and are never in range */
    for (; at < end; at++) value = 10 * value + (*at - '0');
    *number = negative ? -value : value;
    return low <= *number && *number <= high;
}

/* A number in double precision. */
static double rff_real_number(const rff_json *json, uint32_t index)
{
    const rff_node *node = json->nodes + index;
    const char *text = (const char *)json->text + node->start;
    const int negative = *text == '-';
    double value = NAN;
    rff_read_decimal(text + negative, node->end - node->start - (size_t)negative, &value);
    return negative ? -value : value;
}

/* --- reading */

static int rff_add(rff_json *json, rff_refusal *refusal, rff_json_type type, uint32_t start, uint32_t parent)
{
    rff_node *node;
    if (json->n_nodes == json->room) {
        const uint32_t room = json->room ? 2 * json->room : 256;
        rff_node *nodes = realloc(json->nodes, room * sizeof *nodes);
        if (!nodes) return rff_refuse(refusal, RFF_E_MEMORY, "out of memory");
        json->nodes = nodes;
        json->room = room;
    }
    node = memset(json->nodes + json->n_nodes, 0, sizeof *node);
    node->type = type;
    node->start = start;
    node->parent = parent;
    json->n_nodes++;
    return 1;
}

static uint8_t rff_peek(const rff_json *json) { return json->at < json->size ? json->text[json->at] : 0; }

static void rff_skip_space(rff_json *json)
{
    while (json->at < json->size && strchr(" \t\n\r", json->text[json->at]) && json->text[json->at]) json->at++;
}

static int rff_is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

static uint32_t rff_skip_digits(rff_json *json)
{
    const uint32_t start = json->at;
    while (rff_is_digit(rff_peek(json))) json->at++;
    return json->at - start;
}

/* The text of a string, from after its first quote to after its last. */
static int rff_skip_string(rff_json *json)
{
    while (json->at < json->size) {
        const uint8_t c = json->text[json->at++];
        int i;
        if (c == '"') return 1;
        if (c < 32) return 0;
        if (c != '\\') continue;
        if (json->at == json->size) return 0;
        if (json->text[json->at] == 'u') {
            if (json->size - json->at < 5) return 0;
            for (i = 1; i < 5; i++) {
                const uint8_t digit = json->text[json->at + (uint32_t)i];
                if (!rff_is_digit(digit) && !((digit | 32) >= 'a' && (digit | 32) <= 'f')) return 0;
            }
        } else if (!json->text[json->at] || !strchr("\"\\/bfnrt", json->text[json->at])) {
            return 0;
        }
        json->at++; /* of \u the digits are like other characters */
    }
    return 0;
}

static int rff_skip_number(rff_json *json, rff_json_type *type)
{
    uint32_t n_digits;
    *type = RFF_WHOLE;
    if (rff_peek(json) == '-') json->at++;
    if (rff_peek(json) == '0') {
        json->at++;
        n_digits = 1;
    } else {
        n_digits = rff_skip_digits(json);
    }
    if (!n_digits) return 0;
    if (rff_peek(json) == '.') {
        *type = RFF_FRACTION;
        json->at++;
        if (!rff_skip_digits(json)) return 0;
    }
    if ((rff_peek(json) | 32) == 'e') {
        *type = RFF_FRACTION;
        json->at++;
        if (rff_peek(json) == '+' || rff_peek(json) == '-') json->at++;
        if (!rff_skip_digits(json)) return 0;
    }
    return *type == RFF_FRACTION || n_digits <= RFF_MAX_DIGITS;
}

static int rff_skip_word(rff_json *json, const char *word)
{
    const uint32_t size = (uint32_t)strlen(word);
    if (json->size - json->at < size || memcmp(json->text + json->at, word, size) != 0) return 0;
    json->at += size;
    return 1;
}

/* A value without parts, or the beginning of one with parts: its type. */
static int rff_read_start(rff_json *json, rff_json_type *type)
{
    const uint8_t c = rff_peek(json);
    *type = c == '{' ? RFF_OBJECT : c == '[' ? RFF_ARRAY : c == '"' ? RFF_STRING : c == 'n' ? RFF_NULL
            : c == 't' ? RFF_TRUE : RFF_FALSE;
    switch (c) {
    case '{':
    case '[': json->at++; return 1;
    case '"': json->at++; return rff_skip_string(json);
    case 'n': return rff_skip_word(json, "null");
    case 't': return rff_skip_word(json, "true");
    case 'f': return rff_skip_word(json, "false");
    default: return rff_skip_number(json, type);
    }
}

/* Add a key or value, as the next part of `parent`, or as the value of the key before it. */
static int rff_add_part(rff_json *json, rff_refusal *refusal, uint32_t parent, int is_value_of_key)
{
    const uint32_t start = json->at, index = json->n_nodes;
    rff_json_type type;
    if (!rff_read_start(json, &type)) return rff_refuse(refusal, RFF_E_INVALID, "the header is not valid JSON");
    if (!rff_add(json, refusal, type, start + (type == RFF_STRING), parent)) return 0;
    json->nodes[index].end = json->at - (type == RFF_STRING);
    if (index && !is_value_of_key) {
        rff_node *owner = json->nodes + parent;
        if (owner->last) json->nodes[owner->last].next = index;
        owner->last = index;
        owner->count++;
    }
    return 1;
}

static int rff_add_key(rff_json *json, rff_refusal *refusal, uint32_t parent)
{
    rff_skip_space(json);
    if (rff_peek(json) != '"') return rff_refuse(refusal, RFF_E_INVALID, "the header is not valid JSON");
    if (!rff_add_part(json, refusal, parent, 0)) return 0;
    rff_skip_space(json);
    if (rff_peek(json) != ':') return rff_refuse(refusal, RFF_E_INVALID, "the header is not valid JSON");
    json->at++;
    return 1;
}

/* What follows a value: whether another of `*parent` does.  Those that end here are left. */
static int rff_goes_on(rff_json *json, rff_refusal *refusal, uint32_t *parent, uint32_t *nesting, int *goes_on)
{
    for (*goes_on = 0; *nesting; (*nesting)--, *parent = json->nodes[*parent].parent) {
        const int is_object = json->nodes[*parent].type == RFF_OBJECT;
        rff_skip_space(json);
        if (rff_peek(json) == ',') {
            json->at++;
            *goes_on = 1;
            return !is_object || rff_add_key(json, refusal, *parent);
        }
        if (rff_peek(json) != (is_object ? '}' : ']'))
            return rff_refuse(refusal, RFF_E_INVALID, "the header is not valid JSON");
        json->nodes[*parent].end = ++json->at;
    }
    return 1;
}

static int rff_parse_values(rff_json *json, rff_refusal *refusal)
{
    uint32_t parent = 0, nesting = 0;
    int goes_on = 1;
    while (goes_on) {
        const uint32_t index = json->n_nodes;
        rff_json_type type;
        rff_skip_space(json);
        if (!rff_add_part(json, refusal, parent, index && json->nodes[parent].type == RFF_OBJECT)) return 0;
        type = json->nodes[index].type;
        if (type == RFF_OBJECT || type == RFF_ARRAY) {
            if (nesting >= RFF_MAX_NESTING)
                return rff_refuse(refusal, RFF_E_INVALID, "the header is nested too deeply");
            rff_skip_space(json);
            parent = index;
            nesting++;
            if (rff_peek(json) != (type == RFF_OBJECT ? '}' : ']')) {
                if (type == RFF_OBJECT && !rff_add_key(json, refusal, parent)) return 0;
                continue;
            }
        }
        if (!rff_goes_on(json, refusal, &parent, &nesting, &goes_on)) return 0;
    }
    rff_skip_space(json);
    if (json->at != json->size) return rff_refuse(refusal, RFF_E_INVALID, "the header is not valid JSON");
    return 1;
}

/* A key, for sorting: qsort hands over nothing else. */
typedef struct {
    const rff_json *json;
    const rff_node *node;
} rff_key;

static int rff_compare_keys(const void *one, const void *other)
{
    const rff_key *a = one, *b = other;
    if (a->node->parent != b->node->parent) return a->node->parent < b->node->parent ? -1 : 1;
    return rff_compare_text(a->json, a->node, b->node);
}

/* Whether strings differ from one another: the keys of each object, or, given an array of strings, its values. */
static int rff_are_distinct(const rff_json *json, rff_refusal *refusal, uint32_t array, const char *why)
{
    const uint32_t first = array, last = array ? array : json->n_nodes - 1;
    const rff_json_type owner = array ? RFF_ARRAY : RFF_OBJECT;
    size_t n_keys = 0, k = 0;
    uint32_t i, key;
    rff_key *keys;
    int repeated = 0;
    for (i = first; i <= last; i++) n_keys += json->nodes[i].type == owner ? json->nodes[i].count : 0;
    if (!n_keys) return 1;
    keys = malloc(n_keys * sizeof *keys);
    if (!keys) return rff_refuse(refusal, RFF_E_MEMORY, "out of memory");
    for (i = first; i <= last; i++)
        for (key = json->nodes[i].type == owner ? rff_first(json, i) : 0; key; key = json->nodes[key].next) {
            keys[k].json = json;
            keys[k++].node = json->nodes + key;
        }
    qsort(keys, n_keys, sizeof *keys, rff_compare_keys);
    for (k = 1; k < n_keys && !repeated; k++) repeated = rff_compare_keys(keys + k - 1, keys + k) == 0;
    free(keys);
    if (repeated) return rff_refuse(refusal, RFF_E_INVALID, why);
    return 1;
}

/* Read a text, which must stay where it is; `nodes` are to be freed in any case. */
static int rff_parse_json(rff_json *json, rff_span text, rff_refusal *refusal)
{
    if (!rff_is_utf8(text)) return rff_refuse(refusal, RFF_E_INVALID, "the header is not UTF-8");
    json->text = text.at;
    json->size = (uint32_t)text.size;
    return rff_parse_values(json, refusal)
           && rff_are_distinct(json, refusal, 0, "a key of the header is repeated");
}

#endif
