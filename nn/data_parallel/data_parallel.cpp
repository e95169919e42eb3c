#include <tapestry/nn/data_parallel/data_parallel.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/data_parallel/gradient_exchange.h>
#include <tapestry/ops/optimizer_step.h>

#include <cmath>
#include <utility>

namespace tapestry {

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

std::unique_ptr<TapeObserver> DataParallel::send_from(GradientSum& sum, double scale) {
    underway_.emplace(flat_, communicator_, parameters_, leaves_, sum, scale);
    return underway_->watch();
}

double DataParallel::reduce(const std::vector<double>& losses) {
    gradient_ = underway_->finish();
    traffic_.gradients += underway_->seconds();
    traffic_.waited += underway_->waited();
    traffic_.to_go = underway_->to_go();
    underway_.reset();
    const double loss = agree(losses);
    if (!moves_.front().empty()) fold_statistics(communicator_, leaves_, moves_);
    moves_.clear();
    return loss;
}

// A process only knows which modules move statistics in its own leaves; their moves can be matched
// because all leaves move the same ones. All processes find the same fault.
void DataParallel::check_kinds(const std::vector<std::vector<double>>& all) const {
    for (int p = 0; p < communicator_.size(); ++p) {
        const Range share = share_of(leaves_, p, communicator_.size());
        for (std::int64_t i = 0; i < share.size(); ++i) {
            const double kind = all[static_cast<std::size_t>(p)][static_cast<std::size_t>(i)];
            require(kind == all[0][0],
                    "data parallel: micro-batch {} moves other running statistics than "
                    "micro-batch 0; all must call the same BatchNorms in the same order",
                    share.begin + i);
        }
    }
}

// Exchanges what all processes must know: which statistics each leaf moves, the losses of all
// subtrees, and the sums of squares.
double DataParallel::agree(const std::vector<double>& own_losses) {
    std::vector<double> mine;
    for (const LeafMoves& moves : moves_) mine.push_back(kind_of(moves));
    mine.insert(mine.end(), own_losses.begin(), own_losses.end());
    Tensors parts;
    for (const FlatParameters::Part& part : flat_.parts(communicator_.rank())) {
        parts.push_back(views::slice(gradient_, 0, part.at, part.at + part.own.size()));
    }
    const RecycledVector<double> squares = sums_of_squares(parts);
    mine.insert(mine.end(), squares.begin(), squares.end());

    std::vector<std::size_t> counts;
    for (int p = 0; p < communicator_.size(); ++p) {
        const Range range = share_of(leaves_, p, communicator_.size());
        counts.push_back(static_cast<std::size_t>(range.size() + flat_.pieces_owned(p)) +
                         subtrees_in(range).size());
    }
    const std::vector<std::vector<double>> all =
        all_gather(communicator_, mine, counts, "losses and norms");
    check_kinds(all);
    KnownSums<double> losses;
    std::vector<std::size_t> next;  // position in each process's numbers
    for (int p = 0; p < communicator_.size(); ++p) {
        const Range range = share_of(leaves_, p, communicator_.size());
        next.push_back(static_cast<std::size_t>(range.size()));
        for (const Leaves& leaves : subtrees_in(range)) {
            losses[leaves.first] = {leaves.count, all[static_cast<std::size_t>(p)][next.back()++]};
        }
    }
    norm_ = norm_of(all, next);
    return tree_sum(losses, 0, leaves_, [](double& left, double right) { left += right; });
}

// Adds the pieces in the order in which one process does. `next` is where each process's pieces
// begin.
double DataParallel::norm_of(const std::vector<std::vector<double>>& all,
                             std::vector<std::size_t> next) const {
    double sum = 0;
    for (std::size_t k = 0; k < flat_.buckets(); ++k) {
        for (std::size_t p = 0; p < all.size(); ++p) {
            const Range share = flat_.share(k, static_cast<int>(p));
            for (std::int64_t at = 0; at < share.size(); at += kGrain) sum += all[p][next[p]++];
        }
    }
    return std::sqrt(sum);
}

bool DataParallel::keeps_slices() const { return OptimizerSlice::is_for(optimizer_); }

void DataParallel::update(double lr, double grad_scale) {
    const int rank = communicator_.rank();
    if (!slice_) slice_.emplace(optimizer_, flat_, rank);
    slice_->step(gradient_, lr, grad_scale);
    gradient_ = Tensor();  // or it would coexist with the next step's
    exchange_slices(flat_.pack(parameters_, rank), parameters_, "parameters");
}

void DataParallel::share_gradients() {
    Tensors gradients = empty_gradients();
    flat_.unpack(gradient_, communicator_.rank(), gradients);
    exchange_slices(gradient_, gradients, "gradients");
    gradient_ = Tensor();
    for (std::size_t i = 0; i < gradients.size(); ++i) parameters_[i].set_grad(gradients[i]);
}

Tensors DataParallel::empty_gradients() const {
    Tensors gradients;
    for (const Tensor& p : parameters_) gradients.emplace_back(p.shape(), p.dtype());
    return gradients;
}

// Sends `mine` to all processes and unpacks theirs into `into`.
void DataParallel::exchange_slices(const Tensor& mine, Tensors& into, std::string_view what) {
    const int rank = communicator_.rank();
    Tensors others;
    std::vector<Sent> sent;
    std::vector<Received> received;
    for (int p = 0; p < communicator_.size(); ++p) {
        others.emplace_back(Shape{p == rank ? 0 : flat_.owned(p)}, flat_.dtype());
        if (p == rank) continue;
        sent.push_back({p, bytes_of(mine)});
        received.push_back({p, mutable_bytes_of(others.back())});
    }
    const double before = communicator_.seconds();
    communicator_.exchange(sent, received, what);
    // A process that has received everything may still owe others messages that MPI has queued and
    // only sends during its calls: if it resumed computing, they would wait for a third of a step.
    barrier(communicator_, what);
    traffic_.parameters += communicator_.seconds() - before;
    for (int p = 0; p < communicator_.size(); ++p) {
        if (p != rank) flat_.unpack(others[static_cast<std::size_t>(p)], p, into);
    }
}

void DataParallel::collect_gradients() {
    if (communicator_.rank() != 0) {
        const Sent sent{0, bytes_of(gradient_)};
        return communicator_.exchange({&sent, 1}, {}, "the whole gradient");
    }
    Tensors gradients = empty_gradients();
    flat_.unpack(gradient_, 0, gradients);
    for (int p = 1; p < communicator_.size(); ++p) {
        Tensor numbers({flat_.owned(p)}, flat_.dtype());
        const Received received{p, mutable_bytes_of(numbers)};
        communicator_.exchange({}, {&received, 1}, "the whole gradient");
        flat_.unpack(numbers, p, gradients);
    }
    for (std::size_t i = 0; i < gradients.size(); ++i) parameters_[i].set_grad(gradients[i]);
}

void DataParallel::collect_state() {
    if (slice_) slice_->collect(communicator_, optimizer_);
}

}  // namespace tapestry
