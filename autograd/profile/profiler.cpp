#include <tapestry/autograd/profile/profiler.h>

#include <algorithm>

namespace tapestry {

// ---- the work of an entry -----------------------------------------------------------------------

namespace {

// An expanded tensor has more elements than its memory holds.
double held_bytes(const Tensor& x) {
    if (!x.defined()) return 0;
    return static_cast<double>(std::min(x.bytes(), x.storage()->bytes()));
}

bool shares_memory(const Tensor& x, const Tensors& with) {
    return std::any_of(with.begin(), with.end(), [&x](const Tensor& other) {
        return other.defined() && other.storage() == x.storage();
    });
}

// The bytes of those of `tensors` that are not views of `others`.
double new_bytes(const Tensors& tensors, const Tensors& others) {
    double bytes = 0;
    for (const Tensor& x : tensors) {
        if (x.defined() && !shares_memory(x, others)) bytes += held_bytes(x);
    }
    return bytes;
}

bool given_before(const Tensors& tensors, std::size_t i) {
    const Tensor& x = tensors[i];
    return std::any_of(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(i),
                       [&x](const Tensor& other) {
                           return other.defined() && other.storage() == x.storage() &&
                                  other.offset() == x.offset();
                       });
}

double forward_bytes(const Op& op, const Tensors& inputs, const Tensors& outputs) {
    const double written = new_bytes(outputs, inputs);
    if (written == 0) return 0;
    const bool only_moves = op.flops() == 0;
    double read = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].defined() || given_before(inputs, i)) continue;
        const double bytes = held_bytes(inputs[i]);
        read += only_moves ? std::min(bytes, written) : bytes;
    }
    return read + written;
}

double operand_bytes(std::span<const Op::Operand> operands) {
    double bytes = 0;
    for (const Op::Operand& x : operands) {
        bytes += static_cast<double>(numel(x.shape)) * static_cast<double>(size_of(x.dtype));
    }
    return bytes;
}

double backward_bytes(const Op& op, const Tensors& incoming, const Tensors& outgoing) {
    const double written = new_bytes(outgoing, incoming);
    if (written == 0) return 0;
    double read = std::min(static_cast<double>(op.saved_bytes()),
                           operand_bytes(op.inputs()) + operand_bytes(op.outputs()));
    for (const Tensor& grad : incoming) read += held_bytes(grad);
    return read + written;
}

double backward_flops(const Op& op) {
    int needed = 0;
    for (std::size_t i = 0; i < op.inputs().size(); ++i) {
        if (op.needs(i) && op.inputs()[i].shape.rank() >= 2) ++needed;
    }
    return op.flops() * std::clamp(needed, 1, 2);
}

}  // namespace

OpWork forward_work(const Op& op, const Tensors& inputs, const Tensors& outputs) {
    return {op.flops(), forward_bytes(op, inputs, outputs)};
}

OpWork backward_work(const Op& op, const Tensors& incoming, const Tensors& outgoing) {
    return {backward_flops(op), backward_bytes(op, incoming, outgoing)};
}

// ---- the profiler -------------------------------------------------------------------------------

namespace {

bool is_number(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// `key(row)` holds what the rows of a sum have in common.
template <class Key>
std::vector<ProfileRow> summed(const std::vector<ProfileRow>& rows, const Key& key) {
    std::map<std::pair<std::string, std::string>, ProfileRow> sums;
    for (const ProfileRow& row : rows) {
        ProfileRow common = key(row);
        const auto place = std::make_pair(common.op, common.module);
        ProfileRow& sum = sums.try_emplace(place, std::move(common)).first->second;
        sum.forward += row.forward;
        sum.backward += row.backward;
    }
    std::vector<ProfileRow> sorted;
    for (const auto& [place, sum] : sums) sorted.push_back(sum);
    std::stable_sort(sorted.begin(), sorted.end(), [](const ProfileRow& a, const ProfileRow& b) {
        return a.total().seconds > b.total().seconds;
    });
    return sorted;
}

template <class Map>
std::vector<ProfileRow> values_of(const Map& map) {
    std::vector<ProfileRow> rows;
    for (const auto& [key, row] : map) rows.push_back(row);
    return rows;
}

}  // namespace

ProfiledWork& ProfiledWork::operator+=(const ProfiledWork& other) {
    calls += other.calls;
    seconds += other.seconds;
    flops += other.flops;
    bytes += other.bytes;
    least += other.least;
    return *this;
}

ProfiledWork ProfileRow::total() const {
    ProfiledWork sum = forward;
    return sum += backward;
}

Profiler::Profiler(MachinePeak peak) : peak_(std::move(peak)), last_(Clock::now()) {}

void Profiler::resume() { last_ = Clock::now(); }

void Profiler::restart() {
    rows_.clear();
    outside_.clear();
    accumulating_.clear();
    resume();
}

ProfileRow& Profiler::row(const std::string& module, std::string_view name) {
    auto [found, fresh] = rows_.try_emplace({module, std::string(name)});
    if (fresh) found->second = {.op = std::string(name), .module = module};
    return found->second;
}

void Profiler::add(ProfiledWork& to, double seconds, double flops, double bytes) const {
    to += {1, seconds, flops, bytes, peak_.least_seconds(flops, bytes)};
}

void Profiler::mark(std::string_view what, double flops, double bytes) {
    const double seconds = seconds_since(last_);
    auto [found, fresh] = outside_.try_emplace(std::string(what));
    if (fresh) found->second.op = what;
    add(found->second.forward, seconds, flops, bytes);
    resume();
}

void Profiler::recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) {
    const double seconds = seconds_since(last_);
    const OpWork work = forward_work(op, inputs, outputs);
    add(row(op.module_path(), op.name()).forward, seconds, work.flops, work.bytes);
    accumulating_ = op.module_path();
    resume();
}

void Profiler::walking(const Op&) {
    const double seconds = seconds_since(last_);
    add(row(accumulating_, "accumulate").backward, seconds, 0, 0);
    resume();
}

void Profiler::walked(Op& op, const Tensors& incoming, Tensors& outgoing) {
    const double seconds = seconds_since(last_);
    const OpWork work = backward_work(op, incoming, outgoing);
    add(row(op.module_path(), op.name()).backward, seconds, work.flops, work.bytes);
    accumulating_ = op.module_path();
    resume();
}

std::vector<ProfileRow> Profiler::rows() const { return values_of(rows_); }

std::vector<ProfileRow> Profiler::outside() const { return values_of(outside_); }

std::string folded_path(std::string_view path, int depth) {
    std::string folded;
    for (int part = 0; !path.empty() && (depth == 0 || part < depth); ++part) {
        const auto end = std::min(path.find('.'), path.size());
        const std::string_view name = path.substr(0, end);
        if (part > 0) folded += '.';
        folded += is_number(name) ? "*" : name;
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return folded;
}

std::vector<ProfileRow> by_op(const std::vector<ProfileRow>& rows) {
    return summed(rows, [](const ProfileRow& row) { return ProfileRow{row.op, ""}; });
}

std::vector<ProfileRow> by_module(const std::vector<ProfileRow>& rows, int depth) {
    return summed(rows, [depth](const ProfileRow& row) {
        return ProfileRow{"", folded_path(row.module, depth)};
    });
}

ProfileRow sum_of(const std::vector<ProfileRow>& rows) {
    ProfileRow sum;
    for (const ProfileRow& row : rows) {
        sum.forward += row.forward;
        sum.backward += row.backward;
    }
    return sum;
}

}  // namespace tapestry
