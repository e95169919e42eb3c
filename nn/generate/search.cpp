#include <tapestry/nn/generate/search.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/nn/models/diverged_error.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/order.h>
#include <tapestry/ops/softmax.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tapestry {
namespace {

using Ids = std::vector<std::int64_t>;

void check(const char* what, std::int64_t batch, const SearchOptions& options) {
    require(batch >= 1, "{}: batch must be at least 1, got {}", what, batch);
    require(options.max_length >= 0, "{}: max_length must be >= 0, got {}", what,
            options.max_length);
}

Tensor as_tensor(const Ids& ids) { return tensor(ids, {static_cast<std::int64_t>(ids.size())}); }

// log P of every next token: rows of V.
class NextTokens {
public:
    NextTokens(Decoding& decoding, const Ids& latest) {
        const NoGradGuard no_grad;
        const Tensor logits = decoding.next(as_tensor(latest));  // [N, V]
        vocab_ = static_cast<std::size_t>(logits.size(1));
        values_ = log_softmax(to(logits, DType::f64), -1).to_vector<double>();
        for (const double value : values_) {
            require<DivergedError>(
                !std::isnan(value) && value < std::numeric_limits<double>::infinity(),
                "search: the model's logits contain NaN or infinity: it has diverged");
        }
    }
    std::size_t vocab() const { return vocab_; }
    double log_probability(std::size_t row, std::size_t token) const {
        return values_[row * vocab_ + token];
    }
    std::int64_t likeliest(std::size_t row) const {
        const auto first = values_.begin() + static_cast<std::ptrdiff_t>(row * vocab_);
        return std::max_element(first, first + static_cast<std::ptrdiff_t>(vocab_)) - first;
    }

private:
    std::size_t vocab_;
    std::vector<double> values_;
};

// ---- beam search --------------------------------------------------------------------------------

struct Beam {
    Ids ids;
    double log_probability = 0;
    std::int64_t row = 0;  // in the decoding, of its prefix
};

// The search for one sequence of the batch.
class Search {
public:
    Search(const BeamOptions& options, std::int64_t row)
        : options_(options), growing_{Beam{{}, 0, row}} {}

    const std::vector<Beam>& growing() const { return growing_; }

    // The growing beams are in rows first, first + 1, ... of `next`.
    void extend(const NextTokens& next, std::size_t first) {
        const std::vector<Candidate> best = candidates(next, first);
        std::vector<Beam> extended;
        for (std::size_t rank = 0; rank < best.size() && extended.size() < beams(); ++rank) {
            const Candidate& c = best[rank];
            const Beam& beam = growing_[c.beam];
            if (c.token == options_.end_id) {
                if (rank < beams()) finish(beam.ids, c.log_probability, beam.ids.size() + 1);
                continue;
            }
            Beam longer{beam.ids, c.log_probability, static_cast<std::int64_t>(first + c.beam)};
            longer.ids.push_back(c.token);
            extended.push_back(std::move(longer));
        }
        growing_ = std::move(extended);
        if (cannot_improve()) growing_.clear();
    }

    std::vector<Hypothesis> result() {
        for (const Beam& beam : growing_) {  // cut off at max_length
            finish(beam.ids, beam.log_probability, std::max<std::size_t>(beam.ids.size(), 1));
        }
        return std::move(finished_);
    }

private:
    struct Candidate {
        std::size_t beam;
        std::int64_t token;
        double log_probability;
    };

    std::size_t beams() const { return static_cast<std::size_t>(options_.beams); }

    // Twice as many as there are beams: if half of them are ends, enough remain.
    std::vector<Candidate> candidates(const NextTokens& next, std::size_t first) const {
        std::vector<double> scores;  // [beams, V]
        for (std::size_t beam = 0; beam < growing_.size(); ++beam) {
            for (std::size_t token = 0; token < next.vocab(); ++token) {
                scores.push_back(growing_[beam].log_probability +
                                 next.log_probability(first + beam, token));
            }
        }
        const auto n = static_cast<std::int64_t>(scores.size());
        const auto count = std::min(n, static_cast<std::int64_t>(2 * beams()));
        std::vector<Candidate> best;
        const Tensor places = topk(tensor(scores, {n}), count).indices;
        for (const std::int64_t place : places.to_vector<std::int64_t>()) {
            const auto at = static_cast<std::size_t>(place);
            best.push_back(
                {at / next.vocab(), static_cast<std::int64_t>(at % next.vocab()), scores[at]});
        }
        return best;
    }

    double worth(double log_probability, std::size_t tokens) const {
        const double length = (5 + static_cast<double>(tokens)) / 6;
        return log_probability / std::pow(length, options_.length_penalty);
    }

    void finish(const Ids& ids, double log_probability, std::size_t tokens) {
        finished_.push_back({ids, worth(log_probability, tokens), log_probability});
        std::stable_sort(
            finished_.begin(), finished_.end(),
            [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
        if (finished_.size() > beams()) finished_.pop_back();
    }

    // Further tokens only lower log P; the penalty is most lenient at the maximum length.
    bool cannot_improve() const {
        if (finished_.size() < beams()) return false;
        const auto longest = static_cast<std::size_t>(options_.max_length) + 1;
        return std::all_of(growing_.begin(), growing_.end(), [&](const Beam& beam) {
            return worth(beam.log_probability, longest) <= finished_.back().score;
        });
    }

    const BeamOptions& options_;
    std::vector<Beam> growing_;
    std::vector<Hypothesis> finished_;
};

// One step of all searches; false when nothing grows any more.
bool extend_all(std::vector<Search>& searches, Decoding& decoding, const BeamOptions& options) {
    Ids rows;
    Ids latest;
    for (const Search& search : searches) {
        for (const Beam& beam : search.growing()) {
            rows.push_back(beam.row);
            latest.push_back(beam.ids.empty() ? options.begin_id : beam.ids.back());
        }
    }
    if (rows.empty()) return false;
    decoding.select(as_tensor(rows));
    const NextTokens next(decoding, latest);
    std::size_t first = 0;
    for (Search& search : searches) {
        const std::size_t count = search.growing().size();
        if (count > 0) search.extend(next, first);
        first += count;
    }
    return true;
}

}  // namespace

std::vector<Ids> greedy(Decoding& decoding, std::int64_t batch, const SearchOptions& options) {
    check("greedy", batch, options);
    const auto count = static_cast<std::size_t>(batch);
    std::vector<Ids> written(count);
    std::vector<bool> ended(count, false);
    Ids latest(count, options.begin_id);
    for (std::int64_t t = 0; t < options.max_length; ++t) {
        const NextTokens next(decoding, latest);
        for (std::size_t i = 0; i < count; ++i) {
            latest[i] = next.likeliest(i);
            if (latest[i] == options.end_id) ended[i] = true;
            if (!ended[i]) written[i].push_back(latest[i]);
        }
        if (std::find(ended.begin(), ended.end(), false) == ended.end()) break;
    }
    return written;
}

std::vector<std::vector<Hypothesis>> beam_search(Decoding& decoding, std::int64_t batch,
                                                 const BeamOptions& options) {
    check("beam_search", batch, options);
    require(options.beams >= 1, "beam_search: beams must be at least 1, got {}", options.beams);
    require(options.length_penalty >= 0 && std::isfinite(options.length_penalty),
            "beam_search: length penalty must be finite and >= 0, got {}", options.length_penalty);
    std::vector<Search> searches;
    for (std::int64_t row = 0; row < batch; ++row) searches.emplace_back(options, row);
    for (std::int64_t t = 0; t < options.max_length; ++t) {
        if (!extend_all(searches, decoding, options)) break;
    }
    std::vector<std::vector<Hypothesis>> results;
    for (Search& search : searches) results.push_back(search.result());
    return results;
}

}  // namespace tapestry
