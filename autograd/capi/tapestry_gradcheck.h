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
 * library libtapestry_gradcheck shows these names and no others; the archive libtapestry has them,
 * too. No C++ exception leaves a function, and none may come out of a callback, nor a longjmp.
 * Callbacks run on the calling thread, one at a time. Several threads may check at once.
 * Read next: docs/python.md; plain.h, the same in C++.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What functions and callbacks answer. */
enum tapestry_status {
    TAPESTRY_OK = 0,
    TAPESTRY_NOT_DEFINED = 1,     /**< a callback: "I am not defined there"; a check: not at x */
    TAPESTRY_CALLBACK_FAILED = 2, /**< a callback answered something else than these two */
    TAPESTRY_BAD_INPUT = 3,       /**< sizes that do not fit, an option that is not known, ... */
    TAPESTRY_OUT_OF_MEMORY = 4,
    TAPESTRY_INTERNAL_ERROR = 5
};

enum tapestry_verdict {
    TAPESTRY_PASS = 0,         /**< right, as far as can be seen, and enough could be seen */
    TAPESTRY_INCONCLUSIVE = 1, /**< nothing can be said, and the report gives the reason */
    TAPESTRY_FAIL = 2          /**< wrong */
};

/** Writes f(x) to y. Every answer but 0 and TAPESTRY_NOT_DEFINED ends the check. */
typedef int (*tapestry_function)(const double* x, double* y, void* user);

/** Writes df/dx, as many numbers as x has, of a function with one result. */
typedef int (*tapestry_gradient)(const double* x, double* gradient, void* user);

/** Writes cotangent^T df/dx, as many numbers as x has: what reverse mode calls a backward. */
typedef int (*tapestry_vjp)(const double* x, const double* cotangent, double* gradient, void* user);

typedef struct tapestry_report tapestry_report;

/**
 * Is `gradient` the gradient of f at the n numbers of x? `options` is NULL or a JSON object, UTF-8:
 *
 *     {"certainty": 0.9999, "bounds": [0, null], "shape": [2, 3]}
 *
 * docs/python.md lists the names. TAPESTRY_OK says that the check has come to a verdict, whichever,
 * and *report is to be freed; with every other status it is NULL and tapestry_error_message() says
 * why.
 */
int tapestry_check_gradient(tapestry_function f, tapestry_gradient gradient, void* user,
                            const double* x, size_t n, const char* options,
                            tapestry_report** report);

/** The same of a function with m results. The option "output" is their shape. */
int tapestry_check_vjp(tapestry_function f, tapestry_vjp vjp, void* user, const double* x, size_t n,
                       size_t m, const char* options, tapestry_report** report);

/**
 * Is a gradient that is computed in bf16 or f16 the one in f64, but for rounding? `narrow_f` and
 * `narrow_vjp` compute in the type that the option "format" names, f and vjp in f64; all are given
 * numbers of that type, as doubles, and give doubles. What differences say of f and vjp is for
 * tapestry_check_vjp() to find out. Other options: "shape", "inputs", "output", "bounds",
 * "subject" and "seed".
 */
int tapestry_compare_precisions(tapestry_function narrow_f, tapestry_vjp narrow_vjp,
                                tapestry_function f, tapestry_vjp vjp, void* user, const double* x,
                                size_t n, size_t m, const char* options, tapestry_report** report);

/** For callbacks: keeps `why` for the report and answers TAPESTRY_NOT_DEFINED. */
int tapestry_not_defined(const char* why);

/** An enum tapestry_verdict. */
int tapestry_report_verdict(const tapestry_report* report);
/** One screen of UTF-8; valid until the report is freed. */
const char* tapestry_report_text(const tapestry_report* report);
/** The same as a JSON object; valid until the report is freed. */
const char* tapestry_report_json(const tapestry_report* report);
/** NULL is allowed. */
void tapestry_report_free(tapestry_report* report);

/** Of the last check on this thread that had no verdict; valid until the next check. Never NULL. */
const char* tapestry_error_message(void);
/** "0.1.0" */
const char* tapestry_version(void);

#ifdef __cplusplus
}
#endif
