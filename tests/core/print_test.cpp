// Printing against NumPy: each expected text is str() of the same array in NumPy 1.24.2. (In
// development, 20 000 random arrays were compared as well.)
#include <tapestry/core/tensor.h>
#include <tapestry/tests/core/support.h>

#include <limits>

using namespace tapestry;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Row {
    Tensor x;
    std::string text;
};

// clang-format off
std::vector<Row> rows() {
    return {
        {tensor(std::vector<float>{1, 0.25F, 2, 3}, {2, 2}),
         "[[1.   0.25]\n"
         " [2.   3.  ]]"},
        {tensor<float>({0.1F, 0.2F, 0.3F}),
         "[0.1 0.2 0.3]"},
        {tensor<double>({0.1, 0.2, 0.3333333333333333}),
         "[0.1        0.2        0.33333333]"},
        {tensor<float>({0.3333333333333333F, 0.6666666666666666F, 1}),
         "[0.33333334 0.6666667  1.        ]"},
        {tensor<float>({1}),
         "[1.]"},
        {tensor<double>({-0.0, 0}),
         "[-0.  0.]"},
        {tensor<double>({0.0001, 1}),
         "[1.e-04 1.e+00]"},
        {tensor<float>({0.0001F, 1}),
         "[1.e-04 1.e+00]"},
        {tensor<double>({1, 1000}),
         "[   1. 1000.]"},
        {tensor<double>({1, 1000.5}),
         "[1.0000e+00 1.0005e+03]"},
        {tensor<double>({99999999, 0}),
         "[99999999.        0.]"},
        {tensor<double>({100000000, 1.5}),
         "[1.0e+08 1.5e+00]"},
        {tensor<float>({73220848, 1000000}),
         "[73220848.  1000000.]"},
        {tensor<double>({1e+100, -1e-100, 1}),
         "[ 1.e+100 -1.e-100  1.e+000]"},
        {tensor<double>({5e-324, 1.7976931348623157e+308}),
         "[4.94065646e-324 1.79769313e+308]"},
        {tensor<double>({3.141592653589793, 2.718281828459045}),
         "[3.14159265 2.71828183]"},
        {tensor<double>({31415.926535897932, 27182.81828459045}),
         "[31415.9265359  27182.81828459]"},
        {tensor<double>({1e-10, 123456.789}),
         "[1.00000000e-10 1.23456789e+05]"},
        {tensor<double>({0.999999999, 0.5}),
         "[1.  0.5]"},
        {tensor<double>({0.000123456789, 0.001}),
         "[0.00012346 0.001     ]"},
        {tensor<double>({kNan, kInf, -kInf}),
         "[ nan  inf -inf]"},
        {tensor<double>({kNan, 1}),
         "[nan  1.]"},
        {tensor<float>({-kInf, 1.5F, 12}),
         "[-inf  1.5 12. ]"},
        {tensor<float>({kNan, -1234.5F, 1e-06F}),
         "[        nan -1.2345e+03  1.0000e-06]"},
        {tensor<double>({kInf, 100.25}),
         "[   inf 100.25]"},
        {tensor<double>({-1, 0, 1}),
         "[-1.  0.  1.]"},
        {tensor<std::int64_t>({1, -20, 300}),
         "[  1 -20 300]"},
        {tensor<std::int64_t>({-9223372036854775807, 0}),
         "[-9223372036854775807                    0]"},
        {tensor<bool>({true, false, true}),
         "[ True False  True]"},
        {tensor(std::vector<bool>{true, true, true, true}, {2, 2}),
         "[[ True  True]\n"
         " [ True  True]]"},
        {tensor(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}, {2, 2, 2}),
         "[[[0 1]\n"
         "  [2 3]]\n"
         "\n"
         " [[4 5]\n"
         "  [6 7]]]"},
        {tensor(std::vector<float>{0, 0.5F, 1, 1.5F}, {1, 2, 1, 2}),
         "[[[[0.  0.5]]\n"
         "\n"
         "  [[1.  1.5]]]]"},
        {scalar(0.1),
         "0.1"},
        {scalar(0.1, DType::f64),
         "0.1"},
        {scalar(1),
         "1.0"},
        {scalar(1.0 / 3, DType::f64),
         "0.3333333333333333"},
        {scalar(1e16, DType::f64),
         "1e+16"},
        {scalar(123456789),
         "123456790.0"},
        {scalar(-1.5e-5, DType::f64),
         "-1.5e-05"},
        {scalar(-kInf),
         "-inf"},
        {scalar(kNan),
         "nan"},
        {scalar(7, DType::i64),
         "7"},
        {scalar(1, DType::boolean),
         "True"},
        {scalar(-0.0),
         "-0.0"},
        {zeros({0}),
         "[]"},
        {zeros({3, 0}, DType::i64),
         "[]"},
        {arange(30),
         "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
         " 24 25 26 27 28 29]"},
        {arange(1001),
         "[   0    1    2 ...  998  999 1000]"},
        {arange(1001, DType::f32),
         "[   0.    1.    2. ...  998.  999. 1000.]"},
        {views::reshape(arange(1200, DType::f64), {30, 40}),
         "[[0.000e+00 1.000e+00 2.000e+00 ... 3.700e+01 3.800e+01 3.900e+01]\n"
         " [4.000e+01 4.100e+01 4.200e+01 ... 7.700e+01 7.800e+01 7.900e+01]\n"
         " [8.000e+01 8.100e+01 8.200e+01 ... 1.170e+02 1.180e+02 1.190e+02]\n"
         " ...\n"
         " [1.080e+03 1.081e+03 1.082e+03 ... 1.117e+03 1.118e+03 1.119e+03]\n"
         " [1.120e+03 1.121e+03 1.122e+03 ... 1.157e+03 1.158e+03 1.159e+03]\n"
         " [1.160e+03 1.161e+03 1.162e+03 ... 1.197e+03 1.198e+03 1.199e+03]]"},
        {views::reshape(arange(1200), {2, 3, 200}),
         "[[[   0    1    2 ...  197  198  199]\n"
         "  [ 200  201  202 ...  397  398  399]\n"
         "  [ 400  401  402 ...  597  598  599]]\n"
         "\n"
         " [[ 600  601  602 ...  797  798  799]\n"
         "  [ 800  801  802 ...  997  998  999]\n"
         "  [1000 1001 1002 ... 1197 1198 1199]]]"},
        {views::reshape(arange(1400), {7, 20, 10}),
         "[[[   0    1    2 ...    7    8    9]\n"
         "  [  10   11   12 ...   17   18   19]\n"
         "  [  20   21   22 ...   27   28   29]\n"
         "  ...\n"
         "  [ 170  171  172 ...  177  178  179]\n"
         "  [ 180  181  182 ...  187  188  189]\n"
         "  [ 190  191  192 ...  197  198  199]]\n"
         "\n"
         " [[ 200  201  202 ...  207  208  209]\n"
         "  [ 210  211  212 ...  217  218  219]\n"
         "  [ 220  221  222 ...  227  228  229]\n"
         "  ...\n"
         "  [ 370  371  372 ...  377  378  379]\n"
         "  [ 380  381  382 ...  387  388  389]\n"
         "  [ 390  391  392 ...  397  398  399]]\n"
         "\n"
         " [[ 400  401  402 ...  407  408  409]\n"
         "  [ 410  411  412 ...  417  418  419]\n"
         "  [ 420  421  422 ...  427  428  429]\n"
         "  ...\n"
         "  [ 570  571  572 ...  577  578  579]\n"
         "  [ 580  581  582 ...  587  588  589]\n"
         "  [ 590  591  592 ...  597  598  599]]\n"
         "\n"
         " ...\n"
         "\n"
         " [[ 800  801  802 ...  807  808  809]\n"
         "  [ 810  811  812 ...  817  818  819]\n"
         "  [ 820  821  822 ...  827  828  829]\n"
         "  ...\n"
         "  [ 970  971  972 ...  977  978  979]\n"
         "  [ 980  981  982 ...  987  988  989]\n"
         "  [ 990  991  992 ...  997  998  999]]\n"
         "\n"
         " [[1000 1001 1002 ... 1007 1008 1009]\n"
         "  [1010 1011 1012 ... 1017 1018 1019]\n"
         "  [1020 1021 1022 ... 1027 1028 1029]\n"
         "  ...\n"
         "  [1170 1171 1172 ... 1177 1178 1179]\n"
         "  [1180 1181 1182 ... 1187 1188 1189]\n"
         "  [1190 1191 1192 ... 1197 1198 1199]]\n"
         "\n"
         " [[1200 1201 1202 ... 1207 1208 1209]\n"
         "  [1210 1211 1212 ... 1217 1218 1219]\n"
         "  [1220 1221 1222 ... 1227 1228 1229]\n"
         "  ...\n"
         "  [1370 1371 1372 ... 1377 1378 1379]\n"
         "  [1380 1381 1382 ... 1387 1388 1389]\n"
         "  [1390 1391 1392 ... 1397 1398 1399]]]"},
        {views::transpose(views::reshape(arange(6), {2, 3}), 0, 1),
         "[[0 3]\n"
         " [1 4]\n"
         " [2 5]]"},
        {views::expand(scalar(0.5), {2, 2}),
         "[[0.5 0.5]\n"
         " [0.5 0.5]]"},
        {zeros({1, 20}),
         "[[0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0.]]"},
        {full({2, 9}, 1.0 / 3, DType::f64),
         "[[0.33333333 0.33333333 0.33333333 0.33333333 0.33333333 0.33333333\n"
         "  0.33333333 0.33333333 0.33333333]\n"
         " [0.33333333 0.33333333 0.33333333 0.33333333 0.33333333 0.33333333\n"
         "  0.33333333 0.33333333 0.33333333]]"},
    };
}
// clang-format on

}  // namespace

TEST_CASE("print: as NumPy does") {
    for (const auto& [x, text] : rows()) {
        CHECK_EQ(to_string(x), text);
        CHECK_EQ(fmt::format("{}", x), text);
    }
}

TEST_CASE("print: of 16 bits, the fewest digits that mean the same number") {
    const auto text = [](std::vector<float> values, DType dtype) {
        const auto n = static_cast<std::int64_t>(values.size());
        return to_string(cast(tensor(values, {n}), dtype));
    };
    CHECK_EQ(text({0.1F, -2.5F, 3, 0}, DType::bf16), "[ 0.1 -2.5  3.   0. ]");
    CHECK_EQ(text({1.0F / 3, 0.1F}, DType::f16), "[0.3333 0.1   ]");
    CHECK_EQ(text({1.0F / 3, 255, 257}, DType::bf16), "[  0.334 255.    256.   ]");
    CHECK_EQ(text({NAN, -INFINITY, 1}, DType::bf16), "[ nan -inf   1.]");
    CHECK_EQ(text({1e38F, 1e-38F}, DType::bf16), "[1.e+38 1.e-38]");
    CHECK_EQ(text({6e-8F}, DType::f16), "[6.e-08]");
    CHECK_EQ(to_string(scalar(0.1, DType::bf16)), "0.1");
    CHECK_EQ(to_string(scalar(-65504, DType::f16)), "-65500.0");  // its neighbour is 65472
}

TEST_CASE("print: just below the threshold all is shown") {
    const std::string text = to_string(arange(1000));
    CHECK(text.find("...") == std::string::npos);
    CHECK(text.find(" 499 ") != std::string::npos);
}

TEST_CASE("print: no line is longer than 75 columns") {
    Generator random(31);
    for (int round = 0; round < 50; ++round) {
        const Shape shape{1 + test::pick(random, 3), 1 + test::pick(random, 40)};
        const std::string text = to_string(randn(shape, random)) + '\n';
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t end = text.find('\n', begin);
            CHECK(end - begin <= 75);
            CHECK((end == begin || text[end - 1] != ' '));
            begin = end + 1;
        }
    }
}

TEST_CASE("print: undefined") {
    CHECK(to_string(Tensor()) == "undefined");
    CHECK(fmt::format("{}", Tensor()) == "undefined");
}
