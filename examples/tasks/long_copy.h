// Copying over a long distance: what each form of attention can and cannot do, and what it costs.
//
// Some symbols, a long silence, then a place for each symbol, where it has to be said again:
//
//     3 1 4 1 . . . . . . . . . . . . . . . . _ _ _ _    ->    3 1 4 1 at the end
//     `-m -'  `---------- distance ----------------'
//
// Place i must look back at position i - distance and nowhere else. Softmax attention does. A
// sliding window cannot: through n layers nothing travels further than n windows. Linear attention
// sums the whole sequence up in a matrix D x D per head: it can be asked for about D things. A
// Performer estimates softmax with random features, and a sharp look takes many. Linformer mixes
// all positions into a few summaries, and must learn to leave the silence out. After the copying
// task of Arjovsky et al. 2015 ("Unitary Evolution Recurrent Neural Networks").
#pragma once

#include <tapestry/examples/tasks/task.h>

#include <string>
#include <vector>

namespace tapestry::examples {

struct LongCopyOptions {
    std::int64_t distance = 512;
    std::int64_t symbols = 32;   ///< how many are to be copied
    std::int64_t alphabet = 16;  ///< how many different ones there are
    std::int64_t dim = 64;
    std::int64_t heads = 2;
    std::int64_t layers = 1;
    std::int64_t window = 64;     ///< of the sliding window
    std::int64_t summaries = 64;  ///< of Linformer
    std::int64_t features = 128;  ///< of the Performer, per head
    std::int64_t steps = 600;
    std::int64_t batch = 8;
    double rate = 3e-3;
    std::uint64_t seed = 1;

    std::int64_t length() const { return distance + symbols; }
};

/// A form under the name it has in the table.
struct Contender {
    std::string name;
    AttentionFormFactory form;
};

/// All of them, for sequences of up to `length`. What is random in a form comes from `generator`,
/// which must outlive them.
inline std::vector<Contender> contenders(const LongCopyOptions& o, std::int64_t length,
                                         Generator& generator) {
    const std::int64_t width = o.dim / o.heads;
    return {
        {"softmax", {}},
        {fmt::format("window {}", o.window),
         [o] { return std::make_unique<SlidingWindowAttention>(o.window); }},
        {fmt::format("linformer {}", o.summaries),
         [=, &generator] {
             return std::make_unique<LinformerAttention>(length, o.summaries, generator);
         }},
        {"linear", [] { return std::make_unique<LinearAttention>(); }},
        {fmt::format("performer {}", o.features),
         [=, &generator] {
             return std::make_unique<PerformerAttention>(width, o.features, generator);
         }},
    };
}

inline std::vector<std::string> contender_names(const LongCopyOptions& o) {
    Generator generator(o.seed);
    std::vector<std::string> names;
    for (const Contender& c : contenders(o, o.length(), generator)) names.push_back(c.name);
    return names;
}

/// ids [B, T] -> logits [B, symbols, alphabet] at the last places.
class CopyModel : public Module {
public:
    Embedding token;
    PositionalEncoding position;
    Encoder encoder;
    Linear head;

    CopyModel(const LongCopyOptions& o, const AttentionFormFactory& form, Generator& generator)
        : Module("CopyModel"),
          token(o.alphabet + 1, o.dim, generator),
          position(Positions::learned, o.length(), o.dim, generator),
          encoder({.layers = o.layers,
                   .layer = {.dim = o.dim,
                             .heads = o.heads,
                             .hidden = 2 * o.dim,
                             .norm_first = true,
                             .form = form},
                   .final_norm = true},
                  generator),
          head(o.dim, o.alphabet, true, generator),
          symbols_(o.symbols) {
        require(o.symbols <= o.distance, "CopyModel: {} symbols do not fit into a distance of {}",
                o.symbols, o.distance);
        register_module("token", token);
        register_module("position", position);
        register_module("encoder", encoder);
        register_module("head", head);
    }

    Tensor operator()(const Tensor& ids) const {
        const ModuleScope scope(name());
        const Tensor h = encoder(position(token(ids)));             // [B, T, C]
        return head(slice(h, 1, h.size(1) - symbols_, h.size(1)));  // [B, m, A]
    }

private:
    std::int64_t symbols_;
};

struct CopyBatch {
    Tensor ids;      // i64 [B, T]
    Tensor targets;  // i64 [B, m]
};

inline CopyBatch copy_batch(const LongCopyOptions& o, Generator& generator) {
    const Tensor targets = randint(0, o.alphabet, {o.batch, o.symbols}, generator);
    const Tensor silence = full({o.batch, o.distance}, static_cast<double>(o.alphabet), DType::i64);
    return {concat({targets, silence}, 1), targets};
}

/// The share of symbols that come out right, in new sequences; `logits` makes [B, symbols, A] of a
/// CopyBatch.
template <class Logits>
double copy_accuracy(const Logits& logits, const LongCopyOptions& o) {
    const NoGradGuard no_grad;
    Generator generator(o.seed + 1000);
    double right = 0, all = 0;
    for (int i = 0; i < 4; ++i) {
        const CopyBatch batch = copy_batch(o, generator);
        const Tensor hits = eq(argmax(logits(batch)), batch.targets);
        right += sum(to(hits, DType::f64)).item();
        all += static_cast<double>(hits.numel());
    }
    return right / all;
}

struct CopyResult {
    double accuracy = 0;
    double milliseconds = 0;  ///< per step
    double megabytes = 0;     ///< at the highest, model and optimiser included
};

/// A model with contender number `which` learns to copy.
inline CopyResult learn_to_copy(const LongCopyOptions& o, std::size_t which) {
    Generator weights(o.seed), data(o.seed + 1);
    const Contender contender = contenders(o, o.length(), weights).at(which);
    const CopyModel model(o, contender.form, weights);
    AdamW optimizer(decay_groups(model, 0), {.lr = o.rate, .beta2 = 0.99});
    release_cached_memory();
    reset_peak_memory();
    const auto start = Clock::now();
    const auto logits = [&](const CopyBatch& batch) { return model(batch.ids); };
    const auto loss = [&] {
        const CopyBatch batch = copy_batch(o, data);
        return cross_entropy(logits(batch), batch.targets);
    };
    train(
        optimizer,
        {.steps = o.steps,
         .schedule = warmup_cosine_schedule(
             {.rate = o.rate, .min_rate = o.rate / 20, .warmup = o.steps / 10, .steps = o.steps})},
        {.loss = loss, .evaluate = {}, .report = {}});
    CopyResult result;
    result.milliseconds = 1000 * seconds_since(start) / static_cast<double>(o.steps);
    result.megabytes = static_cast<double>(memory_statistics().peak) / 1e6;
    result.accuracy = copy_accuracy(logits, o);
    return result;
}

/// One forward and backward pass of one layer over `length` positions: milliseconds and megabytes.
struct Cost {
    double milliseconds = 0;
    double megabytes = 0;
};

inline Cost cost_at(const LongCopyOptions& o, std::size_t which, std::int64_t length) {
    Generator generator(o.seed);
    const Contender contender = contenders(o, length, generator).at(which);
    const EncoderLayer layer(
        {.dim = o.dim, .heads = o.heads, .norm_first = true, .form = contender.form}, generator);
    const Tensor x = randn({1, length, o.dim}, generator).set_requires_grad();
    Cost cost{1e30, 0};
    const std::size_t before = memory_statistics().current;
    reset_peak_memory();
    for (int i = 0; i < 3; ++i) {  // the best of three; the first asks the system for memory
        const auto start = Clock::now();
        Tape tape;
        tape.gradient(sum(layer(x)), {x});
        cost.milliseconds = std::min(cost.milliseconds, 1000 * seconds_since(start));
    }
    cost.megabytes = static_cast<double>(memory_statistics().peak - before) / 1e6;
    return cost;
}

}  // namespace tapestry::examples
