// Products of libdnnl (oneDNN; Debian's libdnnl-dev) by its BLAS-like function.
#include <tapestry/tests/peers/products.h>

#include <dnnl.h>

int main(int count, char** arguments) {
    return peers::run(count, arguments,
                      [](const peers::Product& p, const float* a, const float* b, float* c) {
                          return dnnl_sgemm(p.a, p.b, p.m, p.n, p.k, 1.0F, a, peers::row_of_a(p), b,
                                            peers::row_of_b(p), 0.0F, c, p.n) == dnnl_success;
                      });
}
