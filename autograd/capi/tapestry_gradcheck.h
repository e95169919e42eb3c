/* The gradient checker for other languages: C, Fortran, Rust, Julia, Python, hosts of CUDA kernels.
 *
 *     static int f(const double* x, double* y, void* user) { *y = sin(x[0]) * x[1]; return 0; }
 *     static int df(const double* x, double* g, void* user) {
 *         g[0] = cos(x[0]) * x[1], g[1] = sin(x[0]);
 *         return 0;
 *     }
 *     ...
 *     tapestry_report* report;
 *     if (tapestry_check_gradient(f, df, NULL, x, 2, NULL, &report) != TAPESTRY_OK) {
 *         puts(tapestry_error_message());
 *     } else {
 *         puts(tapestry_report_text(report));
 *         tapestry_report_free(report);
 *     }
 *
 * Plain C99: numbers, pointers and callbacks, no structure whose layout could change. The shared
 * library libtapestry_gradcheck only exports these names; the archive libtapestry contains them as
 * well. No C++ exception leaves a function, and a callback must not throw or call longjmp.
 * Callbacks run on the calling thread, one at a time. Several threads may run checks concurrently.
 * Read next: docs/python.md; plain.h, the same in C++.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The return value of functions and callbacks. */
enum tapestry_status {
    TAPESTRY_OK = 0,              /**< it ran; the report has the verdict */
    TAPESTRY_NOT_DEFINED = 1,     /**< from a callback: not defined there; from a check: not at x */
    TAPESTRY_CALLBACK_FAILED = 2, /**< a callback returned any other value */
    TAPESTRY_BAD_INPUT = 3,       /**< sizes that do not match, an unknown option, ... */
    TAPESTRY_OUT_OF_MEMORY = 4,   /**< there was not enough memory */
    TAPESTRY_INTERNAL_ERROR = 5   /**< any other error */
};

enum tapestry_verdict {
    TAPESTRY_PASS = 0,         /**< right, as far as can be seen, and enough could be seen */
    TAPESTRY_INCONCLUSIVE = 1, /**< cannot be judged; the report gives the reason */
    TAPESTRY_FAIL = 2          /**< wrong */
};

/** Writes f(x) to y. Any return value but 0 and TAPESTRY_NOT_DEFINED ends the check. */
typedef int (*tapestry_function)(const double* x, double* y, void* user);

/** Writes df/dx of a function with one result: as many numbers as x has. */
typedef int (*tapestry_gradient)(const double* x, double* gradient, void* user);

/**
 * Writes cotangent^T df/dx, the backward of reverse mode: as many numbers as x has. If it seems not
 * to be linear it is also asked for a cotangent of 0, which it may refuse with any return value.
 */
typedef int (*tapestry_vjp)(const double* x, const double* cotangent, double* gradient, void* user);

typedef struct tapestry_report tapestry_report;

/**
 * Checks `gradient` against f at the n numbers of x. `options` is NULL or a JSON object in UTF-8:
 *
 *     {"certainty": 0.9999, "bounds": [0, null], "shape": [2, 3]}
 *
 * docs/python.md lists the names. Returns TAPESTRY_OK if the check has reached a verdict, whichever
 * it is; the caller must free *report. With any other status *report is NULL and
 * tapestry_error_message() returns the reason.
 */
int tapestry_check_gradient(tapestry_function f, tapestry_gradient gradient, void* user,
                            const double* x, size_t n, const char* options,
                            tapestry_report** report);

/** The same for a function with m results. The option "output" is their shape. */
int tapestry_check_vjp(tapestry_function f, tapestry_vjp vjp, void* user, const double* x, size_t n,
                       size_t m, const char* options, tapestry_report** report);

/**
 * A kernel on arrays in memory of any layout: element (i, j) of input k is
 * inputs[k][i * strides[k][0] + j * strides[k][1]]. Strides count elements; a stride of 0 repeats
 * one number. Results are contiguous. Inputs may share memory.
 */
typedef int (*tapestry_kernel)(const double* const* inputs, const ptrdiff_t* const* strides,
                               double* const* results, void* user);

/**
 * Its vjp. cotangents[k] is NULL if nothing uses result k, which means 0; gradients[k] is NULL if
 * the gradient of input k is not wanted, otherwise contiguous.
 */
typedef int (*tapestry_kernel_vjp)(const double* const* inputs, const ptrdiff_t* const* strides,
                                   const double* const* cotangents,
                                   const ptrdiff_t* const* cotangent_strides,
                                   double* const* gradients, void* user);

/**
 * tapestry_check_vjp() for a kernel. x has the n numbers of all inputs, one after the other, whose
 * shapes the options "inputs" or "shape" give; m is the number of all results, whose shapes
 * "outputs" or "output" give. After the comparison with differences, which uses contiguous arrays,
 * the kernel is called in every way that the types allow: inputs and cotangents transposed, with
 * gaps, with a stride of 0, and between other numbers; each cotangent NULL, and all but each; every
 * combination of wanted gradients (the first 30); one array as two inputs of the same shape; twice.
 * A kernel may refuse a layout of its inputs with TAPESTRY_NOT_DEFINED; any other failure of f
 * ends the check.
 */
int tapestry_check_kernel(tapestry_kernel f, tapestry_kernel_vjp vjp, void* user, const double* x,
                          size_t n, size_t m, const char* options, tapestry_report** report);

/**
 * Checks that a gradient computed in bf16 or f16 equals that in f64, except for rounding.
 * `narrow_f` and `narrow_vjp` compute in the type that the option "format" names, f and vjp in f64;
 * all receive numbers of that type, as doubles, and return doubles. This does not check vjp against
 * differences of f: use tapestry_check_vjp() for that. Other options: "shape", "inputs", "output",
 * "bounds", "subject" and "seed".
 */
int tapestry_compare_precisions(tapestry_function narrow_f, tapestry_vjp narrow_vjp,
                                tapestry_function f, tapestry_vjp vjp, void* user, const double* x,
                                size_t n, size_t m, const char* options, tapestry_report** report);

/** For callbacks: records `why` for the report and returns TAPESTRY_NOT_DEFINED. */
int tapestry_not_defined(const char* why);

/** The verdict, an enum tapestry_verdict. */
int tapestry_report_verdict(const tapestry_report* report);
/** The report as text, one screen of UTF-8; valid until the report is freed. */
const char* tapestry_report_text(const tapestry_report* report);
/** The same as a JSON object; valid until the report is freed. */
const char* tapestry_report_json(const tapestry_report* report);
/** Frees the report; NULL is allowed. */
void tapestry_report_free(tapestry_report* report);

/** Why the last check on this thread had no verdict; valid until the next check. Never NULL. */
const char* tapestry_error_message(void);
/** The version: "0.1.0". */
const char* tapestry_version(void);

#ifdef __cplusplus
}
#endif
