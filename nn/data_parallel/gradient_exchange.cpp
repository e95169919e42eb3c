#include <tapestry/nn/data_parallel/gradient_exchange.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/clock.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

class Watch final : public TapeObserver {
public:
    Watch(GradientExchange& gradients, GradientSum& sum, const Tensors& parameters)
        : gradients_(gradients), sum_(sum) {
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            numbers_.emplace(parameters[i].leaf().get(), i);
        }
    }

    void walked(Op&, const Tensors&, Tensors&) override { gradients_.advance(); }
    void completed(Leaf& leaf) override {
        const auto found = numbers_.find(&leaf);
        if (found == numbers_.end()) return;
        sum_.take(found->second);
        gradients_.complete(found->second);
    }

private:
    GradientExchange& gradients_;
    GradientSum& sum_;
    std::unordered_map<const Leaf*, std::size_t> numbers_;
};

// Done when at least one of several messages has arrived.
class AnyOf final : public Underway {
public:
    explicit AnyOf(std::vector<Underway*> all) : all_(std::move(all)) {}

    bool advance() override {
        bool any = false;
        for (Underway* one : all_) any = one->advance() || any;
        return any;
    }
    std::vector<int> awaited() const override {
        std::vector<int> peers;
        for (const Underway* one : all_) {
            const std::vector<int> of_one = one->awaited();
            peers.insert(peers.end(), of_one.begin(), of_one.end());
        }
        return peers;
    }

private:
    std::vector<Underway*> all_;
};

}  // namespace

GradientExchange::GradientExchange(const FlatParameters& flat, Communicator& communicator,
                                   const Tensors& parameters, std::int64_t leaves, GradientSum& sum,
                                   double scale)
    : flat_(flat),
      communicator_(communicator),
      parameters_(parameters),
      leaves_(leaves),
      sum_(sum),
      scale_(scale),
      buckets_(flat.buckets()),
      buckets_of_(parameters.size()),
      complete_(parameters.size()),
      slice_(flat.buckets()) {
    for (std::size_t k = 0; k < buckets_.size(); ++k) {
        for (const FlatParameters::Part& part : flat.parts(flat.bucket(k))) {
            buckets_of_[part.parameter].push_back(k);
            ++buckets_[k].missing;
        }
    }
}

std::unique_ptr<TapeObserver> GradientExchange::watch() {
    return std::make_unique<Watch>(*this, sum_, parameters_);
}

void GradientExchange::complete(std::size_t parameter) {
    if (complete_[parameter]) return;
    complete_[parameter] = true;
    const std::vector<Leaves> own =
        subtrees_in(share_of(leaves_, communicator_.rank(), communicator_.size()));
    const std::vector<Tensors*> whole = sum_.whole();
    for (std::size_t s = 0; s < whole.size(); ++s) {
        require((*whole[s])[parameter].defined(),
                "data parallel: parameter {} {} got no gradient in micro-batch {}; freeze it, or "
                "make the loss always depend on it",
                parameter, parameters_[parameter].shape(), own[s].first);
    }
    for (const std::size_t bucket : buckets_of_[parameter]) {
        if (--buckets_[bucket].missing > 0) continue;
        whole_.push_back(Clock::now());
        ready_.push_back(bucket);
    }
    send_ready();
}

// Limited because each one holds the slices of all other processes' subtrees in addition to its
// own.
std::size_t GradientExchange::most_in_flight() const {
    return std::max<std::size_t>(4, buckets_.size() / 4);
}

// Keeps one place free: see finish().
void GradientExchange::send_ready() {
    while (!ready_.empty() && in_flight_.size() + 1 < most_in_flight()) send(ready_.front());
}

// Sends to each process its slice of all subtrees held here, and posts the receives for theirs;
// each process knows the other's schedule. Frees gradients that are packed completely.
void GradientExchange::send(std::size_t bucket) {
    std::erase(ready_, bucket);
    Bucket& b = buckets_[bucket];
    const std::vector<Tensors*> whole = sum_.whole();
    const auto subtrees = [&](int p) {
        return subtrees_in(share_of(leaves_, p, communicator_.size()));
    };
    const auto dtype = [&](const Leaves& subtree) {
        return sum_dtype(flat_.dtype(), subtree.count);
    };
    const std::vector<Leaves> own_subtrees = subtrees(communicator_.rank());
    const auto pack = [&](std::size_t s, Range slice) {
        return flat_.pack(*whole[s], slice, dtype(own_subtrees[s]));
    };
    const auto channel = static_cast<int>(bucket % Communicator::kChannels);
    const Range own = flat_.share(bucket, communicator_.rank());
    std::vector<Sent> sent;
    std::vector<Received> received;
    for (int p = 0; p < communicator_.size(); ++p) {
        const Range slice = flat_.share(bucket, p);
        if (p == communicator_.rank()) {
            for (std::size_t s = 0; s < whole.size(); ++s) b.incoming.push_back(pack(s, slice));
            continue;
        }
        for (std::size_t s = 0; s < whole.size() && slice.size() > 0; ++s) {
            b.outgoing.push_back(pack(s, slice));
            sent.push_back({p, bytes_of(b.outgoing.back()), channel});
        }
        for (const Leaves& subtree : subtrees(p)) {
            b.incoming.emplace_back(Shape{own.size()}, dtype(subtree));
            if (own.size() == 0) continue;
            received.push_back({p, mutable_bytes_of(b.incoming.back()), channel});
        }
    }
    for (const FlatParameters::Part& part : flat_.parts(flat_.bucket(bucket))) {
        std::erase(buckets_of_[part.parameter], bucket);
        if (!buckets_of_[part.parameter].empty()) continue;
        for (Tensors* of : whole) (*of)[part.parameter] = Tensor();
    }
    if (in_flight_.empty()) since_ = Clock::now();
    in_flight_.push_back(bucket);
    b.messages = communicator_.begin(sent, received);
}

void GradientExchange::advance() {
    const std::vector<std::size_t> looked_at = in_flight_;
    for (const std::size_t bucket : looked_at) {
        if (buckets_[bucket].messages->advance()) arrived(bucket);
    }
    send_ready();
}

void GradientExchange::wait() {
    std::vector<Underway*> messages;
    for (const std::size_t bucket : in_flight_) {
        messages.push_back(buckets_[bucket].messages.get());
    }
    AnyOf any(std::move(messages));
    const Clock::time_point start = Clock::now();
    communicator_.wait(any, "gradients");
    waited_ += seconds_since(start);
    advance();
}

void GradientExchange::arrived(std::size_t bucket) {
    std::erase(in_flight_, bucket);
    if (in_flight_.empty()) seconds_ += seconds_since(since_);
    Bucket& b = buckets_[bucket];
    slice_[bucket] = add_up(std::exchange(b.incoming, {}));
    b.outgoing.clear();
    b.messages.reset();
}

// Sums all processes' subtrees, from left to right.
Tensor GradientExchange::add_up(Tensors subtrees) const {
    KnownSums<Tensor> known;
    std::size_t next = 0;
    for (int p = 0; p < communicator_.size(); ++p) {
        for (const Leaves& leaves : subtrees_in(share_of(leaves_, p, communicator_.size()))) {
            known[leaves.first] = {leaves.count, std::move(subtrees[next++])};
        }
    }
    subtrees.clear();
    Tensor sum = tree_sum(known, 0, leaves_, add_gradient);
    if (scale_ != 1) sum = sum * scale_;
    return to(sum, flat_.dtype());
}

std::vector<double> GradientExchange::to_go() const {
    std::vector<double> all;
    for (const Clock::time_point at : whole_) {
        all.push_back(std::max(0.0, seconds_between(at, finished_)));
    }
    return all;
}

// Processes may complete buckets in different orders, and each could then wait for one that another
// has queued. So one place is reserved for buckets sent in an order common to all: of the buckets
// that are awaited, the first in that order is in flight everywhere.
Tensor GradientExchange::finish() {
    finished_ = Clock::now();
    for (std::size_t i = 0; i < parameters_.size(); ++i) complete(i);
    for (std::size_t k = buckets_.size(); k-- > 0;) {
        if (std::find(ready_.begin(), ready_.end(), k) != ready_.end()) send(k);
        while (in_flight_.size() >= most_in_flight()) wait();
    }
    while (!in_flight_.empty()) wait();
    Tensor all({flat_.owned(communicator_.rank())}, flat_.dtype());
    std::int64_t at = 0;
    for (Tensor& part : slice_) {
        if (part.numel() > 0) views::slice(all, 0, at, at + part.numel()).copy_(part);
        at += part.numel();
        part = Tensor();
    }
    return all;
}

}  // namespace tapestry
