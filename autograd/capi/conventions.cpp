#include <tapestry/autograd/capi/conventions.h>

#include <tapestry/autograd/capi/buffers.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tapestry::capi {
namespace {

using Values = std::vector<double>;

class Probe {
public:
    Probe(const Callbacks& callbacks, const Values& x, std::size_t m)
        : callbacks_(callbacks), x_(x), m_(m) {
        for (std::size_t i = 0; i < m;
             ++i) {  // of either sign, none alike; 1 first, as for a single output
            w_.push_back((i % 2 == 0 ? 1 : -1) *
                         (1 + static_cast<double>(i) / static_cast<double>(i + 3)));
        }
    }

    std::vector<std::string> run() {
        const Values y = value(0);
        if (apart(y, value(0)) > kVisible) return std::move(found_);  // not deterministic
        ask_again("f", y, value(1));
        const Values usual = gradient(0);
        const Values again = gradient(0);
        if (apart(usual, again) > kVisible) {
            add("{} gives another result when it is called twice after one call of f: it "
                "overwrites "
                "what f has saved, or keeps something between calls",
                callbacks_.vjp_name);
        } else {
            ask_again(callbacks_.vjp_name, usual, gradient(1));
        }
        if (found_.empty()) keeps_pointers(usual);
        return std::move(found_);
    }

private:
    template <class... Args>
    void add(fmt::format_string<Args...> text, Args&&... args) {
        std::string one = fmt::format(text, std::forward<Args>(args)...);
        if (std::find(found_.begin(), found_.end(), one) == found_.end()) found_.push_back(one);
    }

    // `now`: with a buffer that was not full of zeros.
    void ask_again(const char* who, const Values& before, const Values& now) {
        if (const auto i = unwritten(before, now)) {
            add("{} does not write element {} of its result: a caller's buffer need not be full "
                "of zeros",
                who, *i);
            return;
        }
        if (apart(before, now) <= kVisible) return;
        add("{} adds to its result, or reads it, instead of writing it: a caller's buffer need not "
            "be full of zeros",
            who);
    }

    void check_argument(const char* who, const char* what, const Buffer& buffer) {
        if (const auto at = buffer.changed()) {
            add("{} overwrites its {}, at element {}: the memory is the caller's", who, what, *at);
        }
        if (!buffer.has_its_guards()) add("{} writes outside of its {}", who, what);
    }

    Values value(double filling) {
        Buffer x(x_), y(m_, filling);
        callbacks_.f(x.data(), y.data());
        check_argument("f", "x", x);
        if (!y.has_its_guards()) add("f writes beyond the {} numbers of its result", m_);
        x.spoil();
        return y.now();
    }

    Values gradient(double filling) {
        Buffer x(x_), w(w_), g(x_.size(), filling);
        callbacks_.vjp(x.data(), w.data(), g.data());
        check_argument(callbacks_.vjp_name, "x", x);
        check_argument(callbacks_.vjp_name, "cotangent", w);
        if (!g.has_its_guards()) {
            add("{} writes beyond the {} numbers of its result", callbacks_.vjp_name, x_.size());
        }
        return g.now();
    }

    // f and the vjp with memory that is spoilt between the calls, but still there
    void keeps_pointers(const Values& usual) {
        Buffer x(x_), y(m_, 0), old_w(w_), old_g(x_.size(), 0);
        callbacks_.f(x.data(), y.data());
        callbacks_.vjp(x.data(), old_w.data(), old_g.data());
        for (Buffer* one : {&x, &y, &old_w, &old_g}) one->spoil();
        if (apart(usual, gradient(0)) <= kVisible) return;
        add("{} reads memory that f or itself was given in an earlier call: a pointer is kept "
            "instead of a copy",
            callbacks_.vjp_name);
    }

    const Callbacks& callbacks_;
    const Values& x_;
    std::size_t m_;
    Values w_ = {};
    std::vector<std::string> found_ = {};
};

}  // namespace

std::vector<std::string> broken_conventions(const Callbacks& callbacks,
                                            const std::vector<double>& x, std::size_t m) {
    if (x.empty() || m == 0) return {};
    return Probe(callbacks, x, m).run();
}

}  // namespace tapestry::capi
