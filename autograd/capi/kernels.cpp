#include <tapestry/autograd/capi/kernels.h>

#include <tapestry/autograd/capi/buffers.h>
#include <tapestry/autograd/capi/kernel_arrays.h>
#include <tapestry/autograd/check/layouts.h>
#include <tapestry/core/create.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

namespace tapestry::capi {
namespace {

using checker::kLayouts;
using checker::Layout;
using Values = std::vector<double>;

constexpr std::size_t kMostCombinations = 30;  // of wanted gradients

Tensors laid_out(const Tensors& arrays, Layout layout, bool& any) {
    Tensors views = arrays;
    for (Tensor& x : views) {
        const auto view = x.defined() ? checker::laid_out(x, layout) : std::nullopt;
        if (!view) continue;
        any = true;
        x = *view;
    }
    return views;
}

Tensors contiguous(const Tensors& arrays) {
    Tensors all;
    for (const Tensor& x : arrays) all.push_back(x.defined() ? x.clone() : Tensor());
    return all;
}

class KernelProbe {
public:
    KernelProbe(const Kernel& kernel, const PlainInputs& x) : kernel_(kernel) {
        for (std::size_t k = 0; k < x.size(); ++k)
            inputs_.push_back(tensor(x[k], kernel.inputs[k]));
        std::size_t count = 0;
        for (const Shape& shape : kernel.results) {
            Values g;
            for (std::int64_t i = 0; i < numel(shape);
                 ++i, ++count) {  // of either sign, none alike
                const auto place = static_cast<double>(count);
                g.push_back((count % 2 == 0 ? 1 : -1) * (1 + place / (place + 3)));
            }
            cotangents_.push_back(tensor(g, shape));
        }
    }

    std::vector<std::string> run() {
        if (apart_by(value(inputs_, 0), value(inputs_, 0))) return std::move(found_);  // random
        usual_ = gradients(inputs_, cotangents_);
        ask_again();
        if (!found_.empty()) return std::move(found_);
        cotangent_layouts();
        input_layouts();
        missing_cotangents();
        unwanted_gradients();
        one_array_twice();
        return std::move(found_);
    }

private:
    using Answers = std::vector<Values>;

    template <class... Args>
    void add(fmt::format_string<Args...> text, Args&&... args) {
        std::string one = fmt::format(text, std::forward<Args>(args)...);
        if (std::find(found_.begin(), found_.end(), one) == found_.end()) found_.push_back(one);
    }

    // The first array that differs visibly, of those that both have.
    static std::optional<std::size_t> apart_by(const Answers& a, const Answers& b) {
        for (std::size_t k = 0; k < a.size(); ++k) {
            if (!a[k].empty() && !b[k].empty() && apart(a[k], b[k]) > kVisible) return k;
        }
        return {};
    }

    static bool are_finite(const Answers& answers) {
        return std::all_of(answers.begin(), answers.end(), [](const Values& one) {
            return std::all_of(one.begin(), one.end(), [](double x) { return std::isfinite(x); });
        });
    }

    void check_arguments(const char* who, const char* what, const Given& given) {
        if (const auto at = given.changed()) {
            add("{} overwrites {} {}, at element {}: the memory is the caller's", who, what,
                at->first, at->second);
        }
    }

    Answers value(const Tensors& inputs, double filling) {
        const Given given(inputs);
        const Written results(kernel_.results, filling, {});
        kernel_.f(given.arrays(), given.strides(), results.arrays());
        check_arguments("f", "input", given);
        if (const auto k = results.beyond()) add("f writes beyond the numbers of result {}", *k);
        return results.now();
    }

    // After a call of f, whose results a vjp may need.
    Answers gradients(const Tensors& inputs, const Tensors& cotangents,
                      const std::vector<bool>& wanted = {}) {
        value(inputs, 0);
        return only_gradients(inputs, cotangents, 0, wanted);
    }

    Answers only_gradients(const Tensors& inputs, const Tensors& cotangents, double filling,
                           const std::vector<bool>& wanted = {}) {
        const Given x(inputs), g(cotangents);
        const Written results(kernel_.inputs, filling, wanted);
        kernel_.vjp(x.arrays(), x.strides(), g.arrays(), g.strides(), results.arrays());
        check_arguments("the vjp", "input", x);
        check_arguments("the vjp", "cotangent", g);
        if (const auto k = results.beyond()) {
            add("the vjp writes beyond the numbers of the gradient of input {}", *k);
        }
        return results.now();
    }

    void ask_again() {
        value(inputs_, 0);
        only_gradients(inputs_, cotangents_, 0);
        if (apart_by(usual_, only_gradients(inputs_, cotangents_, 0))) {
            add("the vjp gives another result when it is called twice after one call of f: it "
                "overwrites what f has saved, or keeps something between calls");
            return;
        }
        note_unwritten("f", "result", value(inputs_, 0), value(inputs_, 1));
        note_unwritten("the vjp", "the gradient of input", usual_,
                       only_gradients(inputs_, cotangents_, 1));
    }

    void note_unwritten(const char* who, const char* what, const Answers& zeros,
                        const Answers& ones) {
        for (std::size_t k = 0; k < zeros.size(); ++k) {
            if (const auto i = unwritten(zeros[k], ones[k])) {
                add("{} does not write element {} of {} {}: a caller's buffer need not be full of "
                    "zeros",
                    who, *i, what, k);
            } else if (apart(zeros[k], ones[k]) > kVisible) {
                add("{} adds to {} {}, or reads it, instead of writing it: a caller's buffer need "
                    "not be full of zeros",
                    who, what, k);
            }
        }
    }

    // A sentence if `ask` gives other gradients than `expected`, or fails.
    template <class Ask>
    void compare(const std::string& how, const Answers& expected, const Ask& ask) {
        try {
            if (const auto k = apart_by(expected, ask())) {
                add("the gradient of input {} is another one {}", *k, how);
            }
        } catch (const std::exception& error) {
            add("the vjp fails {}: {}", how, error.what());
        }
    }

    void cotangent_layouts() {
        for (const Layout layout : kLayouts) {
            bool any = false;
            const Tensors views = laid_out(cotangents_, layout, any);
            if (!any) continue;
            compare(fmt::format("if the cotangent is {}", to_string(layout)),
                    gradients(inputs_, contiguous(views)),
                    [&] { return gradients(inputs_, views); });
        }
    }

    // A kernel may refuse them, as not defined there.
    void input_layouts() {
        for (const Layout layout : kLayouts) {
            bool any = false;
            const Tensors views = laid_out(inputs_, layout, any);
            if (!any) continue;
            const std::string how = fmt::format("if an input is {}", to_string(layout));
            try {
                const Tensors same = contiguous(views);
                const Answers expected = value(same, 0);
                const Answers slopes = gradients(same, cotangents_);
                if (!are_finite(expected) || !are_finite(slopes)) continue;  // they show nothing
                if (const auto k = apart_by(expected, value(views, 0))) {
                    add("result {} is another one {}", *k, how);
                } else if (const auto i = apart_by(slopes, gradients(views, cotangents_))) {
                    add("the gradient of input {} is another one {}", *i, how);
                }
            } catch (const std::domain_error&) {
                continue;
            }
        }
    }

    void missing_cotangents() {
        const std::size_t count = cotangents_.size();
        for (std::size_t k = 0; k < count && count > 1; ++k) {
            for (const bool alone : {false, true}) {
                Tensors missing = cotangents_, zero = cotangents_;
                for (std::size_t i = 0; i < count; ++i) {
                    if ((i == k) == alone) continue;
                    missing[i] = Tensor();
                    zero[i] = zeros(cotangents_[i].shape(), DType::f64);
                }
                const std::string how =
                    alone ? fmt::format("if only cotangent {} is not NULL", k)
                          : fmt::format("if cotangent {} is NULL, because nothing uses the result",
                                        k);
                compare(how, gradients(inputs_, zero), [&] { return gradients(inputs_, missing); });
            }
        }
    }

    void unwanted_gradients() {
        const std::size_t count = inputs_.size();
        const std::size_t told = std::min<std::size_t>(count, 8);  // by bits up to the most
        const std::size_t all =
            count == told ? (std::size_t{1} << count) - 1 : kMostCombinations + 1;
        std::vector<std::vector<bool>> sets;
        for (std::size_t bits = 1; bits < all && bits <= kMostCombinations; ++bits) {
            sets.emplace_back(count);
            for (std::size_t k = 0; k < told; ++k) sets.back()[k] = (bits >> k & 1U) != 0;
        }
        for (const auto& wanted : sets) {
            std::vector<std::size_t> names;
            for (std::size_t k = 0; k < count; ++k) {
                if (wanted[k]) names.push_back(k);
            }
            compare(fmt::format("if only that of input {} is wanted", fmt::join(names, " and ")),
                    usual_, [&] { return gradients(inputs_, cotangents_, wanted); });
        }
    }

    void one_array_twice() {
        for (std::size_t a = 0; a < inputs_.size(); ++a) {
            for (std::size_t b = a + 1; b < inputs_.size(); ++b) {
                if (inputs_[a].shape() != inputs_[b].shape()) continue;
                Tensors copies = inputs_, same = inputs_;
                copies[b] = inputs_[a].clone();
                same[b] = inputs_[a];
                const auto expected = gradients_if_defined(copies);
                if (!expected || !are_finite(*expected)) continue;
                compare(fmt::format("if inputs {} and {} are one array", a, b), *expected,
                        [&] { return gradients(same, cotangents_); });
            }
        }
    }

    // Of inputs that are not x: equal ones may be where f is not defined.
    std::optional<Answers> gradients_if_defined(const Tensors& inputs) {
        try {
            return gradients(inputs, cotangents_);
        } catch (const std::domain_error&) {
            return {};
        }
    }

    const Kernel& kernel_;
    Tensors inputs_ = {}, cotangents_ = {};
    Answers usual_ = {};
    std::vector<std::string> found_ = {};
};

Tensors tensors_of(const PlainInputs& numbers, const std::vector<Shape>& shapes) {
    Tensors all;
    for (std::size_t k = 0; k < shapes.size(); ++k) all.push_back(tensor(numbers[k], shapes[k]));
    return all;
}

}  // namespace

PlainRule contiguous_rule(const Kernel& kernel) {
    const auto f = [&kernel](const PlainInputs& x) {
        const Given given(tensors_of(x, kernel.inputs));
        Results results(kernel.results);
        kernel.f(given.arrays(), given.strides(), results.arrays());
        Values joined;
        for (const Values& one : results.taken())
            joined.insert(joined.end(), one.begin(), one.end());
        return joined;
    };
    const auto pullback = [&kernel](const PlainInputs& x, const Values& cotangent) {
        PlainInputs parts;
        auto from = cotangent.begin();
        for (const Shape& shape : kernel.results) {
            parts.emplace_back(from, from + static_cast<std::ptrdiff_t>(numel(shape)));
            from += static_cast<std::ptrdiff_t>(numel(shape));
        }
        const Given given(tensors_of(x, kernel.inputs)), g(tensors_of(parts, kernel.results));
        Results gradients(kernel.inputs);
        kernel.vjp(given.arrays(), given.strides(), g.arrays(), g.strides(), gradients.arrays());
        return gradients.taken();
    };
    return {f, pullback};
}

std::vector<std::string> broken_conventions(const Kernel& kernel, const PlainInputs& x) {
    return KernelProbe(kernel, x).run();
}

}  // namespace tapestry::capi
