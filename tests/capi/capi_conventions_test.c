/* Callbacks that break one convention of a call each: the report names it. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tapestry/autograd/capi/tapestry_gradcheck.h>

static int failures = 0;

static void expect(int holds, const char* what) {
    if (holds) return;
    printf("FAILED: %s\n    last error: %s\n", what, tapestry_error_message());
    ++failures;
}

/* y = (x0 x1, sin x1) */
static int f(const double* x, double* y, void* user) {
    (void)user;
    y[0] = x[0] * x[1];
    y[1] = sin(x[1]);
    return TAPESTRY_OK;
}

static int right(const double* x, const double* v, double* g, void* user) {
    (void)user;
    g[0] = v[0] * x[1];
    g[1] = v[0] * x[0] + v[1] * cos(x[1]);
    return TAPESTRY_OK;
}

static int adds(const double* x, const double* v, double* g, void* user) {
    (void)user;
    g[0] += v[0] * x[1];
    g[1] += v[0] * x[0] + v[1] * cos(x[1]);
    return TAPESTRY_OK;
}

static int sparse_f(const double* x, double* y, void* user) {
    (void)x, (void)user;
    y[0] = x[0] * x[0];
    return TAPESTRY_OK; /* y[1] is 0 already */
}

static int sparse(const double* x, const double* v, double* g, void* user) {
    (void)user;
    g[0] = 2 * v[0] * x[0];
    return TAPESTRY_OK; /* g[1] is 0 already */
}

static int sparse_right(const double* x, const double* v, double* g, void* user) {
    g[1] = 0;
    return sparse(x, v, g, user);
}

static int beyond(const double* x, const double* v, double* g, void* user) {
    g[2] = 0;
    return right(x, v, g, user);
}

static int in_front(const double* x, const double* v, double* g, void* user) {
    g[-1] = 0;
    return right(x, v, g, user);
}

static int in_place(const double* x, const double* v, double* g, void* user) {
    double* mine = (double*)v;
    right(x, v, g, user);
    mine[1] *= cos(x[1]);
    return TAPESTRY_OK;
}

static int moves_x(const double* x, const double* v, double* g, void* user) {
    right(x, v, g, user);
    ((double*)x)[0] = 0;
    return TAPESTRY_OK;
}

/* What f saves for the vjp. */
static double saved[2];
static const double* kept;

static int saving_f(const double* x, double* y, void* user) {
    memcpy(saved, x, sizeof saved);
    return f(x, y, user);
}

static int overwrites_saved(const double* x, const double* v, double* g, void* user) {
    (void)x;
    right(saved, v, g, user);
    saved[0] = 0;
    return TAPESTRY_OK;
}

static int keeping_f(const double* x, double* y, void* user) {
    kept = x;
    return f(x, y, user);
}

static int reads_kept(const double* x, const double* v, double* g, void* user) {
    (void)x;
    return right(kept, v, g, user);
}

static int moving_f(const double* x, double* y, void* user) {
    f(x, y, user);
    ((double*)x)[1] = 3;
    return TAPESTRY_OK;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TAPESTRY_TEST_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TAPESTRY_TEST_SANITIZED
#endif

static void check(tapestry_function value, tapestry_vjp rule, const char* words) {
    const double x[] = {1.5, -0.7};
    tapestry_report* report = NULL;
    const int status = tapestry_check_vjp(value, rule, NULL, x, 2, 2, NULL, &report);
    expect(status == TAPESTRY_OK, words == NULL ? "a right one runs" : words);
    if (status != TAPESTRY_OK) return;
    const int fails = tapestry_report_verdict(report) == TAPESTRY_FAIL;
    if (words == NULL) {
        expect(!fails, tapestry_report_text(report));
    } else {
        expect(fails, words);
        if (words[0] != '"' && strstr(tapestry_report_text(report), words) == NULL) {
            expect(0, words);
            puts(tapestry_report_text(report));
        }
        expect(strstr(tapestry_report_json(report), words) != NULL, "and so does the JSON");
    }
    tapestry_report_free(report);
}

int main(void) {
    check(f, right, NULL);
    check(saving_f, right, NULL);
    check(f, adds, "the vjp adds to its result");
    check(sparse_f, sparse_right, "f does not write element 1");
    check(f, beyond, "the vjp writes beyond the 2 numbers of its result");
    check(f, in_front, "the vjp writes beyond the 2 numbers of its result");
    check(f, in_place, "the vjp overwrites its cotangent, at element 1");
    check(f, moves_x, "the vjp overwrites its x, at element 0");
    check(moving_f, right, "f overwrites its x, at element 1");
    check(moving_f, right, "\"reproduce\": \"check_pullback(f, pullback, {1.5, -0.7})\"");
    check(saving_f, overwrites_saved, "when it is called twice after one call of f");
#ifndef TAPESTRY_TEST_SANITIZED /* which ends the program at such a read */
    check(keeping_f, reads_kept, "a pointer is kept");
#else
    (void)keeping_f, (void)reads_kept;
#endif
    if (failures == 0) puts("every broken convention is named");
    return failures;
}
