#include <tapestry/nn/models/bag/bag.h>

#include <tapestry/core/create.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/attention/masks.h>
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
constexpr double kWords = 100;     // of a text that an encoder reads
// A batch has room for as many features of each word as of the longest.
constexpr std::size_t kMostOfWord = 128;

// Weights of a block's matrices, whose feed-forward network is four times as wide as the model.
double block_products(const BagConfig& config) {
    return 12 * static_cast<double>(config.dim) * static_cast<double>(config.dim);
}

// Weights, biases and norms of all blocks, and the norm after them.
double encoder_parameters(const BagConfig& config) {
    const auto layers = static_cast<double>(config.layers), dim = static_cast<double>(config.dim);
    return config.layers == 0 ? 0 : layers * (block_products(config) + 13 * dim) + 2 * dim;
}

// A negative or zero size is reported by checked().
EncoderConfig encoder_config(const BagConfig& config) {
    return {.layers = config.layers,
            .layer = {.dim = config.dim,
                      .heads = config.heads,
                      .dropout = config.dropout,
                      .activation = Activation::gelu_erf,
                      .norm_first = true,
                      .positions = Positions::rotary},
            .final_norm = true};
}

}  // namespace

double parameter_count(const BagConfig& config) {
    return static_cast<double>(config.dim) *
               (static_cast<double>(config.buckets) + static_cast<double>(config.classes)) +
           encoder_parameters(config) +
           (config.several_labels ? static_cast<double>(config.classes) : 0);
}

double training_bytes(const BagConfig& config, std::int64_t batch, std::int64_t gradient_sets,
                      std::int64_t moments) {
    const auto copies = static_cast<double>(1 + gradient_sets + moments);
    const double kept = static_cast<double>(batch) * static_cast<double>(config.dim) *
                            (8 * kFeatures + 4 * 17 * kWords * static_cast<double>(config.layers)) +
                        static_cast<double>(batch) * kFeatures * 8;
    return 4 * copies * parameter_count(config) + kept;
}

double step_flops(const BagConfig& config, std::int64_t batch) {
    const auto dim = static_cast<double>(config.dim), layers = static_cast<double>(config.layers);
    return 6 * static_cast<double>(batch) *
           (dim * (kFeatures + static_cast<double>(config.classes)) +
            layers * kWords * (block_products(config) + 2 * kWords * dim));
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
    require(config.layers > 0 || config.heads == BagConfig{}.heads,
            "BagClassifier: heads are those of an encoder; layers must be at least 1 as well");
    require(config.layers >= 0 && config.heads >= 1,
            "BagClassifier: layers must be >= 0 and heads positive, got {} and {}", config.layers,
            config.heads);
    if (config.layers == 0) return config;
    require(config.dim % (2 * config.heads) == 0,
            "BagClassifier: with layers, dim must be a multiple of twice the heads, got {} and {}",
            config.dim, config.heads);
    require(config.word_ngrams == 1,
            "BagClassifier: with layers, word_ngrams must be 1, got {}: the encoder sees the order "
            "of words",
            config.word_ngrams);
    return config;
}

// Rows of the table.
std::vector<std::int64_t> rows_of(const std::vector<std::uint64_t>& hashes,
                                  const BagConfig& config) {
    std::vector<std::int64_t> features;
    for (const std::uint64_t hash : hashes) {
        const std::uint64_t mixed =
            (hash ^ (hash >> 32)) % static_cast<std::uint64_t>(config.buckets - 1);
        features.push_back(1 + static_cast<std::int64_t>(mixed));
    }
    return features;
}

}  // namespace

std::vector<std::string_view> feature_words(std::string_view text, const BagConfig& config) {
    const auto flaw = utf8::find_flaw(text);
    require(!flaw, "the text is not UTF-8: {} at byte {}", flaw ? flaw->what : "",
            flaw ? flaw->byte : 0);
    return words_of(text, config.words);
}

std::vector<std::vector<std::int64_t>> word_features(std::string_view text,
                                                     const BagConfig& config) {
    std::vector<std::vector<std::int64_t>> all;
    for (const std::string_view word : feature_words(text, config)) {
        std::vector<std::uint64_t> hashes{hash_of('w', word)};
        if (config.longest > 0) add_characters(word, config, hashes);
        hashes.resize(std::min(hashes.size(), kMostOfWord));
        all.push_back(rows_of(hashes, config));
    }
    return all;
}

std::vector<std::int64_t> text_features(std::string_view text, const BagConfig& config) {
    const std::vector<std::string_view> words = feature_words(text, config);
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
    return rows_of(hashes, config);
}

// ---- the model ----------------------------------------------------------------------------------

BagClassifier::BagClassifier(const BagConfig& config, Generator& generator)
    : Module("BagClassifier"),
      table(checked(config).buckets, config.dim, generator),
      dropout(config.dropout, generator),
      head(config.dim, config.classes, config.several_labels, generator),
      temperature(ones({1}, DType::f32)),
      config_(config) {
    register_module("table", table);
    if (config.layers > 0) {
        encoder.emplace(encoder_config(config), generator);
        register_module("encoder", *encoder);
    }
    register_module("dropout", dropout);
    register_module("head", head);
    register_buffer("temperature", temperature);
    if (config.several_labels) {
        threshold = full({1}, 0.5);
        register_buffer("threshold", threshold);
    }
    const double bound = 1 / static_cast<double>(config.dim);
    table.weight.copy_(uniform(table.weight.shape(), -bound, bound, generator));
    head.weight.fill_(0);
    if (head.bias.defined()) head.bias.fill_(0);
    convert_weights(*this, config_);
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

// The means of vectors [B, F, D], without those of padding: [B, D].
Tensor mean_of_rows(const Tensor& vectors, const Tensor& ids) {
    const Tensor weights = tapestry::to(weights_of_mean(ids), vectors.dtype());
    return squeeze(matmul(weights, vectors), 1);
}

}  // namespace

// [B, W, F] -> [B, D]. A text without words is read as one whose vector is 0; its mean is 0.
Tensor BagClassifier::encoded(const Tensor& features) const {
    const std::int64_t rows = features.size(0), words = features.size(1);
    const Tensor flat = reshape(features, {rows * words, features.size(2)});
    Tensor x = reshape(mean_of_rows(table(flat), flat), {rows, words, config_.dim});
    if (config_.compute == ComputeType::bf16) x = tapestry::to(x, DType::bf16);
    const Tensor first = squeeze(slice(features, 2, 0, 1), 2);  // [B, W]: 0 where there is no word
    Tensor seen = zeros({rows, words}, DType::i64);
    seen.copy_(first);
    for (std::int64_t b = 0; b < rows; ++b) seen.mutable_data<std::int64_t>()[b * words] |= 1;
    return mean_of_rows((*encoder)(x, {.mask = padding_mask(seen, 0)}), first);
}

Tensor BagClassifier::operator()(const Tensor& features) const {
    const ModuleScope scope(name());
    if (encoder) {
        require<ShapeError>(features.rank() == 3 && features.size(1) > 0 && features.size(2) > 0,
                            "BagClassifier: with layers, features must be [B, W, F], got {}",
                            features.shape());
        return hooked(head(dropout(encoded(features))), features);
    }
    check_ids("BagClassifier", "features", features);
    Tensor h = mean_of_rows(table(features), features);  // [B, D]
    if (config_.compute == ComputeType::bf16) h = tapestry::to(h, DType::bf16);
    return hooked(head(dropout(h)), features);
}

Tensor BagClassifier::loss(const Tensor& features, const Tensor& labels) const {
    const Tensor logits = (*this)(features);
    if (!config_.several_labels) return cross_entropy(logits, reshape(labels, {labels.size(0)}));
    const Tensor wide = is_narrow(logits.dtype()) ? tapestry::to(logits, DType::f32) : logits;
    return binary_cross_entropy_with_logits(wide, tapestry::to(labels, wide.dtype()));
}

std::string BagClassifier::settings() const {
    return fmt::format("{} classes{}, {} buckets of {}{}", config_.classes,
                       config_.several_labels ? ", several at once" : "", config_.buckets,
                       config_.dim,
                       config_.layers == 0
                           ? ""
                           : fmt::format(", {} layers of {} heads", config_.layers, config_.heads));
}

}  // namespace tapestry
