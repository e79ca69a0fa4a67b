/* Read models from standard input, each a length of 8 bytes, little-endian, and so many bytes; answer with a line for
 * each, the code of the error and why.  The functions that tell of a model are called for those that are accepted. */
#include "rffscore.c"

static rff_error look_at(const rff_model *model)
{
    rff_info info;
    rff_label label;
    size_t k, n_bytes = 0;
    rff_error error = rff_describe(model, &info, sizeof info);
    for (k = 0; k < info.n_classes && error == RFF_OK; k++) {
        error = rff_get_label(model, k, &label);
        if (label.kind == RFF_TEXT) n_bytes += strlen(label.text) != label.length;
    }
    for (k = 0; k < info.n_features && info.has_feature_names; k++) n_bytes += !rff_feature_name(model, k);
    return error != RFF_OK || n_bytes ? RFF_E_ARGUMENT : RFF_OK;
}

int main(void)
{
    uint8_t head[8];
    while (fread(head, 1, 8, stdin) == 8) {
        const size_t size = (size_t)rff_little64(head);
        uint8_t *bytes = malloc(size ? size : 1); /* of just this size, so that what is read beyond shows */
        const char *why;
        rff_model *model;
        rff_error error;
        if (!bytes || fread(bytes, 1, size, stdin) != size) return 1;
        error = rff_load_memory(bytes, size, &model, &why);
        free(bytes); /* before the model is looked at */
        if (error == RFF_OK && look_at(model) != RFF_OK) return 1;
        rff_free(model);
        printf("%d %s\n", error, why ? why : "");
        fflush(stdout);
    }
    return 0;
}
