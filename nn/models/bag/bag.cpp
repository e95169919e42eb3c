#include <tapestry/nn/models/bag/bag.h>

#include <tapestry/core/create.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/module/check_ids.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>

#include <algorithm>

namespace tapestry {

// ---- cost ---------------------------------------------------------------------------------------

namespace {
constexpr double kFeatures = 300;  // of a text
}

double parameter_count(const BagConfig& config) {
    return static_cast<double>(config.dim) *
           (static_cast<double>(config.buckets) + static_cast<double>(config.classes));
}

double training_bytes(const BagConfig& config, std::int64_t batch, std::int64_t gradient_sets,
                      std::int64_t moments) {
    const auto copies = static_cast<double>(1 + gradient_sets + moments);
    const double kept =
        static_cast<double>(batch) * kFeatures * (8 + 8 * static_cast<double>(config.dim));
    return 4 * copies * parameter_count(config) + kept;
}

double step_flops(const BagConfig& config, std::int64_t batch) {
    return 6 * static_cast<double>(batch) * static_cast<double>(config.dim) *
           (kFeatures + static_cast<double>(config.classes));
}

// ---- features -----------------------------------------------------------------------------------

namespace {

// FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/. The kind keeps "ab", a word, from "ab", two
// characters of one.
std::uint64_t hash_of(char kind, std::string_view text) {
    constexpr std::uint64_t kPrime = 0x100000001b3;
    std::uint64_t hash = (0xcbf29ce484222325 ^ static_cast<unsigned char>(kind)) * kPrime;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
    return hash;
}

std::vector<std::string_view> words_of(std::string_view text, std::int64_t most) {
    constexpr std::string_view kSpace = " \t\n\v\f\r";
    std::vector<std::string_view> words;
    std::size_t at = text.find_first_not_of(kSpace);
    while (at != text.npos && std::ssize(words) < most) {
        const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
        words.push_back(text.substr(at, end - at));
        at = text.find_first_not_of(kSpace, end);
    }
    return words;
}

void add_characters(std::string_view word, const BagConfig& config,
                    std::vector<std::uint64_t>& hashes) {
    const std::string marked = fmt::format("<{}>", word);
    std::vector<std::size_t> starts;  // of characters, and the end
    for (std::size_t i = 0; i < marked.size(); i += utf8::step(marked, i).bytes) {
        starts.push_back(i);
    }
    starts.push_back(marked.size());
    const auto count = std::ssize(starts) - 1;
    for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t n = config.shortest; n <= config.longest && i + n <= count; ++n) {
            if (n == 1 && (i == 0 || i + 1 == count)) continue;  // only a mark
            const std::size_t from = starts[static_cast<std::size_t>(i)];
            const std::size_t to = starts[static_cast<std::size_t>(i + n)];
            hashes.push_back(hash_of('c', std::string_view(marked).substr(from, to - from)));
        }
    }
}

const BagConfig& checked(const BagConfig& config) {
    require(config.classes >= 1 && config.dim >= 1 && config.buckets >= 2,
            "BagClassifier: needs at least 1 class, 2 buckets and dim 1, got {}, {} and {}",
            config.classes, config.buckets, config.dim);
    require(config.words >= 1 && config.word_ngrams >= 1 && config.word_ngrams <= 16,
            "BagClassifier: words must be positive and word_ngrams in [1, 16], got {} and {}",
            config.words, config.word_ngrams);
    const bool none = config.shortest == 0 && config.longest == 0;
    require(
        none || (config.shortest >= 1 && config.longest >= config.shortest && config.longest <= 64),
        "BagClassifier: n-grams need 1 <= shortest <= longest <= 64, got {} and {}; 0 and 0: "
        "none",
        config.shortest, config.longest);
    return config;
}

}  // namespace

std::vector<std::int64_t> text_features(std::string_view text, const BagConfig& config) {
    const auto flaw = utf8::find_flaw(text);
    require(!flaw, "the text is not UTF-8: {} at byte {}", flaw ? flaw->what : "",
            flaw ? flaw->byte : 0);
    const std::vector<std::string_view> words = words_of(text, config.words);
    std::vector<std::uint64_t> hashes;
    for (const std::string_view word : words) hashes.push_back(hash_of('w', word));
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::uint64_t hash = hashes[i];
        const std::size_t end =
            std::min(words.size(), i + static_cast<std::size_t>(config.word_ngrams));
        for (std::size_t j = i + 1; j < end; ++j) {
            hash = hash * 116049371 + hashes[j];  // fastText's
            hashes.push_back(hash);
        }
        if (config.longest > 0) add_characters(words[i], config, hashes);
    }
    std::vector<std::int64_t> features;
    for (const std::uint64_t hash : hashes) {
        const std::uint64_t mixed =
            (hash ^ (hash >> 32)) % static_cast<std::uint64_t>(config.buckets - 1);
        features.push_back(1 + static_cast<std::int64_t>(mixed));
    }
    return features;
}

// ---- the model ----------------------------------------------------------------------------------

BagClassifier::BagClassifier(const BagConfig& config, Generator& generator)
    : Module("BagClassifier"),
      table(checked(config).buckets, config.dim, generator),
      dropout(config.dropout, generator),
      head(config.dim, config.classes, false, generator),
      config_(config) {
    register_module("table", table);
    register_module("dropout", dropout);
    register_module("head", head);
    const double bound = 1 / static_cast<double>(config.dim);
    table.weight.copy_(uniform(table.weight.shape(), -bound, bound, generator));
    head.weight.fill_(0);
    if (config.weights != ComputeType::bf16) return;
    to(DType::bf16);
    release_cached_memory();  // f32 blocks, which bf16 tensors would not reuse
    config_.compute = ComputeType::bf16;
}

namespace {

// [B, 1, F]: 1 / n for each of a row's n features, 0 for padding.
Tensor weights_of_mean(const Tensor& features) {
    const std::int64_t rows = features.size(0), length = features.size(1);
    const std::vector<std::int64_t> ids = features.to_vector<std::int64_t>();
    Tensor weights({rows, 1, length}, DType::f32);
    float* to = weights.mutable_data<float>();
    for (std::int64_t b = 0; b < rows; ++b) {
        const auto* row = ids.data() + b * length;
        const auto n = length - std::count(row, row + length, 0);
        const float each = n == 0 ? 0.0F : 1.0F / static_cast<float>(n);
        for (std::int64_t f = 0; f < length; ++f) *to++ = row[f] == 0 ? 0.0F : each;
    }
    return weights;
}

}  // namespace

Tensor BagClassifier::operator()(const Tensor& features) const {
    const ModuleScope scope(name());
    check_ids("BagClassifier", "features", features);
    const Tensor vectors = table(features);  // [B, F, D]
    const Tensor weights = tapestry::to(weights_of_mean(features), vectors.dtype());
    Tensor h = squeeze(matmul(weights, vectors), 1);  // [B, D]
    if (config_.compute == ComputeType::bf16) h = tapestry::to(h, DType::bf16);
    return hooked(head(dropout(h)), features);
}

Tensor BagClassifier::loss(const Tensor& features, const Tensor& labels) const {
    return cross_entropy((*this)(features), reshape(labels, {labels.size(0)}));
}

std::string BagClassifier::settings() const {
    return fmt::format("{} classes, {} buckets of {}", config_.classes, config_.buckets,
                       config_.dim);
}

}  // namespace tapestry
