/* Kernels on arrays of any layout, over the C ABI: each convention of a call is broken once, and
   named. The kernel is y0 = a b, y1 = sin(b), on matrices of 3 x 4. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <tapestry/autograd/capi/tapestry_gradcheck.h>

enum { R = 3, C = 4, N = R * C };

static int failures = 0;

static void expect(int holds, const char* what) {
    if (holds) return;
    printf("FAILED: %s\n    last error: %s\n", what, tapestry_error_message());
    ++failures;
}

/* What the callbacks below do wrong. */
enum fault {
    NONE,
    COTANGENT_BY_POINTER, /* reads it without strides */
    COTANGENT_WITH_GAPS,  /* takes the last axis for contiguous */
    COTANGENT_ALIGNED,    /* from the 64 bytes that the pointer is in */
    COTANGENT_STRIDE_0,   /* takes a stride of 0 for a scalar that is to be summed */
    INPUT_BY_POINTER,
    INPUT_ALIGNED,
    INPUT_STRIDE_0,
    INPUT_IN_F, /* f reads it by its pointer */
    NULL_IS_NOT_0,
    NULL_FAILS,
    ONE_ALONE_FAILS, /* needs both cotangents or the second */
    NULL_IS_INFINITE,
    UNWANTED, /* the first gradient's buffer holds the second's, if it is there */
    ALIASED,  /* inputs at the same address: the second gradient is 0 */
    OVERWRITES_COTANGENT,
    OVERWRITES_INPUT,
    OVERWRITES_SAVED,
    BEYOND,
    ADDS,
    UNWRITTEN
};

static double at(const double* x, const ptrdiff_t* s, int i, int j) {
    return x[i * s[0] + j * s[1]];
}

static const double* aligned(const double* x) {
    return (const double*)((uintptr_t)x & ~(uintptr_t)63);
}

static double saved = 1;

static int f(const double* const* x, const ptrdiff_t* const* s, double* const* y, void* user) {
    const enum fault fault = *(const enum fault*)user;
    saved = 1;
    for (int i = 0; i < R; ++i) {
        for (int j = 0; j < C; ++j) {
            const double a = at(x[0], s[0], i, j);
            const double b = fault == INPUT_IN_F ? x[1][i * C + j] : at(x[1], s[1], i, j);
            y[0][i * C + j] = a * b;
            y[1][i * C + j] = sin(b);
        }
    }
    return TAPESTRY_OK;
}

/* Element (i, j) of the first cotangent, as the fault reads it. */
static double cotangent(enum fault fault, const double* g, const ptrdiff_t* s, int i, int j) {
    switch (fault) {
        case COTANGENT_BY_POINTER: return g[i * C + j];
        case COTANGENT_WITH_GAPS: return s[1] == 2 ? g[i * s[0] + j] : at(g, s, i, j);
        case COTANGENT_ALIGNED: return at(aligned(g), s, i, j);
        case COTANGENT_STRIDE_0: return at(g, s, i, j) * (s[0] == 0 ? R : 1);
        default: return at(g, s, i, j);
    }
}

static int vjp(const double* const* x, const ptrdiff_t* const* s, const double* const* g,
               const ptrdiff_t* const* t, double* const* d, void* user) {
    const enum fault fault = *(const enum fault*)user;
    if (fault == NULL_FAILS && g[1] == NULL) return TAPESTRY_NOT_DEFINED;
    if (fault == ONE_ALONE_FAILS && g[0] != NULL && g[1] == NULL) return 7;
    const double* a = fault == INPUT_ALIGNED ? aligned(x[0]) : x[0];
    for (int i = 0; i < R; ++i) {
        for (int j = 0; j < C; ++j) {
            const int k = i * C + j;
            const double first = fault == INPUT_BY_POINTER ? a[k] : at(a, s[0], i, j);
            const double b = at(x[1], s[1], i, j);
            const double missing = fault == NULL_IS_NOT_0 ? 1 : 0;
            const double g0 = g[0] ? cotangent(fault, g[0], t[0], i, j) : missing;
            const double g1 = g[1] ? at(g[1], t[1], i, j) : missing;
            double da = g0 * b, db = g0 * first * saved + g1 * cos(b);
            if (fault == NULL_IS_INFINITE && !g[1]) da = HUGE_VAL;
            if (fault == INPUT_STRIDE_0 && s[0][0] == 0) db = g1 * cos(b);
            if (fault == UNWANTED && !d[0]) db = da;
            if (fault == ALIASED && x[0] == x[1]) db = 0;
            if (fault == ADDS && d[0]) da += d[0][k];
            if (d[0] && !(fault == UNWRITTEN && k == 5)) d[0][k] = da;
            if (d[1]) d[1][k] = db;
        }
    }
    if (fault == OVERWRITES_COTANGENT && g[0]) ((double*)g[0])[0] *= 2;
    if (fault == OVERWRITES_INPUT) ((double*)x[1])[0] += 1;
    if (fault == OVERWRITES_SAVED) saved = 2;
    if (fault == BEYOND && d[1]) d[1][N] = 0;
    return TAPESTRY_OK;
}

static const char* const options =
    "{\"inputs\": [[3, 4], [3, 4]], \"outputs\": [[3, 4], [3, 4]], \"explain\": false}";

/* `words`: of a complaint; NULL if there is to be none. */
static void check(enum fault fault, const char* words) {
    double x[2 * N];
    for (int i = 0; i < 2 * N; ++i) x[i] = 0.3 + 0.71 * i - (i % 3);
    tapestry_report* report = NULL;
    const int status = tapestry_check_kernel(f, vjp, &fault, x, 2 * N, 2 * N, options, &report);
    expect(status == TAPESTRY_OK, words == NULL ? "a right one runs" : words);
    if (status != TAPESTRY_OK) return;
    const int verdict = tapestry_report_verdict(report);
    const char* text = tapestry_report_text(report);
    if (words == NULL) {
        expect(verdict == TAPESTRY_PASS, text);
    } else {
        expect(verdict == TAPESTRY_FAIL, words);
        if (strstr(text, words) == NULL) {
            expect(0, words);
            puts(text);
        }
        expect(strstr(tapestry_report_json(report), words) != NULL, "and so does the JSON");
    }
    tapestry_report_free(report);
}

/* A kernel that refuses inputs with gaps is right. */
static int refusing_f(const double* const* x, const ptrdiff_t* const* s, double* const* y,
                      void* user) {
    if (s[0][1] != 1) return tapestry_not_defined("rows must be contiguous");
    return f(x, s, y, user);
}

/* Any other answer than "not defined" is a failure, which ends the check. */
static int failing_f(const double* const* x, const ptrdiff_t* const* s, double* const* y,
                     void* user) {
    return s[0][1] != 1 ? 9 : f(x, s, y, user);
}

/* 1 / (a - b), which is not defined where both are one array. */
static int reciprocal(const double* const* x, const ptrdiff_t* const* s, double* const* y,
                      void* user) {
    (void)user;
    for (int i = 0; i < 2; ++i) {
        const double apart = x[0][i * s[0][0]] - x[1][i * s[1][0]];
        if (apart == 0) return tapestry_not_defined("a = b");
        y[0][i] = 1 / apart;
    }
    return TAPESTRY_OK;
}

static int reciprocal_vjp(const double* const* x, const ptrdiff_t* const* s, const double* const* g,
                          const ptrdiff_t* const* t, double* const* d, void* user) {
    (void)user;
    for (int i = 0; i < 2; ++i) {
        const double apart = x[0][i * s[0][0]] - x[1][i * s[1][0]];
        const double slope = g[0][i * t[0][0]] / (apart * apart);
        if (d[0]) d[0][i] = -slope;
        if (d[1]) d[1][i] = slope;
    }
    return TAPESTRY_OK;
}

/* A sum of squares of as many inputs; where the first gradient is not wanted, the second is 0. */
enum { MANY = 66 };

static int squares(const double* const* x, const ptrdiff_t* const* s, double* const* y,
                   void* user) {
    (void)s, (void)user;
    y[0][0] = 0;
    for (int k = 0; k < MANY; ++k) y[0][0] += *x[k] * *x[k];
    return TAPESTRY_OK;
}

static int squares_vjp(const double* const* x, const ptrdiff_t* const* s, const double* const* g,
                       const ptrdiff_t* const* t, double* const* d, void* user) {
    (void)s, (void)t, (void)user;
    for (int k = 0; k < MANY; ++k) {
        if (d[k]) *d[k] = k == 1 && !d[0] ? 0 : 2 * *x[k] * *g[0];
    }
    return TAPESTRY_OK;
}

static void check_many_inputs(void) {
    double x[MANY];
    char many_options[1000] = "{\"outputs\": [[1]], \"explain\": false, \"inputs\": [[1]";
    for (int k = 0; k < MANY; ++k) x[k] = 1 + 0.01 * k;
    for (int k = 1; k < MANY; ++k) strcat(many_options, ", [1]");
    strcat(many_options, "]}");
    tapestry_report* report = NULL;
    const int status =
        tapestry_check_kernel(squares, squares_vjp, NULL, x, MANY, 1, many_options, &report);
    expect(status == TAPESTRY_OK && tapestry_report_verdict(report) == TAPESTRY_FAIL &&
               strstr(tapestry_report_text(report), "if only that of input 1 is wanted") != NULL,
           "of many inputs, too, some gradients are not wanted");
    tapestry_report_free(report);
}

static void check_refusals(void) {
    double x[2 * N];
    for (int i = 0; i < 2 * N; ++i) x[i] = 0.3 + 0.71 * i - (i % 3);
    enum fault fault = NONE;
    tapestry_report* report = NULL;
    int status = tapestry_check_kernel(refusing_f, vjp, &fault, x, 2 * N, 2 * N, options, &report);
    expect(status == TAPESTRY_OK && tapestry_report_verdict(report) == TAPESTRY_PASS,
           "inputs may be refused");
    tapestry_report_free(report);
    status = tapestry_check_kernel(failing_f, vjp, &fault, x, 2 * N, 2 * N, options, &report);
    expect(status == TAPESTRY_CALLBACK_FAILED && report == NULL, "a failure is no refusal");
    const double four[] = {1.5, -0.7, 0.4, 2};
    status = tapestry_check_kernel(reciprocal, reciprocal_vjp, NULL, four, 4, 2,
                                   "{\"inputs\": [[2], [2]]}", &report);
    expect(status == TAPESTRY_OK && tapestry_report_verdict(report) == TAPESTRY_PASS,
           "not defined where two inputs are one array");
    tapestry_report_free(report);
    status =
        tapestry_check_kernel(f, vjp, &fault, x, 2 * N, 2 * N, "{\"outputs\": [[3, 4]]}", &report);
    expect(status == TAPESTRY_BAD_INPUT && report == NULL, "outputs of another size");
    expect(strstr(tapestry_error_message(), "24 results for outputs of 12") != NULL, "by how much");
    fault = COTANGENT_BY_POINTER;
    status = tapestry_check_kernel(f, vjp, &fault, x, 2 * N, 2 * N,
                                   "{\"inputs\": [[3, 4], [3, 4]], \"outputs\": [[3, 4], [3, 4]], "
                                   "\"conventions\": false}",
                                   &report);
    expect(status == TAPESTRY_OK && tapestry_report_verdict(report) == TAPESTRY_PASS,
           "they can be left out");
    tapestry_report_free(report);
    status = tapestry_check_kernel(f, NULL, &fault, x, 2 * N, 2 * N, options, &report);
    expect(status == TAPESTRY_BAD_INPUT, "a callback is NULL");
}

int main(void) {
    check(NONE, NULL);
    check(COTANGENT_BY_POINTER, "if the cotangent is a transposed view");
    check(COTANGENT_WITH_GAPS, "if the cotangent is a view with gaps (stride 2)");
    check(COTANGENT_ALIGNED, "if the cotangent is a view with a storage offset");
    check(COTANGENT_STRIDE_0, "if the cotangent is an expanded view (stride 0)");
    check(INPUT_BY_POINTER,
          "the gradient of input 1 is another one if an input is a transposed view");
    check(INPUT_ALIGNED,
          "the gradient of input 1 is another one if an input is a view with a storage");
    check(INPUT_STRIDE_0, "the gradient of input 1 is another one if an input is an expanded view");
    check(INPUT_IN_F, "result 0 is another one if an input is a transposed view");
    check(NULL_IS_NOT_0, "if cotangent 0 is NULL, because nothing uses the result");
    check(NULL_FAILS, "the vjp fails if cotangent 1 is NULL");
    check(ONE_ALONE_FAILS, "the vjp fails if only cotangent 0 is not NULL");
    check(NULL_IS_INFINITE, "the gradient of input 0 is another one if cotangent 1 is NULL");
    check(UNWANTED, "the gradient of input 1 is another one if only that of input 1 is wanted");
    check(ALIASED, "the gradient of input 1 is another one if inputs 0 and 1 are one array");
    check(OVERWRITES_COTANGENT, "the vjp overwrites cotangent 0, at element 0");
    check(OVERWRITES_INPUT, "the vjp overwrites input 1, at element 0");
    check(OVERWRITES_SAVED, "when it is called twice after one call of f");
    check(BEYOND, "the vjp writes beyond the numbers of the gradient of input 1");
    check(ADDS, "the vjp adds to the gradient of input 0");
    check(UNWRITTEN, "the vjp does not write element 5 of the gradient of input 0");
    check_refusals();
    check_many_inputs();
    if (failures == 0) puts("every broken convention is named");
    return failures;
}
