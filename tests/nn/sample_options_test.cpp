// Restricted and penalised sampling against plain loops over all tokens, and how a sample ends.
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/generate/stop_texts.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace tapestry;
using test::check_throws;
using Ids = std::vector<std::int64_t>;

namespace {

// A model with these logits after any input: the head's first column is the logits.
struct Constant {
    Generator generator{1};
    GPT model;
    std::vector<double> logits;

    explicit Constant(const std::vector<double>& values)
        : model({.vocab = std::ssize(values),
                 .context = 3,
                 .layers = 1,
                 .heads = 1,
                 .dim = 2,
                 .tied_head = false},
                generator) {
        model.eval();
        model.final_norm.weight.fill_(0);
        model.final_norm.bias.copy_(tensor<float>({1, 0}));
        for (std::size_t i = 0; i < values.size(); ++i) {
            logits.push_back(static_cast<float>(values[i]));
            model.head.weight.mutable_data<float>()[2 * i] = static_cast<float>(values[i]);
        }
    }
};

// Hugging Face's processors in their order, in plain loops over the whole vocabulary; then the
// inverse of the cumulative distribution at u, the likeliest token first.
std::int64_t in_plain_loops(std::vector<double> z, const Ids& ids, const SampleOptions& o,
                            double u) {
    const std::size_t begin =
        o.repeat_last == 0
            ? 0
            : ids.size() - std::min(ids.size(), static_cast<std::size_t>(o.repeat_last));
    for (const std::int64_t id :
         std::set<std::int64_t>(ids.begin() + static_cast<std::ptrdiff_t>(begin), ids.end())) {
        double& value = z[static_cast<std::size_t>(id)];
        value = value < 0 ? value * o.repeat_penalty : value / o.repeat_penalty;
    }
    std::vector<std::size_t> order(z.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return z[a] > z[b]; });
    if (o.temperature == 0) return static_cast<std::int64_t>(order[0]);
    const std::size_t k =
        o.top_k == 0 ? z.size() : std::min(static_cast<std::size_t>(o.top_k), z.size());
    std::vector<double> p;  // by rank
    double sum = 0;
    for (std::size_t i = 0; i < k; ++i) {
        p.push_back(std::exp((z[order[i]] - z[order[0]]) / o.temperature));
        sum += p.back();
    }
    double nucleus = 0;
    std::size_t kept = 0;
    while (kept < k && nucleus < o.top_p * sum) nucleus += p[kept++];
    p.resize(std::max<std::size_t>(kept, 1));
    while (p.size() > 1 && p.back() < o.min_p * p.front()) p.pop_back();
    const double all = std::accumulate(p.begin(), p.end(), 0.0);
    double below = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        below += p[i];
        if (u * all < below) return static_cast<std::int64_t>(order[i]);
    }
    return static_cast<std::int64_t>(order[p.size() - 1]);
}

// The share of each token among 4000.
std::vector<double> shares(const Constant& constant, SampleOptions options) {
    options.tokens = 4000;
    Generator drawing(11);
    std::vector<double> counts(constant.logits.size());
    for (const std::int64_t id : sample(constant.model, {0}, options, drawing)) {
        counts.at(static_cast<std::size_t>(id)) += 1.0 / 4000;
    }
    return counts;
}

bool close(const std::vector<double>& a, const std::vector<double>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](double x, double y) { return y == 0 ? x == 0 : std::abs(x - y) < 0.03; });
}

std::vector<double> logs(const std::vector<double>& probabilities) {
    std::vector<double> z;
    for (const double p : probabilities) z.push_back(std::log(p));
    return z;
}

}  // namespace

TEST_CASE("sample: min_p keeps what has a fraction of the largest probability") {
    const Constant constant(logs({0.1, 0.4, 0.3, 0.2}));
    CHECK(close(shares(constant, {.temperature = 1, .min_p = 0.6}), {0, 0.571, 0.429, 0}));
    CHECK(close(shares(constant, {.temperature = 1, .min_p = 0.4}), {0, 0.444, 0.333, 0.222}));
    CHECK(close(shares(constant, {.temperature = 1, .min_p = 1}), {0, 1, 0, 0}));
    CHECK(close(shares(constant, {.temperature = 1, .min_p = 0}), {0.1, 0.4, 0.3, 0.2}));
    // After the temperature, as in Hugging Face: 1/2 squares 0.3 / 0.4 to 0.5625, 0.2 / 0.4 to
    // 0.25.
    CHECK(close(shares(constant, {.temperature = 0.5, .min_p = 0.6}), {0, 1, 0, 0}));
    CHECK(close(shares(constant, {.temperature = 0.5, .min_p = 0.5}), {0, 0.64, 0.36, 0}));
}

TEST_CASE("sample: repeat_penalty divides positive logits and multiplies others, once per token") {
    // Token 1 has the logit 2, token 2 -0.5, others -20. With penalty 4 the repeated 1 falls to 0.5
    // and the repeated 2 to -2; so 1 stays ahead of 2 either way.
    const Constant constant({-20, 2, -0.5, -20});
    const auto first = [&](const Ids& prompt, SampleOptions options) {
        options.tokens = 1;
        options.probabilities = 4;
        Generator drawing(1);
        return sample(constant.model, prompt, options, drawing).at(0);
    };
    const SampleOptions greedy{.temperature = 0, .repeat_penalty = 4.5};
    CHECK_EQ(first({1, 1, 1}, greedy), 1);  // 2 / 4.5 = 0.44 > -0.5; three times would be 0.02
    const Constant below({-20, -0.4, -0.5, -20});
    Generator drawing(1);
    // -0.4 -> -0.6 < -0.5: dividing would have made it -0.27.
    CHECK_EQ(
        sample(below.model, {1}, {.tokens = 1, .temperature = 0, .repeat_penalty = 1.5}, drawing),
        Ids{2});
    // Alternates: of the last token alone.
    CHECK_EQ(
        sample(below.model, {1},
               {.tokens = 4, .temperature = 0, .repeat_penalty = 1.5, .repeat_last = 1}, drawing),
        Ids{2, 1, 2, 1});
    // Of the last 64, both are penalised from the second token on, and of all of them as well.
    for (const std::int64_t last : {64, 0}) {
        CHECK_EQ(sample(below.model, {1},
                        {.tokens = 4, .temperature = 0, .repeat_penalty = 1.5, .repeat_last = last},
                        drawing),
                 Ids{2, 1, 1, 1});
    }
}

TEST_CASE("sample: all options together give what plain loops give") {
    Generator generator(5);
    std::vector<double> values;
    for (int i = 0; i < 200; ++i) values.push_back(8 * generator.uniform() - 4);
    const Constant constant(values);
    std::int64_t differing = 0;  // from a sample without min_p and penalty
    for (const SampleOptions& options : std::vector<SampleOptions>{
             {.tokens = 60, .temperature = 1, .min_p = 0.2},
             {.tokens = 60, .temperature = 1, .repeat_penalty = 1.3},
             {.tokens = 60, .temperature = 1, .repeat_penalty = 0.7, .repeat_last = 3},
             {.tokens = 60, .temperature = 0, .repeat_penalty = 1.2, .repeat_last = 0},
             {.tokens = 60, .temperature = 2, .top_k = 50, .top_p = 0.8, .min_p = 0.6},
             {.tokens = 60,
             .temperature = 0.7,
             .top_p = 0.95,
             .min_p = 0.05,
             .repeat_penalty = 1.1},
             {.tokens = 60,
             .temperature = 3,
             .top_k = 20,
             .min_p = 0.5,
             .repeat_penalty = 2,
             .repeat_last = 0}}) {
        Generator drawing(7), same(7), plain(7);
        Ids ids{0, 3};
        const Ids drawn = sample(constant.model, ids, options, drawing);
        REQUIRE_EQ(drawn.size(), 60);
        for (const std::int64_t id : drawn) {
            const double u = options.temperature == 0 ? 0 : same.uniform();
            REQUIRE_EQ(id, in_plain_loops(constant.logits, ids, options, u));
            ids.push_back(id);
        }
        SampleOptions without = options;
        without.min_p = 0;
        without.repeat_penalty = 1;
        differing += drawn != sample(constant.model, {0, 3}, without, plain);
    }
    CHECK_EQ(differing, 7);
}

TEST_CASE("sample: an end id ends it and is not part of it") {
    const Constant constant(logs({0.1, 0.4, 0.3, 0.2}));
    Generator drawing(3), same(3);
    const Ids whole = sample(constant.model, {0}, {.tokens = 200, .temperature = 1}, drawing);
    const auto end = std::find(whole.begin(), whole.end(), 3);
    REQUIRE(end != whole.end());
    REQUIRE(end != whole.begin());
    Ids told;
    std::vector<SampledToken> choices;
    const SampleOptions options{
        .tokens = 200, .temperature = 1, .end = 3, .on_choice = [&](const SampledToken& token) {
            choices.push_back(token);
        }};
    const Ids ended = sample(constant.model, {3}, options, same, [&](std::int64_t id) {
        told.push_back(id);
        return true;
    });
    CHECK_EQ(ended, Ids(whole.begin(), end));
    CHECK_EQ(told, ended);
    CHECK_EQ(choices.size(), ended.size() + 1);
    CHECK_EQ(choices.back().id, 3);
    CHECK(choices.back().likeliest.empty());
}

TEST_CASE("sample: probabilities are the model's own, the likeliest first") {
    const std::vector<double> p{0.1, 0.4, 0.3, 0.2};
    const Constant constant(logs(p));
    std::int64_t choices = 0;
    const SampleOptions options{
        .tokens = 20,
        .temperature = 3,
        .min_p = 0.5,
        .repeat_penalty = 2,
        .probabilities = 9,
        .on_choice = [&](const SampledToken& token) {
            ++choices;
            CHECK_EQ(token.probability,
                     doctest::Approx(p[static_cast<std::size_t>(token.id)]).epsilon(1e-5));
            REQUIRE_EQ(token.likeliest.size(), 4);
            const Ids order{1, 2, 3, 0};
            for (std::size_t i = 0; i < 4; ++i) {
                CHECK_EQ(token.likeliest[i].first, order[i]);
                CHECK_EQ(token.likeliest[i].second,
                         doctest::Approx(p[static_cast<std::size_t>(order[i])]).epsilon(1e-5));
            }
        }};
    Generator drawing(1);
    sample(constant.model, {0}, options, drawing);
    CHECK_EQ(choices, 20);
}

TEST_CASE("stop texts: what may begin one waits, and the first complete one ends the text") {
    const auto pass = [](const std::vector<std::string>& stops,
                         const std::vector<std::string>& pieces) {
        StopTexts watch(stops);
        std::vector<std::string> passed;
        for (const std::string& piece : pieces) passed.push_back(watch.next(piece));
        passed.push_back(watch.finish());
        passed.emplace_back(watch.found() ? "found" : "");
        return passed;
    };
    using Texts = std::vector<std::string>;
    CHECK_EQ(pass({}, {"a", "b"}), Texts{"a", "b", "", ""});
    CHECK_EQ(pass({"end"}, {"an e", "nd", "x"}), Texts{"an ", "", "", "", "found"});
    CHECK_EQ(pass({"end"}, {"an e", "nt", "en"}), Texts{"an ", "ent", "", "en", ""});
    CHECK_EQ(pass({"aab"}, {"a", "a", "a", "b"}), Texts{"", "", "a", "", "", "found"});
    CHECK_EQ(pass({"\nUser:", "\n\n"}, {"x\n", "\ny"}), Texts{"x", "", "", "found"});
    CHECK_EQ(pass({"bc", "a"}, {"xabc"}), Texts{"x", "", "found"});
    CHECK_EQ(pass({"abc", "b"}, {"xa", "b", "c"}), Texts{"x", "a", "", "", "found"});
    test::check_message<ValueError>([] { StopTexts({"x", ""}); }, "sample: a stop text is empty");
}

TEST_CASE("sample text: the end of a document and stop texts end it") {
    const Constant constant(logs({0.02, 0.4, 0.38, 0.2}));
    const CharTokenizer tokenizer(
        U"\x03"
        U"abc");
    const auto text = [&](SampleOptions options) {
        options.tokens = 400;
        options.temperature = 1;
        Generator drawing(3);
        return sample_text(constant.model, tokenizer, "c", options, drawing);
    };
    const std::string whole = text({.past_end = true});
    CHECK_EQ(whole.size(), 401);
    const std::size_t end = whole.find('\x03');
    REQUIRE(end != std::string::npos);
    CHECK_EQ(text({}), whole.substr(0, end));
    const std::size_t stop = whole.find("ab", 1);
    REQUIRE(stop < end);
    CHECK_EQ(text({.stop = {"ab"}}), whole.substr(0, stop));
    CHECK_EQ(text({.stop = {"zz", "ab"}}), whole.substr(0, stop));
    CHECK_EQ(text({.stop = {"zz"}}), whole.substr(0, end));
    // The prompt's own are not searched, also not those that begin in it.
    CHECK(text({.stop = {"c"}}).starts_with("c"));
    CHECK_GT(text({.stop = {"c"}}).size(), 1);
    // Nothing is shown that the result does not have.
    std::string shown;
    Generator drawing(3);
    const std::string result = sample_text(constant.model, tokenizer, "c",
                                           {.tokens = 400, .temperature = 1, .stop = {"ab"}},
                                           drawing, [&](const std::string& piece) {
                                               shown += piece;
                                               return true;
                                           });
    CHECK_EQ(shown, result);
    test::check_message<ValueError>([&] { text({.stop = {""}}); }, "sample: a stop text is empty");
}

TEST_CASE("sample: restrictions that are refused") {
    const Constant constant(logs({0.1, 0.4, 0.3, 0.2}));
    Generator drawing(1);
    const auto with = [&](const SampleOptions& options, const Ids& prompt = {0}) {
        return [&, prompt, options] { sample(constant.model, prompt, options, drawing); };
    };
    check_throws<ValueError>(with({.min_p = -0.1}), "sample: min_p must be in [0, 1], got -0.1");
    check_throws<ValueError>(with({.min_p = NAN}), "sample: min_p must be in [0, 1], got nan");
    check_throws<ValueError>(with({.repeat_penalty = 0}),
                             "sample: repeat_penalty must be finite and > 0, got 0");
    check_throws<ValueError>(with({.repeat_last = -1}), "sample: repeat_last must be >= 0, got -1");
    check_throws<ValueError>(with({.probabilities = -1}),
                             "sample: probabilities must be >= 0, got -1");
    // Beyond the context (3), which the model does not look at.
    check_throws<IndexError>(with({.repeat_penalty = 2}, {7, 0, 0, 0}),
                             "sample: id 7 is not in 0..3");
}
