#include <tapestry/nn/train/data_parallel.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/optimizer_step.h>

#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace tapestry {
namespace {

struct Leaves {
    std::int64_t first;
    std::int64_t count;
};

// The largest subtrees within a range of leaves, from left to right: what a GradientSum has of
// them.
std::vector<Leaves> subtrees_in(Range range) {
    std::vector<Leaves> all;
    for (std::int64_t first = range.begin; first < range.end;) {
        std::int64_t count = 1;
        while (first % (2 * count) == 0 && first + 2 * count <= range.end) count *= 2;
        all.push_back({first, count});
        first += count;
    }
    return all;
}

// The tree over `count` leaves from `first` on, of which `known` has the subtrees, by their first
// leaves; these are used up.
template <class T, class Add>
T tree_sum(std::map<std::int64_t, std::pair<std::int64_t, T>>& known, std::int64_t first,
           std::int64_t count, const Add& add) {
    const auto found = known.find(first);
    if (found != known.end() && found->second.first == count)
        return std::move(found->second.second);
    const auto left =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count - 1)));
    T sum = tree_sum(known, first, left, add);
    add(sum, tree_sum(known, first + left, count - left, add));
    return sum;
}

template <class T>
using Known = std::map<std::int64_t, std::pair<std::int64_t, T>>;

}  // namespace

DataParallel::DataParallel(Optimizer& optimizer, Communicator& communicator, std::int64_t leaves)
    : optimizer_(optimizer),
      communicator_(communicator),
      leaves_(leaves),
      parameters_(optimizer.parameters()),
      flat_(parameters_, communicator.size()) {
    require(communicator.size() <= leaves,
            "data parallel: {} processes for the {} micro-batches of a step; each needs one",
            communicator.size(), leaves);
}

Range DataParallel::share() const {
    return share_of(leaves_, communicator_.rank(), communicator_.size());
}

// All subtrees of all processes, from left to right, this process's slice of each.
std::vector<Tensor> DataParallel::receive_subtrees(const std::vector<GradientSubtree>& own) {
    std::vector<Tensor> outgoing, all;
    std::vector<Sent> sent;
    std::vector<Received> received;
    for (int p = 0; p < communicator_.size(); ++p) {
        const bool is_own = p == communicator_.rank();
        for (const GradientSubtree& subtree : own) {
            outgoing.push_back(flat_.pack(subtree.gradients, slice(p)));
            if (is_own) all.push_back(outgoing.back());
            if (!is_own) sent.push_back({p, bytes_of(outgoing.back())});
        }
        if (is_own) continue;
        const Range range = share_of(leaves_, p, communicator_.size());
        for (std::size_t i = subtrees_in(range).size(); i > 0; --i) {
            all.emplace_back(Shape{slice(communicator_.rank()).size()}, flat_.dtype());
            received.push_back({p, mutable_bytes_of(all.back())});
        }
    }
    communicator_.exchange(sent, received, "gradients");
    return all;
}

double DataParallel::reduce(const std::vector<GradientSubtree>& own) {
    for (const GradientSubtree& subtree : own) {
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            require(subtree.gradients[i].defined(),
                    "data parallel: parameter {} {} got no gradient in micro-batch {}; freeze it, "
                    "or let the loss depend on it always",
                    i, parameters_[i].shape(), subtree.first);
        }
    }
    std::vector<Tensor> all = receive_subtrees(own);
    Known<Tensor> known;
    std::size_t next = 0;
    for (int p = 0; p < communicator_.size(); ++p) {
        for (const Leaves& leaves : subtrees_in(share_of(leaves_, p, communicator_.size()))) {
            known[leaves.first] = {leaves.count, std::move(all[next++])};
        }
    }
    all.clear();
    gradient_ = tree_sum(known, 0, leaves_, [](Tensor& sum, const Tensor& other) {
        accumulate_gradients_in_place(sum, other);
    });
    const double loss = agree(own);
    if (!moves_.front().empty()) fold_statistics(communicator_, leaves_, moves_);
    moves_.clear();
    return loss;
}

// A process knows of its own leaves alone which modules have statistics that move: that all leaves
// move the same ones is what makes theirs comparable. All find the same fault.
void DataParallel::check_kinds(const std::vector<std::vector<double>>& all) const {
    for (int p = 0; p < communicator_.size(); ++p) {
        const Range share = share_of(leaves_, p, communicator_.size());
        for (std::int64_t i = 0; i < share.size(); ++i) {
            const double kind = all[static_cast<std::size_t>(p)][static_cast<std::size_t>(i)];
            require(kind == all[0][0],
                    "data parallel: micro-batch {} moves other running statistics than "
                    "micro-batch 0; all have to call the same BatchNorms in the same order",
                    share.begin + i);
        }
    }
}

// What all have to know: which statistics each leaf moves, the losses of all subtrees, and the sums
// of squares.
double DataParallel::agree(const std::vector<GradientSubtree>& own) {
    std::vector<double> mine;
    for (const LeafMoves& moves : moves_) mine.push_back(kind_of(moves));
    for (const GradientSubtree& subtree : own) mine.push_back(subtree.loss);
    Tensors parts;
    for (const FlatParameters::Part& part : flat_.parts(slice(communicator_.rank()))) {
        parts.push_back(views::slice(gradient_, 0, part.at, part.at + part.own.size()));
    }
    const std::vector<double> squares = sums_of_squares(parts);
    mine.insert(mine.end(), squares.begin(), squares.end());

    std::vector<std::size_t> counts;
    for (int p = 0; p < communicator_.size(); ++p) {
        const std::int64_t pieces = (slice(p).size() + kGrain - 1) / kGrain;
        const Range range = share_of(leaves_, p, communicator_.size());
        counts.push_back(static_cast<std::size_t>(range.size() + pieces) +
                         subtrees_in(range).size());
    }
    const std::vector<std::vector<double>> all =
        all_gather(communicator_, mine, counts, "losses and norms");
    check_kinds(all);
    Known<double> losses;
    double sum = 0;
    for (int p = 0; p < communicator_.size(); ++p) {
        const std::vector<double>& of = all[static_cast<std::size_t>(p)];
        const Range range = share_of(leaves_, p, communicator_.size());
        auto next = static_cast<std::size_t>(range.size());
        for (const Leaves& leaves : subtrees_in(range)) {
            losses[leaves.first] = {leaves.count, of[next++]};
        }
        sum = std::accumulate(of.begin() + static_cast<std::ptrdiff_t>(next), of.end(), sum);
    }
    norm_ = std::sqrt(sum);
    return tree_sum(losses, 0, leaves_, [](double& left, double right) { left += right; });
}

void DataParallel::update(double lr, double grad_scale) {
    const Range own = slice(communicator_.rank());
    if (!slice_) slice_.emplace(optimizer_, flat_, own);
    slice_->step(gradient_, lr, grad_scale);
    const Tensor mine = flat_.pack(parameters_, own);
    std::vector<Tensor> others;
    std::vector<Sent> sent;
    std::vector<Received> received;
    for (int p = 0; p < communicator_.size(); ++p) {
        others.emplace_back(Shape{p == communicator_.rank() ? 0 : slice(p).size()}, flat_.dtype());
        if (p == communicator_.rank()) continue;
        sent.push_back({p, bytes_of(mine)});
        received.push_back({p, mutable_bytes_of(others.back())});
    }
    communicator_.exchange(sent, received, "parameters");
    for (int p = 0; p < communicator_.size(); ++p) {
        if (p == communicator_.rank()) continue;
        flat_.unpack(others[static_cast<std::size_t>(p)], slice(p), parameters_);
    }
}

void DataParallel::collect_gradients() {
    if (communicator_.rank() != 0) {
        const Sent sent{0, bytes_of(gradient_)};
        return communicator_.exchange({&sent, 1}, {}, "the whole gradient");
    }
    Tensors gradients;
    for (const Tensor& p : parameters_) gradients.emplace_back(p.shape(), p.dtype());
    flat_.unpack(gradient_, slice(0), gradients);
    for (int p = 1; p < communicator_.size(); ++p) {
        Tensor numbers({slice(p).size()}, flat_.dtype());
        const Received received{p, mutable_bytes_of(numbers)};
        communicator_.exchange({}, {&received, 1}, "the whole gradient");
        flat_.unpack(numbers, slice(p), gradients);
    }
    for (std::size_t i = 0; i < gradients.size(); ++i) parameters_[i].set_grad(gradients[i]);
}

void DataParallel::collect_state() {
    if (slice_) slice_->collect(communicator_, optimizer_);
}

}  // namespace tapestry
