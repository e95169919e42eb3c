#include <tapestry/examples/cli/announce.h>

#include <tapestry/core/parallel.h>
#include <tapestry/nn/freeze.h>

#include <fmt/core.h>

#include <cstdio>

namespace tapestry::cli {
namespace {

void announce_text(const Session& session) {
    const TrainingConfig& config = session.config();
    const TextData& data = session.data();
    const bool is_own = config.start.empty() && config.data.empty();
    const std::int64_t test = data.size(Split::test);
    fmt::print("{}: {} {}s, {}{}; training on {}, validating on {}{}\n", data_name(config),
               data.size(Split::all), session.tokenizer().unit(), session.tokenizer().vocab_size(),
               is_own ? " different" : " in the vocabulary", data.size(Split::train),
               data.size(Split::validation),
               test == 0 ? "" : fmt::format(", {} for testing", test));
}

}  // namespace

void announce(Session& session, bool show_samples) {
    const TrainingConfig& config = session.config();
    announce_text(session);
    fmt::print("GPT: {} layers, {} heads, dim {}, context {}: {} parameters; {} threads\n",
               config.model.layers, config.model.heads, config.model.dim, config.model.context,
               session.model().parameter_count(), num_threads());
    const std::size_t frozen = frozen_parameters(session.model()).size();
    if (frozen > 0) {
        fmt::print("frozen: {} of {} tensors of parameters\n", frozen,
                   session.model().parameters().size());
    }
    if (show_samples) {
        fmt::print("\nbefore training: validation loss {:.4f}; it writes\n{}\n\n",
                   session.evaluate(), session.sample(300));
    }
    std::fflush(stdout);
}

}  // namespace tapestry::cli
