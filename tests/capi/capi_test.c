/* The C ABI, as a C program sees it: verdicts, options, and every way in which a check can end
 * without one. Prints what is wrong; exits with how many things are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tapestry/autograd/capi/tapestry_gradcheck.h>

static int failures = 0;

static void expect(int holds, const char* what) {
    if (holds) return;
    printf("FAILED: %s\n    last error: %s\n", what, tapestry_error_message());
    ++failures;
}

/* x0^2 x1 + sin x2, and a gradient of which `factor` multiplies one entry. */
static int f(const double* x, double* y, void* user) {
    (void)user;
    y[0] = x[0] * x[0] * x[1] + sin(x[2]);
    return TAPESTRY_OK;
}

static int df(const double* x, double* g, void* user) {
    const double factor = *(const double*)user;
    g[0] = 2 * x[0] * x[1];
    g[1] = x[0] * x[0] * factor;
    g[2] = cos(x[2]);
    return TAPESTRY_OK;
}

/* y = (x0 x1, x0 + x1, exp x1), whose vjp forgets the last where `user` says so. */
static int many(const double* x, double* y, void* user) {
    (void)user;
    y[0] = x[0] * x[1];
    y[1] = x[0] + x[1];
    y[2] = exp(x[1]);
    return TAPESTRY_OK;
}

static int many_vjp(const double* x, const double* v, double* g, void* user) {
    const int complete = *(const int*)user;
    g[0] = v[0] * x[1] + v[1];
    g[1] = v[0] * x[0] + v[1] + (complete ? v[2] * exp(x[1]) : 0);
    return TAPESTRY_OK;
}

/* log x, which complains below `user`. */
static int logarithm(const double* x, double* y, void* user) {
    if (x[0] <= *(const double*)user) return tapestry_not_defined("x is too small");
    y[0] = log(x[0]);
    return TAPESTRY_OK;
}

static int reciprocal(const double* x, double* g, void* user) {
    (void)user;
    g[0] = 1 / x[0];
    return TAPESTRY_OK;
}

static int broken(const double* x, double* y, void* user) {
    (void)x, (void)y, (void)user;
    return 42;
}

static void gives_verdicts(void) {
    const double x[] = {1.5, -2, 0.3};
    double factor = 1;
    tapestry_report* report = NULL;
    expect(tapestry_check_gradient(f, df, &factor, x, 3, NULL, &report) == TAPESTRY_OK, "runs");
    expect(tapestry_report_verdict(report) == TAPESTRY_PASS, "a right gradient passes");
    expect(strstr(tapestry_report_text(report), "PASS") != NULL, "the text says so");
    expect(strcmp(tapestry_error_message(), "") == 0, "no error is left");
    tapestry_report_free(report);

    factor = 1 + 1e-6;
    expect(tapestry_check_gradient(f, df, &factor, x, 3, "", &report) == TAPESTRY_OK, "runs again");
    expect(tapestry_report_verdict(report) == TAPESTRY_FAIL, "a wrong one fails");
    expect(strstr(tapestry_report_text(report), "at [1]") != NULL, "its place is in the text");
    expect(strstr(tapestry_report_json(report), "\"verdict\"") != NULL, "the JSON has a verdict");
    tapestry_report_free(report);
    tapestry_report_free(NULL);

    int complete = 1;
    expect(tapestry_check_vjp(many, many_vjp, &complete, x, 2, 3, NULL, &report) == TAPESTRY_OK,
           "several results");
    expect(tapestry_report_verdict(report) == TAPESTRY_PASS, "a right vjp passes");
    tapestry_report_free(report);
    complete = 0;
    expect(tapestry_check_vjp(many, many_vjp, &complete, x, 2, 3, NULL, &report) == TAPESTRY_OK,
           "several results again");
    expect(tapestry_report_verdict(report) == TAPESTRY_FAIL, "a wrong vjp fails");
    tapestry_report_free(report);
}

static void stays_where_f_is_defined(void) {
    const double near_zero = 1e-3;
    double least = 0;
    tapestry_report* report = NULL;
    expect(tapestry_check_gradient(logarithm, reciprocal, &least, &near_zero, 1, NULL, &report) ==
               TAPESTRY_OK,
           "log near 0");
    expect(tapestry_report_verdict(report) == TAPESTRY_PASS, "log near 0 passes");
    tapestry_report_free(report);
    least = 1;
    expect(tapestry_check_gradient(logarithm, reciprocal, &least, &near_zero, 1, NULL, &report) ==
               TAPESTRY_NOT_DEFINED,
           "not defined at x");
    expect(report == NULL, "then there is no report");
    expect(strcmp(tapestry_error_message(), "x is too small") == 0, "and the callback's own words");
}

static void refused(int status, const char* options, const char* words) {
    const double x[] = {1.5, -2, 0.3};
    double factor = 1;
    tapestry_report* report = NULL;
    expect(tapestry_check_gradient(f, df, &factor, x, 3, options, &report) == status, options);
    if (strstr(tapestry_error_message(), words) == NULL) expect(0, words);
    if (status == TAPESTRY_OK) tapestry_report_free(report);
}

/* The nearest number with eight digits, which bf16 has. */
static double narrowed(double x) {
    int exponent = 0;
    const double part = frexp(x, &exponent);
    return ldexp(rint(ldexp(part, 8)), exponent - 8);
}

static int narrow_many(const double* x, double* y, void* user) {
    int i;
    many(x, y, user);
    for (i = 0; i < 3; ++i) y[i] = narrowed(y[i]);
    return TAPESTRY_OK;
}

/* The vjp in bf16, which forgets the last where `user` says so; the other one never does. */
static int narrow_vjp(const double* x, const double* v, double* g, void* user) {
    many_vjp(x, v, g, user);
    g[0] = narrowed(g[0]), g[1] = narrowed(g[1]);
    return TAPESTRY_OK;
}

static int wide_vjp(const double* x, const double* v, double* g, void* user) {
    int complete = 1;
    (void)user;
    return many_vjp(x, v, g, &complete);
}

static int compared(int complete, const char* options, tapestry_report** report) {
    const double x[] = {1.5, 0.7};
    return tapestry_compare_precisions(narrow_many, narrow_vjp, many, wide_vjp, &complete, x, 2, 3,
                                       options, report);
}

static void compares_types(void) {
    const char* bf16 = "{\"format\": \"bf16\", \"subject\": \"many\", \"shape\": [1, 2]}";
    tapestry_report* report = NULL;
    expect(compared(1, bf16, &report) == TAPESTRY_OK, "compares");
    expect(tapestry_report_verdict(report) == TAPESTRY_PASS, "rounding passes");
    expect(strstr(tapestry_report_text(report), "many, bf16 against f64") != NULL, "with a name");
    expect(strstr(tapestry_report_json(report), "\"dtype\": \"bf16\"") != NULL, "and its type");
    tapestry_report_free(report);
    expect(compared(0, bf16, &report) == TAPESTRY_OK, "compares a wrong one");
    expect(tapestry_report_verdict(report) == TAPESTRY_FAIL, "which fails");
    expect(strstr(tapestry_report_text(report), "at [0, 1]") != NULL, "at its place");
    tapestry_report_free(report);
    expect(compared(1, NULL, &report) == TAPESTRY_BAD_INPUT, "no type");
    expect(strstr(tapestry_error_message(), "format must be \"bf16\" or \"f16\", got f64") != NULL,
           "that is said");
    expect(compared(1, "{\"format\": \"f16\", \"points\": 2}", &report) == TAPESTRY_BAD_INPUT,
           "an option of checks");
    expect(strstr(tapestry_error_message(), "compare_precisions: unknown option points") != NULL,
           "that is said, too");
    expect(compared(1, "{\"format\": \"f16\", \"inputs\": [[3]]}", &report) == TAPESTRY_BAD_INPUT,
           "sizes that do not fit");
    expect(compared(1, "{\"format\": \"f16\", \"bounds\": [2, 3]}", &report) == TAPESTRY_BAD_INPUT,
           "x outside of bounds");
    expect(compared(1, "{\"format\": \"f16\", \"output\": [2, 2]}", &report) == TAPESTRY_BAD_INPUT,
           "a shape that does not fit");
    expect(tapestry_compare_precisions(NULL, narrow_vjp, many, wide_vjp, NULL, NULL, 0, 3, bf16,
                                       &report) == TAPESTRY_BAD_INPUT,
           "no narrow function");
}

static void takes_options_by_name(void) {
    refused(TAPESTRY_OK, "{\"shape\": [1, 3], \"method\": \"entries\", \"seed\": 7}", "");
    refused(TAPESTRY_OK, "{\"bounds\": [-10, null], \"certainty\": 0.99}", "");
    refused(TAPESTRY_OK, "{\"bounds\": [[0, 2], [-3, 0], [null, null]]}", "");
    refused(TAPESTRY_OK, "{\"inputs\": [[1, 2], [1]], \"points\": 2, \"evaluations\": 100000}", "");
    refused(TAPESTRY_OK, "{\"seconds\": 60}", "");
    refused(TAPESTRY_BAD_INPUT, "{\"inputs\": [[2], [2]]}", "too few for all inputs");
    refused(TAPESTRY_BAD_INPUT, "{\"inputs\": [[1], [1]]}", "3 numbers for inputs of 2");
    refused(TAPESTRY_BAD_INPUT, "{\"inputs\": 3}", "an array of shapes");
    refused(TAPESTRY_BAD_INPUT, "{\"shape\": [3, 1, 1, 1, 1, 1, 1, 1, 1]}",
            "an array of at most 8 sizes");
    refused(TAPESTRY_BAD_INPUT, "{\"points\": 4294967296}", "below 2^31");
    refused(TAPESTRY_BAD_INPUT, "{", "the options are not JSON: error at byte 2: {");
    refused(TAPESTRY_BAD_INPUT, "{\"atol\": 1e999}", "not JSON: a number is too large: {");
    refused(TAPESTRY_BAD_INPUT, "{\"seed\": 1, \"seed\": 2}", "in the options: duplicate key 'seed'");
    refused(TAPESTRY_BAD_INPUT, "[]", "not a JSON object: []");
    static char deep[200001]; /* printing such a tree would overflow the stack */
    memset(deep, '[', sizeof deep - 1);
    refused(TAPESTRY_BAD_INPUT, deep, "nested deeper than 100 levels");
    refused(TAPESTRY_BAD_INPUT, "{\"outputs\": [[3]]}", "unknown option outputs");
    refused(TAPESTRY_BAD_INPUT, "{\"epsilon\": 1}",
            "unknown option epsilon; the options are shape,");
    refused(TAPESTRY_BAD_INPUT, "{\"certainty\": \"high\"}",
            "the option certainty must be a number, got \"high\"");
    refused(TAPESTRY_BAD_INPUT, "{\"certainty\": 2}", "certainty must be between 0 and 1, got 2");
    refused(TAPESTRY_BAD_INPUT, "{\"seed\": -1}", "a whole number, 0 or more");
    refused(TAPESTRY_BAD_INPUT, "{\"explain\": 1}", "true or false");
    refused(TAPESTRY_BAD_INPUT, "{\"method\": \"all\"}", "\"automatic\"");
    refused(TAPESTRY_BAD_INPUT, "{\"shape\": [2, 2]}", "3 numbers for a shape of [2, 2]");
    refused(TAPESTRY_BAD_INPUT, "{\"bounds\": [0]}", "[low, high]");
    refused(TAPESTRY_BAD_INPUT, "{\"bounds\": [[0, 2], [-3, 0]]}", "2 bounds for 3 numbers");
}

static void says_what_is_wrong(void) {
    const double x[] = {1.5, -2, 0.3};
    double factor = 1;
    tapestry_report* report = NULL;
    expect(tapestry_check_gradient(broken, df, &factor, x, 3, NULL, &report) ==
               TAPESTRY_CALLBACK_FAILED,
           "a callback gives up");
    expect(strstr(tapestry_error_message(), "f returned 42") != NULL, "its answer is told");
    expect(tapestry_check_gradient(f, broken, &factor, x, 3, NULL, &report) ==
               TAPESTRY_CALLBACK_FAILED,
           "the gradient gives up");
    expect(tapestry_check_gradient(NULL, df, &factor, x, 3, NULL, &report) == TAPESTRY_BAD_INPUT,
           "no function");
    expect(tapestry_check_gradient(f, df, &factor, NULL, 3, NULL, &report) == TAPESTRY_BAD_INPUT,
           "no x");
    expect(tapestry_check_gradient(f, df, &factor, x, 0, NULL, &report) == TAPESTRY_BAD_INPUT,
           "an empty x");
    expect(tapestry_check_gradient(f, df, &factor, x, 3, NULL, NULL) == TAPESTRY_BAD_INPUT,
           "report is NULL");
    expect(tapestry_check_gradient(f, df, &factor, x, (size_t)1 << 62, NULL, &report) ==
               TAPESTRY_OUT_OF_MEMORY,
           "more numbers than there is memory for");
    /* (size_t)-1 results and a few more would be 7. */
    expect(tapestry_check_vjp(many, many_vjp, &factor, x, 2, (size_t)-1, NULL, &report) ==
               TAPESTRY_OUT_OF_MEMORY,
           "more results than there is memory for");
}

int main(void) {
    gives_verdicts();
    stays_where_f_is_defined();
    compares_types();
    takes_options_by_name();
    says_what_is_wrong();
    expect(strlen(tapestry_version()) >= 5, "a version");
    printf(failures == 0 ? "the C ABI holds\n" : "%d expectations failed\n", failures);
    return failures;
}
