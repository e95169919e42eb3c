// Implements attention_costs.h.
#include <tapestry/examples/school/experiments/attention_costs.h>

#include <tapestry/core/clock.h>
#include <tapestry/core/storage.h>
#include <tapestry/examples/school/experiments/least_squares.h>
#include <tapestry/examples/school/tasks/long_copy.h>

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <thread>

namespace tapestry::experiments {
namespace {

// "VmRSS" (current) or "VmHWM" (peak) of this process, in bytes.
double status(const std::string& field) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(field + ":")) {
            return 1024 * std::strtod(line.c_str() + field.size() + 1, nullptr);
        }
    }
    return std::nan("");
}

// A forked child starts with its parent's memory, and its peak starts there. Memory cached by the
// parent, or scratch of its threads, must not serve f unnoticed: hence the fresh thread.
double growth(const std::function<void()>& f) {
    const double before = status("VmRSS");
    std::exception_ptr error;
    std::thread([&] {
        try {
            f();
        } catch (...) {  // an exception leaving the thread would end the process
            error = std::current_exception();
        }
    }).join();
    if (error) std::rethrow_exception(error);
    return status("VmHWM") - before;
}

}  // namespace

double peak_resident(const std::function<void()>& f) {
    release_cached_memory();
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    int ends[2];
    if (::pipe(ends) != 0) return std::nan("");
    const pid_t child = ::fork();
    if (child == 0) {
        double bytes = std::nan("");
        try {
            bytes = growth(f);
        } catch (...) {  // the parent receives NaN
        }
        const bool told = ::write(ends[1], &bytes, sizeof bytes) == sizeof bytes;
        ::_exit(told ? 0 : 1);
    }
    ::close(ends[1]);
    double bytes = std::nan("");
    if (child < 0 || ::read(ends[0], &bytes, sizeof bytes) != sizeof bytes) bytes = std::nan("");
    ::close(ends[0]);
    if (child > 0) ::waitpid(child, nullptr, 0);
    return bytes;
}

// ---- costs

namespace {

constexpr std::int64_t kHeads = 2, kHeadDim = 32;

/// softmax(q k^T / sqrt(D)) v in plain ops, which store the weights [T, S] for backward.
class KeptWeights : public AttentionForm {
public:
    KeptWeights() : AttentionForm("KeptWeights") {}
    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override {
        return matmul(attention_weights(q, k, options), v);
    }
};

// Near sqrt(n), the cheapest stride.
std::int64_t best_stride(std::int64_t length) {
    return std::max<std::int64_t>(1, std::llround(std::sqrt(static_cast<double>(length))));
}

std::vector<Form> make_forms() {
    using Made = std::unique_ptr<AttentionForm>;
    const auto kept = [](std::int64_t) -> Made { return std::make_unique<KeptWeights>(); };
    const auto softmax = [](std::int64_t) -> Made { return std::make_unique<SoftmaxAttention>(); };
    const auto window = [](std::int64_t) -> Made {
        return std::make_unique<SlidingWindowAttention>(64);
    };
    const auto strided = [](std::int64_t length) -> Made {
        return std::make_unique<StridedAttention>(best_stride(length));
    };
    const auto linformer = [](std::int64_t length) -> Made {
        Generator generator(1);
        return std::make_unique<LinformerAttention>(length, 64, generator);
    };
    const auto linear = [](std::int64_t) -> Made { return std::make_unique<LinearAttention>(); };
    const auto performer = [](std::int64_t) -> Made {
        Generator generator(1);
        return std::make_unique<PerformerAttention>(kHeadDim, 64, generator);
    };
    const auto hashing = [](std::int64_t) -> Made {
        Generator generator(1);
        return std::make_unique<LSHAttention>(kHeadDim, 16, 4, generator);
    };
    return {{"softmax, weights kept", kept, 2, 2},     {"softmax", softmax, 2, 1},
            {"softmax, causal", softmax, 2, 1, true},  {"window 64", window, 1, 1},
            {"window 64, causal", window, 1, 1, true}, {"strided", strided, 1.5, 1.5},
            {"linformer 64", linformer, 1, 1},         {"linear", linear, 1, 1},
            {"linear, causal", linear, 1, 1, true},    {"performer 64", performer, 1, 1},
            {"lsh 16 x 4", hashing, 1, 1, false, true}};
}

/// The inputs of one attention, and a forward and backward pass through it.
struct Pass {
    Tensor q, k, v;
    const AttentionForm& form;
    bool causal;

    Pass(const AttentionForm& form_, std::int64_t length, bool causal_)
        : form(form_), causal(causal_) {
        Generator generator(1);
        for (Tensor* x : {&q, &k, &v}) {
            *x = randn({1, kHeads, length, kHeadDim}, generator).set_requires_grad();
        }
        if (form.shares_keys()) k = q;
    }
    /// Returns the operations of the forward pass.
    double operator()() const {
        Tape tape;
        const Tensor loss = sum(form(q, k, v, {.causal = causal}));
        double flops = 0;
        for (const auto& op : tape.entries()) flops += op->flops();
        tape.gradient(loss, {q, k, v});
        return flops;
    }
};

void measure(const Form& form, std::int64_t length, int repetitions, Measured& m) {
    const auto name = [length](const char* what) { return fmt::format("{} {}", what, length); };
    const auto made = form.make(length);
    const Pass pass(*made, length, form.causal);
    const std::size_t before = memory_statistics().current;
    reset_peak_memory();
    double best = 1e30;
    for (int i = 0; i < repetitions; ++i) {
        const auto start = Clock::now();
        m.numbers[name("GFLOP")] = pass() / 1e9;
        best = std::min(best, seconds_since(start));
    }
    m.numbers[name("ms")] = 1000 * best;
    m.numbers[name("MB")] = static_cast<double>(memory_statistics().peak - before) / 1e6;
}

}  // namespace

const std::vector<Form>& attention_forms() {
    static const std::vector<Form> all = make_forms();
    return all;
}

Measured costs_of(const Form& form, std::int64_t longest, int repetitions) {
    Measured m;
    for (std::int64_t length = 128; length <= longest; length *= 2) {
        measure(form, length, repetitions, m);
    }
    // Subtracts the few megabytes that starting threads takes at any length.
    const auto grown = [&](std::int64_t length) {
        const auto made = form.make(length);
        return peak_resident([&] { Pass(*made, length, form.causal)(); }) / 1e6;
    };
    const double start = grown(16);
    std::vector<double> lengths;
    std::map<std::string, std::vector<double>> tail;
    for (std::int64_t length = longest / 4; length <= longest; length *= 2) {
        // at least the tensors' memory, because noise could make the difference negative
        m.numbers[fmt::format("process MB {}", length)] =
            std::max(grown(length) - start, m.numbers[fmt::format("MB {}", length)]);
        lengths.push_back(static_cast<double>(length));
        for (const char* what : {"GFLOP", "ms", "MB", "process MB"}) {
            tail[what].push_back(m.numbers[fmt::format("{} {}", what, length)]);
        }
    }
    for (const auto& [exponent_of, what] : {std::pair{"work", "GFLOP"},
                                            {"time", "ms"},
                                            {"memory", "MB"},
                                            {"process", "process MB"}}) {
        m.numbers[exponent_of] = exponent(lengths, tail[what]);
    }
    return m;
}

Measured copies(const Form& form, std::int64_t steps, double rate, std::uint64_t seed) {
    const examples::LongCopyOptions o{.distance = 128,
                                      .symbols = 8,
                                      .alphabet = 8,
                                      .dim = kHeads * kHeadDim,
                                      .heads = kHeads,
                                      .steps = steps,
                                      .rate = rate,
                                      .seed = seed};
    Generator weights(seed), data(seed + 1);
    const AttentionFormFactory factory = [&] { return form.make(o.length()); };
    const examples::CopyModel model(o, factory, weights);
    AdamW optimizer(decay_groups(model, 0), {.lr = o.rate, .beta2 = 0.99});
    const auto logits = [&](const examples::CopyBatch& batch) { return model(batch.ids); };
    const auto loss_of = [&](const examples::CopyBatch& batch) {
        return cross_entropy(logits(batch), batch.targets);
    };
    train(optimizer,
          {.steps = steps,
           .schedule = warmup_cosine_schedule(
               {.rate = o.rate, .min_rate = o.rate / 20, .warmup = steps / 10, .steps = steps})},
          {.loss = [&] { return loss_of(copy_batch(o, data)); }, .evaluate = {}, .report = {}});
    const NoGradGuard no_grad;
    Generator unseen(seed + 2000);
    double loss = 0;
    constexpr int kBatches = 8;
    for (int i = 0; i < kBatches; ++i) loss += loss_of(copy_batch(o, unseen)).item() / kBatches;
    return {{{"right", examples::copy_accuracy(logits, o)}, {"loss", loss}}};
}

}  // namespace tapestry::experiments
