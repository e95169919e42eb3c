// How einsum evaluates an equation: the order of many operands, and the entries on the tape. The
// catalogue tests its values.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/ops/contraction.h>
#include <tapestry/ops/einsum.h>

#include <algorithm>
#include <limits>
#include <string>

using namespace tapestry;

namespace {

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

// Letters a .. z as labels 0 .. 25.
LabelSet labels(const std::string& term) {
    LabelSet set = 0;
    for (const char c : term) set |= set_of(c - 'a');
    return set;
}

std::vector<LabelSet> labels(const std::vector<std::string>& terms) {
    std::vector<LabelSet> sets;
    for (const std::string& term : terms) sets.push_back(labels(term));
    return sets;
}

// Multiplications of one order; checks that it uses every operand once.
double cost_of(std::vector<LabelSet> tensors, LabelSet output, const LabelSizes& sizes,
               const Pairs& pairs) {
    const std::size_t given = tensors.size();
    double cost = 0;
    std::vector<bool> gone(2 * given - 1, false);
    for (const auto& [a, b] : pairs) {
        REQUIRE(std::max(a, b) < tensors.size());
        REQUIRE_FALSE((gone[a] || gone[b] || a == b));
        gone[a] = gone[b] = true;
        LabelSet asked = output;
        for (std::size_t i = 0; i < tensors.size(); ++i) asked |= gone[i] ? 0 : tensors[i];
        cost += volume(tensors[a] | tensors[b], sizes);
        tensors.push_back((tensors[a] | tensors[b]) & asked);
    }
    CHECK_EQ(pairs.size(), given - 1);
    return cost;
}

// The minimum over all orders, by exhaustive search.
double least_cost(const std::vector<LabelSet>& tensors, LabelSet output, const LabelSizes& sizes) {
    if (tensors.size() == 1) return 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        for (std::size_t j = i + 1; j < tensors.size(); ++j) {
            std::vector<LabelSet> rest;
            LabelSet asked = output;
            for (std::size_t k = 0; k < tensors.size(); ++k) {
                if (k == i || k == j) continue;
                rest.push_back(tensors[k]);
                asked |= tensors[k];
            }
            const LabelSet both = tensors[i] | tensors[j];
            rest.push_back(both & asked);
            least = std::min(least, volume(both, sizes) + least_cost(rest, output, sizes));
        }
    }
    return least;
}

LabelSizes sizes_of(const std::string& letters, const std::vector<double>& values) {
    LabelSizes sizes;
    sizes.fill(1);
    for (std::size_t i = 0; i < letters.size(); ++i) {
        sizes[static_cast<std::size_t>(letters[i] - 'a')] = values[i];
    }
    return sizes;
}

std::string taped(const std::string& equation, const std::vector<Shape>& shapes) {
    Tape tape;
    Tensors operands;
    for (const Shape& shape : shapes) operands.push_back(ones(shape).set_requires_grad());
    einsum(equation, operands);
    std::string names;
    for (const auto& op : tape.entries()) names += (names.empty() ? "" : " ") + op->name();
    return names;
}

}  // namespace

TEST_CASE("einsum: a matrix product is a matmul and no more") {
    CHECK_EQ(taped("ij,jk->ik", {{2, 3}, {3, 4}}), "matmul");
    CHECK_EQ(taped("bij,bjk->bik", {{5, 2, 3}, {5, 3, 4}}), "matmul");
    CHECK_EQ(taped("ij,kj->ik", {{2, 3}, {4, 3}}), "permute matmul");
    CHECK_EQ(taped("bqhd,bkhd->bhqk", {{5, 2, 3, 4}, {5, 6, 3, 4}}), "permute permute matmul");
    CHECK_EQ(taped("ij->ji", {{2, 3}}), "permute");
    CHECK_EQ(taped("ij,ij->ij", {{2, 3}, {2, 3}}), "mul");
    CHECK_EQ(taped("ij,kl->k", {{2, 3}, {4, 5}}), "sum sum reshape mul");
}

TEST_CASE("einsum: the result lies in memory as the output says, where one product can do it") {
    CHECK(einsum("ij,jk->ik", {ones({2, 3}), ones({3, 4})}).is_contiguous());
    CHECK(einsum("ij,jk->ki", {ones({2, 3}), ones({3, 4})}).is_contiguous());
    CHECK(einsum("bij,bkj->bki", {ones({5, 2, 3}), ones({5, 4, 3})}).is_contiguous());
}

TEST_CASE("einsum: a vector at the end of a chain comes first") {
    const auto sizes = sizes_of("ijkl", {100, 100, 100, 1});
    const auto chain = labels({"ij", "jk", "kl"});
    const Pairs pairs = contraction_order(chain, labels("il"), sizes);
    CHECK_EQ(pairs.front(), std::pair<std::size_t, std::size_t>(1, 2));
    CHECK_EQ(cost_of(chain, labels("il"), sizes, pairs), 20'000);
}

TEST_CASE("einsum: up to eight operands in the cheapest of all orders") {
    Generator generator(5);
    const std::string letters = "abcdefgh";
    for (int trial = 0; trial < 20; ++trial) {
        std::vector<double> values(letters.size());
        const std::vector<std::string> terms{"ab", "bcd", "de", "aef", "cg", "gh"};
        for (double& value : values) {
            value = static_cast<double>(1 + randint(1, 9, {}, generator).item<std::int64_t>());
        }
        const auto sizes = sizes_of(letters, values);
        const auto tensors = labels(terms);
        const LabelSet output = labels(trial % 2 == 0 ? "fh" : "ah");
        const Pairs exact = contraction_order(tensors, output, sizes);
        CHECK_EQ(cost_of(tensors, output, sizes, exact), least_cost(tensors, output, sizes));
    }
}

TEST_CASE("einsum: beyond eight, greedily, and not by much more than need be") {
    std::vector<std::string> terms;
    for (char c = 'a'; c < 'm'; ++c) terms.push_back({c, static_cast<char>(c + 1)});
    const auto sizes = sizes_of("abcdefghijklm", {9, 2, 8, 3, 7, 4, 6, 5, 5, 6, 4, 7, 3});
    const auto tensors = labels(terms);
    const LabelSet output = labels("am");
    const Pairs greedy = contraction_order(tensors, output, sizes);
    double from_the_left = 0;
    LabelSet made = tensors[0];
    for (std::size_t i = 1; i < tensors.size(); ++i) {
        from_the_left += volume(made | tensors[i], sizes);
        made = labels({'a', static_cast<char>('b' + i)});
    }
    CHECK_LT(cost_of(tensors, output, sizes, greedy), from_the_left);
}
