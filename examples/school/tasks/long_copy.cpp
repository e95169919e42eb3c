#include <tapestry/examples/school/tasks/long_copy.h>

#include <tapestry/core/clock.h>

namespace tapestry::examples {

std::vector<Contender> contenders(const LongCopyOptions& o, std::int64_t length,
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

std::vector<std::string> contender_names(const LongCopyOptions& o) {
    Generator generator(o.seed);
    std::vector<std::string> names;
    for (const Contender& c : contenders(o, o.length(), generator)) names.push_back(c.name);
    return names;
}

CopyModel::CopyModel(const LongCopyOptions& o, const AttentionFormFactory& form,
                     Generator& generator)
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

Tensor CopyModel::operator()(const Tensor& ids) const {
    const ModuleScope scope(name());
    const Tensor h = encoder(position(token(ids)));             // [B, T, C]
    return head(slice(h, 1, h.size(1) - symbols_, h.size(1)));  // [B, m, A]
}

CopyBatch copy_batch(const LongCopyOptions& o, Generator& generator) {
    const Tensor targets = randint(0, o.alphabet, {o.batch, o.symbols}, generator);
    const Tensor silence = full({o.batch, o.distance}, static_cast<double>(o.alphabet), DType::i64);
    return {concat({targets, silence}, 1), targets};
}

double copy_accuracy(const std::function<Tensor(const CopyBatch&)>& logits,
                     const LongCopyOptions& o) {
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

CopyResult learn_to_copy(const LongCopyOptions& o, std::size_t which) {
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

Cost cost_at(const LongCopyOptions& o, std::size_t which, std::int64_t length) {
    Generator generator(o.seed);
    const Contender contender = contenders(o, length, generator).at(which);
    const EncoderLayer layer(
        {.dim = o.dim, .heads = o.heads, .norm_first = true, .form = contender.form}, generator);
    const Tensor x = randn({1, length, o.dim}, generator).set_requires_grad();
    Cost cost{1e30, 0};
    const std::size_t before = memory_statistics().current;
    reset_peak_memory();
    for (int i = 0; i < 3; ++i) {  // best of three; the first run allocates memory from the system
        const auto start = Clock::now();
        Tape tape;
        tape.gradient(sum(layer(x)), {x});
        cost.milliseconds = std::min(cost.milliseconds, 1000 * seconds_since(start));
    }
    cost.megabytes = static_cast<double>(memory_statistics().peak - before) / 1e6;
    return cost;
}

}  // namespace tapestry::examples
