// tapestry._gradcheck: the C ABI with Python callables as callbacks. Their exceptions leave the
// check unchanged. Everything about shapes of arrays and about PyTorch is written in Python
// (tapestry/_checks.py).
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <tapestry/autograd/capi/tapestry_gradcheck.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <string>

namespace py = pybind11;

namespace {

using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;

// One check: its callables, the exceptions that mean "not defined there", and the one that ended
// it.
struct Callbacks {
    py::object f, vjp, not_defined;
    py::ssize_t inputs, outputs;
    py::object narrow_f = {}, narrow_vjp = {};  // in another type, if two are compared
    std::exception_ptr raised = {};
    bool interrupted = false;  // by KeyboardInterrupt or SystemExit: nothing else is called
    py::array_t<double> own_x = {}, own_cotangent = {};  // of the last call
};

// These numbers in an array that the callable may keep or overwrite: that of the last call if
// nobody has kept it. (New memory for a million numbers costs as much as copying them.)
py::array_t<double> array_of(const double* numbers, py::ssize_t count, py::array_t<double>& own) {
    const bool is_free = own.ref_count() == 1 && own.ndim() == 1 && own.size() == count &&
                         own.owndata() && own.writeable() &&
                         own.strides(0) == static_cast<py::ssize_t>(sizeof(double));
    if (is_free) {
        std::copy_n(numbers, count, own.mutable_data());
    } else {
        own = py::array_t<double>(count, numbers);
    }
    return own;
}

// "ValueError: no logarithm"; only the first if the exception has no text.
std::string words_of(const py::error_already_set& error) {
    auto words = error.type().attr("__name__").cast<std::string>();
    try {
        words += ": " + py::str(error.value()).cast<std::string>();
    } catch (const std::exception&) {  // its __str__ raises, or it holds half of a character
    }
    return words;
}

template <class Call>
int answered(Callbacks& callbacks, double* to, py::ssize_t count, const Call& call) {
    if (callbacks.interrupted) return TAPESTRY_CALLBACK_FAILED;
    try {
        const auto result = call().template cast<Array>();
        if (result.size() != count) {
            throw py::type_error("a callback gave " + std::to_string(result.size()) +
                                 " numbers, not " + std::to_string(count));
        }
        std::copy_n(result.data(), count, to);
        return TAPESTRY_OK;
    } catch (const py::error_already_set& error) {
        callbacks.raised = std::current_exception();
        callbacks.interrupted = !error.matches(PyExc_Exception);
        if (!error.matches(callbacks.not_defined)) return TAPESTRY_CALLBACK_FAILED;
        return tapestry_not_defined(words_of(error).c_str());
    } catch (...) {
        callbacks.raised = std::current_exception();
        return TAPESTRY_CALLBACK_FAILED;
    }
}

template <py::object Callbacks::*kF = &Callbacks::f>
int call_f(const double* x, double* y, void* user) {
    auto& callbacks = *static_cast<Callbacks*>(user);
    return answered(callbacks, y, callbacks.outputs, [&] {
        return (callbacks.*kF)(array_of(x, callbacks.inputs, callbacks.own_x));
    });
}

template <py::object Callbacks::*kVjp = &Callbacks::vjp>
int call_vjp(const double* x, const double* cotangent, double* gradient, void* user) {
    auto& callbacks = *static_cast<Callbacks*>(user);
    return answered(callbacks, gradient, callbacks.inputs, [&] {
        return (callbacks.*kVjp)(array_of(x, callbacks.inputs, callbacks.own_x),
                                 array_of(cotangent, callbacks.outputs, callbacks.own_cotangent));
    });
}

// The Python exception for the status of a check without a verdict.
[[noreturn]] void raise(int status, const Callbacks& callbacks) {
    if (status == TAPESTRY_NOT_DEFINED || status == TAPESTRY_CALLBACK_FAILED) {
        std::rethrow_exception(callbacks.raised);
    }
    const std::string message = tapestry_error_message();
    if (status == TAPESTRY_BAD_INPUT) throw py::value_error(message);
    if (status == TAPESTRY_OUT_OF_MEMORY) throw std::bad_alloc();
    throw std::runtime_error(message);
}

// (verdict, text, JSON)
py::tuple told(int status, tapestry_report* found, const Callbacks& callbacks) {
    if (status != TAPESTRY_OK) raise(status, callbacks);
    const std::unique_ptr<tapestry_report, void (*)(tapestry_report*)> report(found,
                                                                              tapestry_report_free);
    const char* verdicts[] = {"PASS", "INCONCLUSIVE", "FAIL"};
    return py::make_tuple(verdicts[tapestry_report_verdict(found)], tapestry_report_text(found),
                          tapestry_report_json(found));
}

py::tuple check(py::object f, py::object vjp, const Array& x, py::ssize_t outputs,
                const std::string& options, py::object not_defined) {
    Callbacks callbacks{std::move(f), std::move(vjp), std::move(not_defined), x.size(), outputs};
    tapestry_report* found = nullptr;
    const int status = tapestry_check_vjp(
        call_f<>, call_vjp<>, &callbacks, x.data(), static_cast<std::size_t>(x.size()),
        static_cast<std::size_t>(outputs), options.c_str(), &found);
    return told(status, found, callbacks);
}

py::tuple compare(py::object narrow_f, py::object narrow_vjp, py::object f, py::object vjp,
                  const Array& x, py::ssize_t outputs, const std::string& options,
                  py::object not_defined) {
    Callbacks callbacks{std::move(f), std::move(vjp),      std::move(not_defined), x.size(),
                        outputs,      std::move(narrow_f), std::move(narrow_vjp)};
    tapestry_report* found = nullptr;
    const int status = tapestry_compare_precisions(
        call_f<&Callbacks::narrow_f>, call_vjp<&Callbacks::narrow_vjp>, call_f<>, call_vjp<>,
        &callbacks, x.data(), static_cast<std::size_t>(x.size()), static_cast<std::size_t>(outputs),
        options.c_str(), &found);
    return told(status, found, callbacks);
}

}  // namespace

PYBIND11_MODULE(_gradcheck, module) {
    module.def("check", check, py::arg("f"), py::arg("vjp"), py::arg("x"), py::arg("outputs"),
               py::arg("options"), py::arg("not_defined"));
    module.def("compare", compare, py::arg("narrow_f"), py::arg("narrow_vjp"), py::arg("f"),
               py::arg("vjp"), py::arg("x"), py::arg("outputs"), py::arg("options"),
               py::arg("not_defined"));
    module.def("version", tapestry_version);
}
