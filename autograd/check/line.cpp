#include <tapestry/autograd/check/line.h>

namespace tapestry::checker {

const Sample& Line::at(double t) {
    const auto found = known_.find(t);
    return found != known_.end() ? found->second : known_.emplace(t, f_(t)).first->second;
}

double Line::only_side() const {
    const double next = 0x1p-13 * scale_;
    if (reach() >= next) return 0;
    const double side = reach_.above > reach_.below ? 1 : -1;
    return reach(side) >= next ? side : 0;
}

}  // namespace tapestry::checker
