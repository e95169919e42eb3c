// Greedy and beam search on a tree of known probabilities, compared with exhaustive search; and a
// Transformer's decoding, with and without beams.
#include <tapestry/core/create.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/generate/search.h>
#include <tapestry/nn/models/diverged_error.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/tests/nn/support.h>

#include <algorithm>
#include <cmath>
#include <map>

using namespace tapestry;
using test::check_throws;
using Ids = std::vector<std::int64_t>;

namespace {

constexpr std::int64_t kVocab = 4;
constexpr std::int64_t kEnd = 1;

// Logits after a sequence: random numbers determined by its tokens only.
std::vector<double> logits_after(const Ids& ids, std::uint64_t seed) {
    for (const std::int64_t id : ids) seed = seed * 31 + static_cast<std::uint64_t>(id) + 7;
    Generator generator(seed);
    std::vector<double> logits;
    for (std::int64_t v = 0; v < kVocab; ++v) logits.push_back(4 * generator.uniform());
    return logits;
}

class Tree : public Decoding {
public:
    Tree(std::vector<std::uint64_t> seeds) : seeds_(std::move(seeds)), ids_(seeds_.size()) {}

    Tensor next(const Tensor& ids) override {
        const auto latest = ids.to_vector<std::int64_t>();
        REQUIRE_EQ(latest.size(), ids_.size());
        std::vector<double> all;
        for (std::size_t i = 0; i < latest.size(); ++i) {
            ids_[i].push_back(latest[i]);
            const auto logits = logits_after(ids_[i], seeds_[i]);
            all.insert(all.end(), logits.begin(), logits.end());
        }
        return tensor(all, {static_cast<std::int64_t>(latest.size()), kVocab});
    }
    void select(const Tensor& rows) override {
        std::vector<Ids> ids;
        std::vector<std::uint64_t> seeds;
        for (const auto row : rows.to_vector<std::int64_t>()) {
            ids.push_back(ids_.at(static_cast<std::size_t>(row)));
            seeds.push_back(seeds_.at(static_cast<std::size_t>(row)));
        }
        ids_ = ids;
        seeds_ = seeds;
    }

private:
    std::vector<std::uint64_t> seeds_;
    std::vector<Ids> ids_;
};

double log_probability(const std::vector<double>& logits, std::int64_t id) {
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    return logits[static_cast<std::size_t>(id)] - std::log(sum);
}

double worth(double log_p, std::size_t tokens, double penalty) {
    return log_p / std::pow((5 + static_cast<double>(tokens)) / 6, penalty);
}

// The best of all sequences with at most `room` more tokens, by exhaustive search.
Hypothesis best_of_all(const Ids& so_far, double log_p, std::int64_t room, std::uint64_t seed,
                       double penalty) {
    Ids seen{0};
    seen.insert(seen.end(), so_far.begin(), so_far.end());
    if (room == 0) return {so_far, worth(log_p, so_far.size(), penalty), log_p};
    const auto logits = logits_after(seen, seed);
    Hypothesis best{{}, -1e9, 0};
    for (std::int64_t id = 0; id < kVocab; ++id) {
        const double longer = log_p + log_probability(logits, id);
        Ids ids = so_far;
        Hypothesis h{ids, worth(longer, so_far.size() + 1, penalty), longer};
        if (id != kEnd) {
            ids.push_back(id);
            h = best_of_all(ids, longer, room - 1, seed, penalty);
        }
        if (h.score > best.score) best = h;
    }
    return best;
}

}  // namespace

TEST_CASE("beam_search: with room for everything it finds the best of all sequences") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        for (const double penalty : {0.0, 0.6, 1.0}) {
            Tree tree({seed});
            const auto found = beam_search(
                tree, 1, {{.begin_id = 0, .end_id = kEnd, .max_length = 4}, 256, penalty});
            const Hypothesis best = best_of_all({}, 0, 4, seed, penalty);
            REQUIRE_EQ(found.size(), 1);
            REQUIRE_FALSE(found[0].empty());
            CHECK_EQ(found[0][0].ids, best.ids);
            CHECK(found[0][0].score == doctest::Approx(best.score).epsilon(1e-12));
            CHECK(found[0][0].log_probability ==
                  doctest::Approx(best.log_probability).epsilon(1e-12));
            CHECK(std::is_sorted(found[0].begin(), found[0].end(),
                                 [](const auto& a, const auto& b) { return a.score > b.score; }));
        }
    }
}

TEST_CASE("beam_search: one beam without penalty is greedy search; more find better ones") {
    int better = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const SearchOptions options{.begin_id = 0, .end_id = kEnd, .max_length = 6};
        Tree a({seed});
        Tree b({seed});
        Tree c({seed});
        const auto one = beam_search(a, 1, {options, 1, 0});
        CHECK_EQ(one[0][0].ids, greedy(b, 1, options)[0]);
        const auto four = beam_search(c, 1, {options, 4, 0});
        CHECK(four[0].size() <= 4);
        CHECK(four[0][0].score >= one[0][0].score - 1e-12);
        better += four[0][0].score > one[0][0].score + 1e-12 ? 1 : 0;
    }
    CHECK(better > 0);
}

TEST_CASE("search: a batch gives what its sequences give alone") {
    const SearchOptions options{.begin_id = 0, .end_id = kEnd, .max_length = 5};
    Tree all({3, 4, 5});
    Tree again({3, 4, 5});
    const auto greedy_all = greedy(all, 3, options);
    const auto beams_all = beam_search(again, 3, {options, 3, 0.6});
    for (std::size_t i = 0; i < 3; ++i) {
        Tree alone({3 + i});
        CHECK_EQ(greedy(alone, 1, options)[0], greedy_all[i]);
        Tree anew({3 + i});
        const auto one = beam_search(anew, 1, {options, 3, 0.6});
        REQUIRE_EQ(one[0].size(), beams_all[i].size());
        for (std::size_t k = 0; k < one[0].size(); ++k) {
            CHECK_EQ(one[0][k].ids, beams_all[i][k].ids);
            CHECK_EQ(one[0][k].score, beams_all[i][k].score);
        }
    }
}

TEST_CASE("search: what it refuses") {
    Tree tree({1});
    check_throws<ValueError>([&] { greedy(tree, 0, {}); },
                             "greedy: batch must be at least 1, got 0");
    check_throws<ValueError>([&] { greedy(tree, 1, {.max_length = -1}); },
                             "greedy: max_length must be >= 0, got -1");
    check_throws<ValueError>(
        [&] {
            beam_search(tree, 1, {{}, 0});
        },
        "beam_search: beams must be at least 1, got 0");
    check_throws<ValueError>(
        [&] {
            beam_search(tree, 1, {{}, 1, -1});
        },
        "beam_search: length penalty must be finite and >= 0, got -1");
    struct Broken : Decoding {
        Tensor next(const Tensor&) override { return full({1, 2}, value); }
        void select(const Tensor&) override {}
        double value = NAN;
    } broken;
    for (const double value : {NAN, INFINITY}) {
        broken.value = value;
        check_throws<DivergedError>(
            [&] { greedy(broken, 1, {}); },
            "search: the model's logits contain NaN or infinity: it has diverged");
    }
}

TEST_CASE("search: a logit of -inf forbids its token") {
    struct Forbidding : Decoding {
        Tensor next(const Tensor& latest) override {
            return mul(ones({latest.size(0), 1}), tensor<float>({{-INFINITY, 1, 2}}));
        }
        void select(const Tensor&) override {}
    } decoding;
    const SearchOptions options{.max_length = 3};
    CHECK(greedy(decoding, 1, options) == std::vector<std::vector<std::int64_t>>{{2, 2, 2}});
    const auto hypotheses = beam_search(decoding, 1, {options, 3});
    CHECK_FALSE(hypotheses[0].empty());
    for (const Hypothesis& found : hypotheses[0]) {
        CHECK(std::isfinite(found.log_probability));
        CHECK_EQ(std::count(found.ids.begin(), found.ids.end(), 0), 0);
    }
}

TEST_CASE("TransformerDecoding: greedy search is the likeliest token of the whole, each time") {
    Generator generator(3);
    Transformer model({.source_vocab = 9,
                       .target_vocab = 9,
                       .dim = 16,
                       .heads = 2,
                       .layers = 2,
                       .dropout = 0,
                       .padding_id = 0},
                      generator);
    model.eval();
    const Tensor source = tensor<std::int64_t>({{3, 4, 5}, {6, 7, 0}});
    TransformerDecoding decoding(model, source);
    const SearchOptions options{.begin_id = 1, .end_id = 2, .max_length = 8};
    const auto written = greedy(decoding, 2, options);
    Ids so_far{1};
    for (const std::int64_t id : written[0]) {
        const Tensor target = tensor(so_far, {1, static_cast<std::int64_t>(so_far.size())});
        const auto logits = model(tensor<std::int64_t>({{3, 4, 5}}), target).to_vector<double>();
        const auto last = logits.end() - 9;
        CHECK_EQ(std::max_element(last, logits.end()) - last, id);
        so_far.push_back(id);
    }
    TransformerDecoding again(model, source);
    const auto beams = beam_search(again, 2, {options, 3, 0.6});
    CHECK_EQ(beams.size(), 2);
    TransformerDecoding single(model, tensor<std::int64_t>({{6, 7}}));
    CHECK_EQ(beam_search(single, 1, {options, 3, 0.6})[0][0].ids, beams[1][0].ids);
}

TEST_CASE("sample: the cache changes nothing, inside the context and beyond it") {
    for (const Positions positions : {Positions::learned, Positions::sinusoidal, Positions::rotary,
                                      Positions::alibi, Positions::relative, Positions::none}) {
        const bool added = are_added(positions);
        Generator generator(4);
        GPT model({.vocab = 11,
                   .context = 12,
                   .layers = 2,
                   .heads = 2,
                   .kv_heads = added ? 2 : 1,
                   .dim = 16,
                   .positions = positions,
                   .qk_norm = added ? QKNorm::none : QKNorm::rms,
                   .earlier = added ? 0 : 2,
                   .pairs = added ? 0 : 50,
                   .softcap = added ? 0.0 : 9.0},
                  generator);
        for (Tensor p : model.parameters()) {  // far from uniform logits
            if (p.rank() == 2) p.copy_(normal(p.shape(), 0, 0.4, generator));
        }
        model.eval();
        for (const Ids& prompt : {Ids{3}, Ids{1, 2, 3}, Ids(15, 4)}) {
            Generator a(1);
            Generator b(1);
            const SampleOptions options{.tokens = 30, .temperature = 0};
            SampleOptions without = options;
            without.cache = false;
            CHECK_EQ(sample(model, prompt, options, a), sample(model, prompt, without, b));
        }
    }
}
