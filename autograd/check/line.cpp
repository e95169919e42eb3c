#include <tapestry/autograd/check/line.h>

namespace tapestry::checker {

const Sample& Line::at(double t) {
    const auto found = known_.find(t);
    return found != known_.end() ? found->second : known_.emplace(t, f_(t)).first->second;
}

double Line::only_side() const {
    constexpr double kNext = 0x1p-20;  // of x's own size
    if (reach() >= kNext * scale_) return 0;
    const double side = reach_.above > reach_.below ? 1 : -1;
    return reach(side) >= kNext * scale_ ? side : 0;
}

}  // namespace tapestry::checker
