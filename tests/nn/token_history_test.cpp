// TokenHistory: against tables read by hand, in pieces, and in a GPT that generates.
#include <tapestry/nn/generate/decoding.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/support.h>

using namespace tapestry;
using test::check_throws;

namespace {

constexpr std::int64_t kVocab = 5, kDim = 3;

// Rows of a table, summed: the module's definition.
std::vector<double> by_hand(const TokenHistory& history, const std::vector<std::int64_t>& ids,
                            std::int64_t pairs) {
    std::vector<double> y(ids.size() * kDim);
    const auto at = [&](std::size_t t, std::size_t back) {
        return t >= back ? ids[t - back] : kVocab;
    };
    for (std::size_t t = 0; t < ids.size(); ++t) {
        for (std::int64_t c = 0; c < kDim; ++c) {
            double& sum = y[t * kDim + static_cast<std::size_t>(c)];
            for (std::size_t k = 0; k < history.earlier.size(); ++k) {
                sum += history.earlier[k]->weight.at({at(t, k + 1), c});
            }
            if (pairs > 0) {
                sum += history.pairs->weight.at({(kVocab * at(t, 1) + ids[t]) % pairs, c});
            }
        }
    }
    return y;
}

}  // namespace

TEST_CASE("token history: tables of earlier tokens, and of pairs") {
    const std::vector<std::int64_t> ids{3, 0, 4, 4, 1};
    for (const std::int64_t earlier : {0, 1, 3}) {
        for (const std::int64_t pairs : {0, 7, 30}) {
            if (earlier + pairs == 0) continue;
            CAPTURE(earlier);
            CAPTURE(pairs);
            Generator generator(1);
            TokenHistory history({.vocab = kVocab, .dim = kDim, .earlier = earlier, .pairs = pairs},
                                 generator);
            history.to(DType::f64);
            test::move_parameters(history, 1, 5);
            const Tensor all = history(tensor(ids, {1, 5}));
            test::plain::Numbers wanted(Shape{1, 5, kDim});
            wanted.data = by_hand(history, ids, pairs);
            CHECK(test::difference(all, wanted) < 1e-13);
            // The same in two pieces, the second with the history of the first.
            const Tensor first = tensor<std::int64_t>({{3, 0, 4}}),
                         second = tensor<std::int64_t>({{4, 1}});
            const Tensor known = history.latest(first);
            CHECK_EQ(history(second, known).to_vector<double>(),
                     slice(all, 1, 3, 5).to_vector<double>());
            CHECK_EQ(history.latest(second, known).to_vector<std::int64_t>(),
                     history.latest(tensor(ids, {1, 5})).to_vector<std::int64_t>());
        }
    }
    check_throws<ValueError>([] { TokenHistory({.vocab = 3, .dim = 2}); },
                             "TokenHistory: needs earlier tokens or rows for pairs, got 0 and 0");
    const TokenHistory history({.vocab = kVocab, .dim = kDim, .pairs = 7});
    CHECK_EQ(history.pairs->weight.to_vector<float>(), std::vector<float>(7 * kDim, 0));
    check_throws<ShapeError>(
        [&] {
            history(tensor<std::int64_t>({{1}, {2}}), tensor<std::int64_t>({{1}}));
        },
        "TokenHistory: earlier tokens [1, 1] do not match ids [2, 1]");
}

TEST_CASE("token history: beams that split take what they have read with them") {
    Generator generator(3);
    GPT model({.vocab = 7,
               .context = 8,
               .layers = 1,
               .heads = 2,
               .dim = 8,
               .earlier = 2,
               .pairs = 20,
               .softcap = 5},
              generator);
    model.to(DType::f64);
    test::move_parameters(model, 0.3, 4);
    model.eval();
    GPTDecoding decoding(model);
    decoding.read(tensor<std::int64_t>({{1, 2}, {3, 4}}));
    decoding.select(tensor<std::int64_t>({1, 1, 0}));
    const Tensor next = decoding.next(tensor<std::int64_t>({5, 6, 0}));
    const Tensor whole = model(tensor<std::int64_t>({{3, 4, 5}, {3, 4, 6}, {1, 2, 0}}));
    CHECK(test::close(next, squeeze(slice(whole, 1, 2, 3), 1), 1e-12));
    decoding.clear();
    const Tensor anew = decoding.read(tensor<std::int64_t>({{6}}));
    CHECK(test::close(anew, squeeze(model(tensor<std::int64_t>({{6}})), 1), 1e-12));
}
