#include <tapestry/autograd/profile/profiler.h>

#include <tapestry/autograd/profile/work.h>

#include <algorithm>

namespace tapestry {
namespace {

bool is_number(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// `key(row)` is what the rows of a sum have in common.
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

double Profiler::lap() const { return std::chrono::duration<double>(Clock::now() - last_).count(); }

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
    const double seconds = lap();
    auto [found, fresh] = outside_.try_emplace(std::string(what));
    if (fresh) found->second.op = what;
    add(found->second.forward, seconds, flops, bytes);
    resume();
}

void Profiler::recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) {
    const double seconds = lap();
    const OpWork work = forward_work(op, inputs, outputs);
    add(row(op.module_path(), op.name()).forward, seconds, work.flops, work.bytes);
    accumulating_ = op.module_path();
    resume();
}

void Profiler::walking(const Op&) {
    const double seconds = lap();
    add(row(accumulating_, "accumulate").backward, seconds, 0, 0);
    resume();
}

void Profiler::walked(Op& op, const Tensors& incoming, Tensors& outgoing) {
    const double seconds = lap();
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
