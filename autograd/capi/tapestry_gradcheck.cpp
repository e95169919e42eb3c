#include <tapestry/autograd/capi/tapestry_gradcheck.h>

#include <tapestry/autograd/capi/conventions.h>
#include <tapestry/autograd/capi/kernels.h>
#include <tapestry/autograd/capi/options_by_name.h>
#include <tapestry/autograd/check/precision.h>
#include <tapestry/core/version.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace tapestry;
using capi::read_request;
using capi::Request;

// A report and the texts that its accessors return, which must live as long as the report.
struct tapestry_report {
    Verdict verdict;
    std::string text, json;
};

namespace {

using Values = std::vector<double>;

// A callback that writes a little beyond its result, on either side, is named, and does no harm.
constexpr std::size_t kSlack = 8;

// The n numbers that `write` writes.
template <class F>
Values written(std::size_t n, F write) {
    Values room(n + 2 * kSlack);
    write(room.data() + kSlack);
    const auto begin = room.begin() + kSlack;
    return {begin, begin + static_cast<std::ptrdiff_t>(n)};
}

thread_local std::string error_message;
thread_local std::string why_not_defined;

// A callback's status as an exception that passes through the checker, which treats the first as
// "not defined there" and does not know the second.
struct NotDefined : std::domain_error {
    using std::domain_error::domain_error;
};
struct CallbackFailed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void heed(int answer, const char* callback) {
    if (answer == TAPESTRY_OK) return;
    if (answer == TAPESTRY_NOT_DEFINED) {
        const std::string why = std::exchange(why_not_defined, {});
        throw NotDefined(why.empty() ? fmt::format("{} is not defined", callback) : why);
    }
    throw CallbackFailed(fmt::format("check_gradient: {} returned {}", callback, answer));
}

// Converts the result of `check` to a report, its exceptions to a status and a message.
template <class Check>
int guarded(tapestry_report** report, const Check& check) noexcept {
    const auto failed = [](int status, const char* what) {
        try {
            error_message = what;
        } catch (...) {  // no memory for a message either
            error_message.clear();
        }
        return status;
    };
    try {
        error_message.clear();
        require(report != nullptr, "check_gradient: report is NULL");
        *report = nullptr;
        const auto found = check();
        *report = std::make_unique<tapestry_report>(
                      tapestry_report{found.verdict, to_string(found), to_json(found)})
                      .release();
        return TAPESTRY_OK;
    } catch (const NotDefined& error) {
        return failed(TAPESTRY_NOT_DEFINED, error.what());
    } catch (const CallbackFailed& error) {
        return failed(TAPESTRY_CALLBACK_FAILED, error.what());
    } catch (const MemoryError& error) {
        return failed(TAPESTRY_OUT_OF_MEMORY, error.what());
    } catch (const std::bad_alloc&) {
        return failed(TAPESTRY_OUT_OF_MEMORY, "check_gradient: out of memory");
    } catch (const Error& error) {
        return failed(TAPESTRY_BAD_INPUT, error.what());
    } catch (const std::exception& error) {
        return failed(TAPESTRY_INTERNAL_ERROR, error.what());
    } catch (...) {
        return failed(TAPESTRY_INTERNAL_ERROR, "check_gradient: unknown exception");
    }
}

Request request_of(const void* f, const void* rule, const double* x, std::size_t n, std::size_t m,
                   const char* options, capi::Purpose purpose = capi::Purpose::check) {
    for (const std::size_t numbers : {n, m}) {
        require<MemoryError>(numbers <= Values().max_size() - 2 * kSlack,
                             "check_gradient: {} numbers are too many", numbers);
    }
    require(f != nullptr && rule != nullptr, "check_gradient: a callback is NULL");
    require(x != nullptr || n == 0, "check_gradient: x is NULL, not {} numbers", n);
    return read_request(options == nullptr ? "" : options, purpose);
}

// Splits x into the inputs that it consists of, in order.
PlainInputs split(const Values& x, const std::vector<Shape>& shapes) {
    PlainInputs inputs;
    std::int64_t from = 0;
    const auto size = static_cast<std::int64_t>(x.size());
    for (const Shape& shape : shapes) {
        const std::int64_t count = numel(shape);
        require<ShapeError>(count <= size - from,
                            "check_gradient: {} numbers are too few for all inputs", size);
        inputs.emplace_back(x.begin() + from, x.begin() + from + count);
        from += count;
    }
    require<ShapeError>(from == size, "check_gradient: {} numbers for inputs of {}", size, from);
    return inputs;
}

Values joined(const PlainInputs& inputs) {
    std::size_t numbers = 0;
    for (const Values& input : inputs) numbers += input.size();
    Values x;
    x.reserve(numbers);
    for (const Values& input : inputs) x.insert(x.end(), input.begin(), input.end());
    return x;
}

PlainRule rule_of(const PlainVectorFunction& f, const PlainPullback& pullback,
                  const std::vector<Shape>& inputs) {
    return {[=](const PlainInputs& x) { return f(joined(x)); },
            [=](const PlainInputs& x, const Values& cotangent) {
                return split(pullback(joined(x), cotangent), inputs);
            }};
}

GradcheckReport check_as_asked(const PlainVectorFunction& f, const PlainPullback& pullback,
                               const Values& x, const Request& request) {
    if (request.inputs.empty()) {
        return check_pullback(f, pullback, x, request.options, request.shape, request.output);
    }
    const PlainRule rule = rule_of(f, pullback, request.inputs);
    return check_pullback(rule.f, rule.pullback, split(x, request.inputs), request.options,
                          request.inputs, request.output);
}

using RawFunction = std::function<void(const double* x, double* y)>;
using RawRule = std::function<void(const double* x, const double* cotangent, double* gradient)>;

RawFunction raw(tapestry_function f, void* user) {
    return [=](const double* x, double* y) { heed(f(x, y, user), "f"); };
}

RawRule raw(tapestry_vjp vjp, void* user) {
    return [=](const double* x, const double* cotangent, double* gradient) {
        heed(vjp(x, cotangent, gradient, user), "the vjp");
    };
}

PlainVectorFunction on_vectors(RawFunction f, std::size_t m) {
    return [f = std::move(f), m](const Values& at) {
        return written(m, [&](double* y) { f(at.data(), y); });
    };
}

PlainPullback on_vectors(RawRule rule) {
    return [rule = std::move(rule)](const Values& at, const Values& cotangent) {
        return written(at.size(),
                       [&](double* gradient) { rule(at.data(), cotangent.data(), gradient); });
    };
}

// With the conventions that are broken, and the subject.
GradcheckReport concluded(GradcheckReport report, std::vector<std::string> broken,
                          const Request& request) {
    for (std::string& one : broken) {
        report.verdict = Verdict::fail;
        report.reason = Reason::none;
        report.complaints.push_back(std::move(one));
    }
    if (request.subject.empty()) return report;
    report.subject = request.subject;
    const Format format = request.options.format;
    if (format != Format::f64) report.subject += fmt::format(" in {}", to_string(format));
    return report;
}

GradcheckReport check(const capi::Callbacks& callbacks, std::size_t m, const Values& x,
                      const Request& request) {
    const PlainVectorFunction f = on_vectors(callbacks.f, m);
    const PlainPullback pullback = on_vectors(callbacks.vjp);
    GradcheckReport report = check_as_asked(f, pullback, x, request);
    std::vector<std::string> broken;
    if (report.limit.empty() && request.conventions) {
        broken = capi::broken_conventions(callbacks, x, m);
    }
    return concluded(std::move(report), std::move(broken), request);
}

capi::Kernel kernel_of(tapestry_kernel f, tapestry_kernel_vjp vjp, void* user, std::size_t n,
                       std::size_t m, const Request& request) {
    const auto shapes = [](const std::vector<Shape>& several, const Shape& one, std::size_t count) {
        if (!several.empty()) return several;
        return std::vector{one.empty() ? Shape{static_cast<std::int64_t>(count)} : one};
    };
    capi::Kernel kernel{
        [=](auto inputs, auto strides, auto results) {
            heed(f(inputs, strides, results, user), "f");
        },
        [=](auto inputs, auto strides, auto cotangents, auto theirs, auto gradients) {
            heed(vjp(inputs, strides, cotangents, theirs, gradients, user), "the vjp");
        },
        shapes(request.inputs, request.shape, n), shapes(request.outputs, request.output, m)};
    std::int64_t results = 0;
    for (const Shape& shape : kernel.results) results += numel(shape);
    require<ShapeError>(results == static_cast<std::int64_t>(m),
                        "check_gradient: {} results for outputs of {}", m, results);
    return kernel;
}

DType narrow_dtype(Format format) {
    for (const DType dtype : {DType::bf16, DType::f16}) {
        if (name_of(dtype) == to_string(format)) return dtype;
    }
    fail("compare_precisions: the option format must be \"bf16\" or \"f16\", got {}",
         to_string(format));
}

}  // namespace

int tapestry_check_vjp(tapestry_function f, tapestry_vjp vjp, void* user, const double* x,
                       std::size_t n, std::size_t m, const char* options,
                       tapestry_report** report) {
    return guarded(report, [=] {
        const Request request = request_of(reinterpret_cast<const void*>(f),
                                           reinterpret_cast<const void*>(vjp), x, n, m, options);
        return check({raw(f, user), raw(vjp, user)}, m, Values(x, x + n), request);
    });
}

int tapestry_check_kernel(tapestry_kernel f, tapestry_kernel_vjp vjp, void* user, const double* x,
                          std::size_t n, std::size_t m, const char* options,
                          tapestry_report** report) {
    return guarded(report, [=] {
        const Request request =
            request_of(reinterpret_cast<const void*>(f), reinterpret_cast<const void*>(vjp), x, n,
                       m, options, capi::Purpose::kernel);
        const capi::Kernel kernel = kernel_of(f, vjp, user, n, m, request);
        const PlainInputs inputs = split(Values(x, x + n), kernel.inputs);
        const PlainRule rule = capi::contiguous_rule(kernel);
        const Shape output = kernel.results.size() == 1 ? kernel.results[0] : Shape();
        GradcheckReport found =
            check_pullback(rule.f, rule.pullback, inputs, request.options, kernel.inputs, output);
        std::vector<std::string> broken;
        if (found.limit.empty() && request.conventions) {
            broken = capi::broken_conventions(kernel, inputs);
        }
        return concluded(std::move(found), std::move(broken), request);
    });
}

int tapestry_compare_precisions(tapestry_function narrow_f, tapestry_vjp narrow_vjp,
                                tapestry_function f, tapestry_vjp vjp, void* user, const double* x,
                                std::size_t n, std::size_t m, const char* options,
                                tapestry_report** report) {
    return guarded(report, [=] {
        require(narrow_f != nullptr && narrow_vjp != nullptr,
                "compare_precisions: a callback is NULL");
        const Request request =
            request_of(reinterpret_cast<const void*>(f), reinterpret_cast<const void*>(vjp), x, n,
                       m, options, capi::Purpose::comparison);
        std::vector<Shape> shapes = request.inputs;
        const auto size = static_cast<std::int64_t>(n);
        if (shapes.empty()) shapes = {request.shape.empty() ? Shape{size} : request.shape};
        PrecisionReport found = compare_precisions(
            rule_of(on_vectors(raw(narrow_f, user), m), on_vectors(raw(narrow_vjp, user)), shapes),
            rule_of(on_vectors(raw(f, user), m), on_vectors(raw(vjp, user)), shapes),
            split(Values(x, x + n), shapes), narrow_dtype(request.options.format),
            {shapes, request.output, request.options.bounds, request.options.seed});
        found.subject = request.subject;
        return found;
    });
}

int tapestry_check_gradient(tapestry_function f, tapestry_gradient gradient, void* user,
                            const double* x, std::size_t n, const char* options,
                            tapestry_report** report) {
    return guarded(report, [=] {
        const Request request =
            request_of(reinterpret_cast<const void*>(f), reinterpret_cast<const void*>(gradient), x,
                       n, 1, options);
        const auto rule = [=](const double* at, const double* cotangent, double* slopes) {
            heed(gradient(at, slopes, user), "the gradient");
            for (std::size_t i = 0; i < n; ++i) slopes[i] *= cotangent[0];
        };
        return check({raw(f, user), rule, "the gradient"}, 1, Values(x, x + n), request);
    });
}

int tapestry_not_defined(const char* why) {
    try {
        why_not_defined = why == nullptr ? "" : why;
    } catch (...) {  // without a reason then
    }
    return TAPESTRY_NOT_DEFINED;
}

int tapestry_report_verdict(const tapestry_report* report) {
    switch (report->verdict) {
        case Verdict::pass: return TAPESTRY_PASS;
        case Verdict::inconclusive: return TAPESTRY_INCONCLUSIVE;
        case Verdict::fail: return TAPESTRY_FAIL;
    }
    return TAPESTRY_INCONCLUSIVE;
}

const char* tapestry_report_text(const tapestry_report* report) { return report->text.c_str(); }
const char* tapestry_report_json(const tapestry_report* report) { return report->json.c_str(); }
void tapestry_report_free(tapestry_report* report) { delete report; }

const char* tapestry_error_message() { return error_message.c_str(); }

const char* tapestry_version() { return version().data(); }
