#include <tapestry/examples/school/tasks/bottleneck.h>

namespace tapestry::examples {
namespace {

// Trains one model and returns its score at each length.
std::vector<Score> learn_to_reverse(Alignment alignment, const BottleneckOptions& options) {
    Generator generator(options.task.seed);
    Seq2Seq model({.source_vocab = kCharacters,
                   .target_vocab = kCharacters,
                   .dim = 32,
                   .hidden = options.hidden,
                   .alignment = alignment,
                   .padding_id = kPad},
                  generator);
    const auto rows = [&](std::int64_t shortest, std::int64_t longest) {
        return [&options, shortest, longest](bool for_test, Generator& random) {
            return draw_row(options.letters, shortest, longest, for_test, random);
        };
    };
    const DrawPair draw = rows(1, options.longest);
    fit(
        model, options.task,
        [&] {
            std::vector<Pair> pairs(static_cast<std::size_t>(options.task.batch));
            for (Pair& pair : pairs) pair = draw(false, generator);
            return loss_of(model, pack(pairs));
        },
        [&] { return examine(model, draw, 100); });
    std::vector<Score> scores;
    const Answering answering(model);
    for (const std::int64_t length : options.lengths) {
        scores.push_back(examine(model, rows(length, length), options.questions));
    }
    return scores;
}

}  // namespace

Pair draw_row(std::int64_t letters, std::int64_t shortest, std::int64_t longest, bool for_test,
              Generator& generator) {
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(generator.below(static_cast<std::uint64_t>(n)));
    };
    const auto length = static_cast<std::size_t>(shortest + below(longest - shortest + 1));
    for (;;) {
        std::string row(length, ' ');
        for (char& c : row) c = static_cast<char>('a' + below(letters));
        if (length > 2 && held_out(row, 4) != for_test) continue;  // too few rows have 2 letters
        return {row, std::string(row.rbegin(), row.rend())};
    }
}

std::vector<BottleneckRow> compare_at_bottleneck(const BottleneckOptions& options) {
    if (options.task.print) fmt::print("without attention\n");
    const std::vector<Score> without = learn_to_reverse(Alignment::none, options);
    if (options.task.print) fmt::print("\nwith Bahdanau's attention\n");
    const std::vector<Score> with = learn_to_reverse(Alignment::bahdanau, options);
    std::vector<BottleneckRow> table;
    for (std::size_t i = 0; i < without.size(); ++i) {
        table.push_back({options.lengths[i], without[i], with[i]});
    }
    return table;
}

}  // namespace tapestry::examples
