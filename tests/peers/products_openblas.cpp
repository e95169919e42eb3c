// Products of OpenBLAS (Debian's libopenblas-dev); OPENBLAS_CORETYPE selects its kernels.
#include <tapestry/tests/peers/products.h>

#include <cblas.h>

namespace {

CBLAS_TRANSPOSE form(char letter) { return letter == 'N' ? CblasNoTrans : CblasTrans; }

int size(long n) { return static_cast<int>(n); }

}  // namespace

int main(int count, char** arguments) {
    return peers::run(count, arguments,
                      [](const peers::Product& p, const float* a, const float* b, float* c) {
                          cblas_sgemm(CblasRowMajor, form(p.a), form(p.b), size(p.m), size(p.n),
                                      size(p.k), 1.0F, a, size(peers::row_of_a(p)), b,
                                      size(peers::row_of_b(p)), 0.0F, c, size(p.n));
                          return true;
                      });
}
