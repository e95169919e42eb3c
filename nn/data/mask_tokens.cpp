#include <tapestry/nn/data/mask_tokens.h>

#include <tapestry/core/create.h>
#include <tapestry/nn/module/check_ids.h>

#include <algorithm>
#include <cmath>

namespace tapestry {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kNotCounted = -100;  // the default of CrossEntropyOptions::ignore_index

void check(const MaskingOptions& o) {
    require(o.vocab > 0, "mask_tokens: vocab must be positive, got {}", o.vocab);
    require(o.mask_id >= 0 && o.mask_id < o.vocab,
            "mask_tokens: the mask {} is outside the vocabulary of {}", o.mask_id, o.vocab);
    for (const std::int64_t id : o.special_ids) {
        require(id >= 0 && id < o.vocab,
                "mask_tokens: special token {} is outside the vocabulary of {}", id, o.vocab);
    }
    require(o.rate > 0 && o.rate <= 1, "mask_tokens: rate must be in (0, 1], got {}", o.rate);
    require(o.masked >= 0 && o.random >= 0 && o.masked + o.random <= 1,
            "mask_tokens: masked {} and random {} must be shares of at most 1 together", o.masked,
            o.random);
}

std::vector<bool> special_tokens(const MaskingOptions& o) {
    std::vector<bool> special(static_cast<std::size_t>(o.vocab), false);
    special[static_cast<std::size_t>(o.mask_id)] = true;
    for (const std::int64_t id : o.special_ids) special[static_cast<std::size_t>(id)] = true;
    return special;
}

// Chooses `count` of the positions by a partial shuffle.
void choose(std::vector<std::size_t>& places, std::size_t count, Generator& generator) {
    for (std::size_t i = 0; i < count; ++i) {
        std::swap(places[i], places[i + generator.below(places.size() - i)]);
    }
    places.resize(count);
}

}  // namespace

MaskedTokens mask_tokens(const Tensor& ids, const MaskingOptions& options, Generator& generator) {
    check(options);
    check_ids("mask_tokens", "ids", ids);
    const std::vector<bool> special = special_tokens(options);
    Ids ordinary;
    for (std::int64_t id = 0; id < options.vocab; ++id) {
        if (!special[static_cast<std::size_t>(id)]) ordinary.push_back(id);
    }
    Ids tokens = ids.to_vector<std::int64_t>();
    Ids targets(tokens.size(), kNotCounted);

    const auto length = static_cast<std::size_t>(ids.size(1));
    std::vector<std::size_t> places;
    for (std::size_t row = 0; row < tokens.size(); row += length) {
        places.clear();
        for (std::size_t i = row; i < row + length; ++i) {
            require<IndexError>(tokens[i] >= 0 && tokens[i] < options.vocab,
                                "mask_tokens: id {} at [{}, {}] is outside the vocabulary of {}",
                                tokens[i], row / length, i - row, options.vocab);
            if (!special[static_cast<std::size_t>(tokens[i])]) places.push_back(i);
        }
        if (places.empty()) continue;
        const double wanted = std::round(options.rate * static_cast<double>(places.size()));
        choose(places, std::max<std::size_t>(1, static_cast<std::size_t>(wanted)), generator);
        for (const std::size_t i : places) {
            targets[i] = tokens[i];
            const double u = generator.uniform();
            if (u < options.masked) {
                tokens[i] = options.mask_id;
            } else if (u < options.masked + options.random) {
                tokens[i] = ordinary[generator.below(ordinary.size())];
            }
        }
    }
    return {tensor(tokens, ids.shape()), tensor(targets, ids.shape())};
}

}  // namespace tapestry
