#include <tapestry/nn/train/retention.h>

#include <algorithm>
#include <cmath>

namespace tapestry {

std::vector<StoredCheckpoint> superseded(const std::vector<StoredCheckpoint>& stored,
                                         const Retention& retention) {
    std::vector<StoredCheckpoint> gone;
    std::int64_t kept = 0;
    for (std::size_t i = stored.size(); i-- > 0;) {
        const StoredCheckpoint& one = stored[i];
        const bool rewinds = retention.rewind_every > 0 && one.step % retention.rewind_every == 0;
        const bool latest = one.purpose == CheckpointPurpose::resume && kept++ < retention.keep;
        const bool begins = std::find(retention.begun.begin(), retention.begun.end(), one.step) !=
                            retention.begun.end();
        const bool stays =
            i + 1 == stored.size() || latest || rewinds || begins || one.step == retention.best;
        if (!stays) gone.push_back(one);
    }
    return gone;
}

std::int64_t rewind_distance(std::int64_t steps, double step_seconds, double bytes, double budget) {
    constexpr double kSecondsAway = 0.5;
    const double room = std::floor(budget / bytes);
    if (!(room >= 3)) return 0;
    const double fitting = std::ceil(static_cast<double>(steps) / room);
    const double near = std::ceil(kSecondsAway / std::max(step_seconds, 1e-6));
    return static_cast<std::int64_t>(std::clamp(std::max(fitting, near), 1.0, 1e15));
}

}  // namespace tapestry
