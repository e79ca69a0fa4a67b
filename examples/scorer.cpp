// The answer for one row of a CSV file, in C++: prints the label or prediction, and the scores.
//
//     inc=$(python -c "import rffkern; print(rffkern.get_include())")
//     cc -O2 -c -I$inc -o rffscore.o $inc/rffscore.c
//     c++ -std=c++17 -O2 -I$inc -o scorer scorer.cpp rffscore.o -lm && ./scorer MODEL 'city,mass' 'Bern,"1,250 kg"'
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "rffkern.h"

static void check(rff_error error)
{
    if (error != RFF_OK) throw std::runtime_error(rff_error_text(error));
}

// Fields of a line, which may be in quotes.
static std::vector<std::string> fields(const std::string &line)
{
    std::vector<std::string> found(1);
    bool quoted = false;
    for (size_t i = 0; i < line.size(); i++) {
        if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') found.back() += line[i++];
        else if (line[i] == '"') quoted = !quoted;
        else if (line[i] == ',' && !quoted) found.emplace_back();
        else found.back() += line[i];
    }
    return found;
}

int main(int, char **arguments)
try {
    rff_model *loaded;
    check(rff_load(arguments[1], 0, &loaded, nullptr));
    const std::unique_ptr<rff_model, decltype(&rff_free)> model(loaded, rff_free);
    rff_info info;
    check(rff_describe(loaded, &info, sizeof info));
    const auto names = fields(arguments[2]), values = fields(arguments[3]);
    std::vector<rff_cell> cells(info.n_features); // all missing
    for (size_t k = 0; k < names.size() && k < values.size(); k++) {
        const size_t column = rff_find_column(loaded, names[k].data(), names[k].size());
        if (column != RFF_NO_COLUMN) cells[column] = {RFF_CELL_TEXT, 0, values[k].data(), values[k].size()};
    }
    std::vector<double> scores(info.n_outputs), answers(info.n_predictions);
    std::vector<char> scratch(rff_scratch_size(loaded, 1));
    check(rff_score_cells(loaded, cells.data(), 1, scores.data(), scratch.data(), scratch.size(), nullptr, nullptr));
    check(rff_predict_cells(loaded, cells.data(), 1, answers.data(), scratch.data(), scratch.size(), nullptr, nullptr));
    rff_label label;
    if (info.n_classes && rff_get_label(loaded, size_t(answers[0]), &label) == RFF_OK && label.kind == RFF_TEXT)
        std::puts(label.text);
    else std::printf("%.17g\n", answers[0]);
    for (const double score : scores) std::printf("%.17g\n", score);
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
