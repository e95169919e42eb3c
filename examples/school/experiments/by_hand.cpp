// One attention step on "The robot hit the ball", with numbers so small that you can check them
// with a calculator: every table is one line of the formula.
#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/tapestry.h>

#include <cmath>

namespace tapestry::experiments::by_hand {
namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

const std::vector<std::string> kWords{"the", "robot", "hit", "the (2)", "ball"};
const std::vector<std::string> kFeatures{"article", "thing", "action", "alive"};
constexpr std::size_t kHit = 2;

// The words' features: [5 words][4 features].
const Matrix kX{{1, 0, 0, 0}, {0, 1, 0, 1}, {0, 0, 1, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}};
// What each feature queries, what it matches as a key, and its value: [4 features][4]. An action
// queries things (2) and living beings (1); that is all that "hit" needs.
const Matrix kWq{{0, 1, 0, 0}, {0, 0, 1, 0}, {0, 2, 0, 1}, {1, 0, 0, 0}};
const Matrix kWk{{0, 0, 1, 0}, {0, 2, 0, 0}, {1, 0, 0, 1}, {0, 0, 0, 2}};
const Matrix kWv{{0.5, 0, 0, 0}, {0, 3, 1, 0}, {1, 0, 0, 2}, {0, 1, 0, 4}};

double dot(const Vector& a, const Vector& b) {
    double result = 0;
    for (std::size_t i = 0; i < a.size(); ++i) result += a[i] * b[i];
    return result;
}

Vector column(const Matrix& m, std::size_t c) {
    Vector result;
    for (const Vector& row : m) result.push_back(row[c]);
    return result;
}

Matrix product(const Matrix& a, const Matrix& b) {
    Matrix result;
    for (const Vector& row : a) {
        Vector& to = result.emplace_back();
        for (std::size_t c = 0; c < b[0].size(); ++c) to.push_back(dot(row, column(b, c)));
    }
    return result;
}

// The step for the query "hit", line by line of the formula.
struct Steps {
    Matrix q, k, v;                                // [5][4]
    Vector scores, scaled, exponentials, weights;  // [5]
    Vector output;                                 // [4]
};

// Rounds to the decimals usual by hand, for exponentials and weights.
double written(double value, int decimals) {
    const double unit = std::pow(10.0, decimals);
    return decimals < 0 ? value : std::round(value * unit) / unit;
}

Steps step_of_hit(int decimals = -1) {
    Steps s;
    s.q = product(kX, kWq);
    s.k = product(kX, kWk);
    s.v = product(kX, kWv);
    double total = 0;
    for (const Vector& key : s.k) {
        s.scores.push_back(dot(s.q[kHit], key));
        s.scaled.push_back(s.scores.back() / 2);  // sqrt(d_k) = sqrt(4)
        s.exponentials.push_back(written(std::exp(s.scaled.back()), decimals));
        total += s.exponentials.back();
    }
    for (const double e : s.exponentials) s.weights.push_back(written(e / total, decimals));
    for (std::size_t c = 0; c < 4; ++c) s.output.push_back(dot(s.weights, column(s.v, c)));
    return s;
}

Tensor as_tensor(const Matrix& m, bool transposed) {
    Vector values;
    for (const Vector& row : m) values.insert(values.end(), row.begin(), row.end());
    const auto rows = static_cast<std::int64_t>(m.size());
    const Tensor x = tensor(values, {rows, static_cast<std::int64_t>(values.size()) / rows});
    return (transposed ? transpose(x, 0, 1) : x).clone();
}

// The same through a MultiHeadAttention of one head with these matrices: {weights, output} of the
// query "hit".
struct Library {
    Vector weights, output;
};

Library through_library() {
    MultiHeadAttention attention({.dim = 4, .bias = false});
    attention.to(DType::f64);
    // Linear computes x W^T with W_Q, W_K and W_V stacked by rows.
    attention.qkv->weight.copy_(
        concat({as_tensor(kWq, true), as_tensor(kWk, true), as_tensor(kWv, true)}));  // [12, 4]
    attention.output.weight.copy_(eye(4));
    AttentionRecord record;
    const Tensor y = attention(unsqueeze(as_tensor(kX, false), 0), {.record = &record});
    const auto hit = static_cast<std::int64_t>(kHit);
    return {slice(record.weights, 2, hit, hit + 1).to_vector<double>(),
            slice(y, 1, hit, hit + 1).to_vector<double>()};
}

double largest_difference(const Vector& a, const Vector& b) {
    double most = a.size() == b.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
        most = std::max(most, std::abs(a[i] - b[i]));
    }
    return most;
}

Table matrix_table(std::string title, const std::vector<std::string>& names, const Matrix& m) {
    Table table{std::move(title), {"", "1", "2", "3", "4"}, {}};
    for (std::size_t r = 0; r < m.size(); ++r) {
        table.rows.push_back({names[r]});
        for (const double value : m[r]) table.rows.back().push_back(value);
    }
    return table;
}

std::vector<Table> input_tables(const Steps& s) {
    Table words{"X: what the words are", {"", "article", "thing", "action", "alive"}, {}};
    for (std::size_t r = 0; r < kX.size(); ++r) {
        words.rows.push_back({kWords[r], kX[r][0], kX[r][1], kX[r][2], kX[r][3]});
    }
    return {words,
            matrix_table("W_Q: what each feature asks for", kFeatures, kWq),
            matrix_table("W_K: what it answers to", kFeatures, kWk),
            matrix_table("W_V: what it has to say", kFeatures, kWv),
            matrix_table("Q = X W_Q", kWords, s.q),
            matrix_table("K = X W_K", kWords, s.k),
            matrix_table("V = X W_V", kWords, s.v)};
}

Table step_table(const Steps& s, const Library& library) {
    Table table{"The query of \"hit\" against every key",
                {"key", "q . k", "/ sqrt(4)", "e^", "weight", "weight (library)"},
                {}};
    for (std::size_t i = 0; i < kWords.size(); ++i) {
        table.rows.push_back({kWords[i], s.scores[i], s.scaled[i], fixed(s.exponentials[i], 4),
                              fixed(s.weights[i], 4), fixed(library.weights[i], 4)});
    }
    return table;
}

Table output_table(const Steps& s, const Steps& rounded, const Library& library) {
    Table table{
        "Output for \"hit\": the values, weighted and added up", {"", "1", "2", "3", "4"}, {}};
    const auto add = [&](const char* name, const Vector& values) {
        table.rows.push_back({name});
        for (const double v : values) table.rows.back().push_back(fixed(v, 4));
    };
    add("by hand, 4 decimals", rounded.output);
    add("by hand, in full", s.output);
    add("library", library.output);
    return table;
}

const Design kExact = Design::computed();

Report report(const Setting&, const Outcomes&) {
    const Steps s = step_of_hit();
    const Steps rounded = step_of_hit(4);
    const Library library = through_library();
    Report report;
    report.tables = input_tables(s);
    report.tables.push_back(step_table(s, library));
    report.tables.push_back(output_table(s, rounded, library));
    Plot plot{.title = "Where \"hit\" looks",
              .x = {.label = "key", .names = kWords},
              .y = {.label = "weight", .low = 0}};
    plot.series.push_back({.x = {0, 1, 2, 3, 4}, .y = s.weights, .mark = Mark::bars});
    report.figures = {{"weights", "the weights of the query \"hit\"", svg(plot)}};
    report.decided = {
        {"library_agrees", exactly(std::max(largest_difference(s.weights, library.weights),
                                            largest_difference(s.output, library.output)))},
        {"paper_is_enough", exactly(largest_difference(s.output, rounded.output))},
        {"looks_at_the_robot", exactly(s.weights[1])}};
    return report;
}

}  // namespace

Experiment experiment() {
    return {
        "by_hand",
        "What is one attention step, by hand? \"The robot hit the ball\"",
        "Each word asks (q), answers (k) and tells (v); a word's output is the mean of what all "
        "tell, weighted by how well their answers fit its question:\n\n"
        "    Q = X W_Q, K = X W_K, V = X W_V\n"
        "    scores = q . k / sqrt(d_k), weights = e^score / sum of all e^score\n"
        "    output = sum of weight times v\n\n"
        "Here d_k = 4, so the division is by 2, and the matrices were chosen so that an "
        "action asks for things, the more so for what is alive. The two \"the\" get the same "
        "weight: without positions they are one and the same.\n\n"
        "Source: Vaswani et al. 2017, \"Attention Is All You Need\", equation 1.",
        {{"library_agrees", "A step by hand and MultiHeadAttention are the same.",
          "largest difference of a weight or an output", below(1e-14), kExact},
         {"paper_is_enough", "Four decimals on paper give the output to within 0.0005.",
          "largest difference of an output", below(5e-4), kExact},
         {"looks_at_the_robot", "\"hit\" takes most of what it learns from \"robot\".",
          "weight of \"robot\"", above(0.5), kExact}},
        nullptr,
        report};
}

}  // namespace tapestry::experiments::by_hand
