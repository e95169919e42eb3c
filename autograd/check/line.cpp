#include <tapestry/autograd/check/line.h>

namespace tapestry::checker {

const Sample& Line::at(double t) {
    const auto found = known_.find(t);
    return found != known_.end() ? found->second : known_.emplace(t, f_(t)).first->second;
}

}  // namespace tapestry::checker
