// Rows of the op table: einsum, one equation per row. The definition supports neither ellipses nor
// implicit outputs, so each row also has the explicit letters.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/linalg.h>
#include <tapestry/ops/einsum.h>

namespace tapestry::catalog {
namespace {

// "ab,bc" -> {"ab", "bc"}
std::vector<std::string> terms_of(const std::string& text) {
    std::vector<std::string> terms{""};
    for (const char c : text) {
        if (c == ',') {
            terms.emplace_back();
        } else {
            terms.back() += c;
        }
    }
    return terms;
}

// `terms` and `output` are the equation with every axis named.
OpCase row_of(const char* equation, const std::string& terms, const std::string& output,
              std::vector<Sample> samples, const char* variant = nullptr) {
    OpCase row = op_case(
        "einsum", variant == nullptr ? equation : variant,
        [equation = std::string(equation)](const Tensors& x) { return einsum(equation, x); },
        [terms = terms_of(terms), output](const auto& x) {
            return reference::einsum(terms, output, x);
        },
        std::move(samples));
    row.roundings = 12;  // each pairwise contraction is rounded
    return row;
}

std::vector<OpCase> one_operand() {
    return {row_of("ij->ji", "ij", "ji", {{{{3, 5}}}, {{{1, 1}}}, {{{0, 3}}}}),
            row_of("ji", "ji", "ij", {{{{3, 5}}}, {{{1, 1}}}, {{{0, 3}}}}),
            row_of("ij->", "ij", "", {{{{3, 5}}}, {{{1, 1}}}, {{{0, 3}}}}),
            row_of("ii", "ii", "", {{{{4, 4}}}, {{{1, 1}}}, {{{0, 0}}}}),
            row_of("iji->ij", "iji", "ij", {{{{3, 2, 3}}}, {{{1, 1, 1}}}, {{{0, 2, 0}}}}),
            row_of("iii->i", "iii", "i", {{{{3, 3, 3}}}, {{{1, 1, 1}}}, {{{0, 0, 0}}}}),
            row_of("i...->...", "iab", "ab", {{{{2, 3, 4}}}, {{{1, 1, 1}}}, {{{0, 2, 3}}}}),
            row_of("...i->i", "abi", "i", {{{{2, 3, 4}}}, {{{1, 1, 1}}}, {{{0, 2, 3}}}})};
}

std::vector<OpCase> two_operands() {
    std::vector<OpCase> rows{
        row_of("ij, jk -> ik", "ij,jk", "ik",
               {{{{3, 5}}, {{5, 4}}},
                {{{7, 33}}, {{33, 19}}},
                {{{1, 1}}, {{1, 1}}},
                {{{3, 1}}, {{5, 4}}},  // j is 1 on the left
                {{{3, 0}}, {{0, 4}}},
                {{{0, 3}}, {{3, 4}}}}),
        row_of("ij,jk->ki", "ij,jk", "ki",
               {{{{3, 5}}, {{5, 4}}}, {{{1, 1}}, {{1, 1}}}, {{{2, 0}}, {{0, 4}}}}),
        row_of(
            "bij,bjk->bik", "bij,bjk", "bik",
            {{{{2, 3, 5}}, {{2, 5, 4}}}, {{{1, 1, 1}}, {{1, 1, 1}}}, {{{0, 3, 2}}, {{0, 2, 2}}}}),
        row_of("bqhd,bkhd->bhqk", "bqhd,bkhd", "bhqk",
               {{{{2, 3, 2, 5}}, {{2, 4, 2, 5}}},
                {{{1, 1, 1, 1}}, {{1, 1, 1, 1}}},
                {{{2, 0, 2, 5}}, {{2, 4, 2, 5}}}}),
        row_of("aibj,jbck->kaic", "aibj,jbck", "kaic",
               {{{{2, 3, 4, 2}}, {{2, 4, 3, 2}}},
                {{{1, 1, 1, 1}}, {{1, 1, 1, 1}}},
                {{{2, 3, 0, 2}}, {{2, 0, 3, 2}}}}),
        row_of("ij,j", "ij,j", "i", {{{{3, 5}}, {{5}}}, {{{1, 1}}, {{1}}}, {{{2, 0}}, {{0}}}}),
        row_of("i,j", "i,j", "ij", {{{{3}}, {{4}}}, {{{1}}, {{1}}}, {{{0}}, {{2}}}}),
        row_of("ij,ij->", "ij,ij", "",
               {{{{3, 5}}, {{3, 5}}}, {{{1, 1}}, {{1, 1}}}, {{{0, 2}}, {{0, 2}}}}),
        row_of(
            "bij,bij->b", "bij,bij", "b",
            {{{{2, 3, 4}}, {{2, 3, 4}}}, {{{1, 1, 1}}, {{1, 1, 1}}}, {{{2, 0, 3}}, {{2, 0, 3}}}}),
        row_of("ij,ik->ijk", "ij,ik", "ijk",
               {{{{3, 2}}, {{3, 4}}}, {{{1, 1}}, {{1, 1}}}, {{{0, 2}}, {{0, 2}}}}),
        row_of("ij,kl->k", "ij,kl", "k",
               {{{{3, 2}}, {{3, 4}}}, {{{1, 1}}, {{1, 1}}}, {{{0, 2}}, {{2, 2}}}}),
        row_of("iij,ji->i", "iij,ji", "i",
               {{{{3, 3, 2}}, {{2, 3}}}, {{{1, 1, 1}}, {{1, 1}}}, {{{0, 0, 2}}, {{2, 0}}}}),
        row_of("...ij,...jk", "bij,bjk", "bik",
               {{{{2, 3, 5}}, {{2, 5, 4}}},
                {{{2, 3, 5}}, {{1, 5, 4}}},
                {{{1, 1, 1}}, {{1, 1, 1}}},
                {{{0, 3, 2}}, {{1, 2, 2}}}}),
        row_of("...i,...i->...", "abi,bi", "ab",
               {{{{2, 3, 4}}, {{3, 4}}}, {{{1, 1, 1}}, {{1, 1}}}, {{{2, 0, 4}}, {{1, 4}}}}),
        row_of("...,i->i...", "ab,i", "iab",
               {{{{2, 3}}, {{4}}}, {{{1, 1}}, {{1}}}, {{{0, 2}}, {{3}}}})};
    rows.front().large = {{{90, 200}}, {{200, 70}}};
    return rows;
}

std::vector<OpCase> more_operands() {
    OpCase chain = row_of("ab,bc,cd,de,ef,fg,gh,hi,ij->aj", "ab,bc,cd,de,ef,fg,gh,hi,ij", "aj",
                          {Sample(9, {{2, 2}}), Sample(9, {{1, 1}}), Sample(9, {{0, 0}})},
                          "a chain of nine, greedy");
    chain.roundings = 40;  // products are larger than their sum
    return {row_of("ij,jk,k->i", "ij,jk,k", "i",
                   {{{{3, 4}}, {{4, 5}}, {{5}}},
                    {{{1, 1}}, {{1, 1}}, {{1}}},
                    {{{3, 0}}, {{0, 5}}, {{5}}}}),
            row_of("bi,oij,bj->bo", "bi,oij,bj", "bo",  // a bilinear layer
                   {{{{3, 4}}, {{2, 4, 5}}, {{3, 5}}},
                    {{{1, 1}}, {{1, 1, 1}}, {{1, 1}}},
                    {{{0, 2}}, {{2, 2, 3}}, {{0, 3}}}}),
            row_of("ijk,jl,kl,->il", "ijk,jl,kl,", "il",
                   {{{{2, 3, 4}}, {{3, 5}}, {{4, 5}}, {{}}},
                    {{{1, 1, 1}}, {{1, 1}}, {{1, 1}}, {{}}},
                    {{{2, 0, 4}}, {{0, 5}}, {{4, 5}}, {{}}}}),
            chain};
}

ErrorCase error(std::string_view equation, std::vector<Shape> shapes, const char* message) {
    return {[=] {
                Tensors operands;
                for (const Shape& shape : shapes) operands.push_back(ones(shape));
                einsum(equation, operands);
            },
            message};
}

std::vector<ErrorCase> errors() {
    const Shape square{2, 2};
    return {
        error("ij,j3->ik", {square, square},
              "einsum: \"ij,j3->ik\" at position 4: '3' is not one of a-z A-Z , ... ->"),
        error("i..j->ij", {square}, "at position 1: '.' is not one of"),
        error("ij-ji", {square}, "at position 2: '-' is not one of"),
        error("...i...", {square}, "at position 4: a second ... in one term"),
        error("ij->ji->ij", {square}, "at position 6: a second ->"),
        error("ij->i,j", {square}, "at position 5: there is one output, and no ',' in it"),
        error("ij->iji", {square}, "at position 6: 'i' is in the output twice"),
        error("ij,jk->iz", {square, square}, "at position 8: the output's 'z' is in no operand"),
        error("ij,jk->ik", {square}, "einsum: \"ij,jk->ik\" needs 2 operands, got 1"),
        error("ij->", {square, square}, "einsum: \"ij->\" needs 1 operand, got 2"),
        error("i", {square}, "einsum: \"i\": a term of 1 letter for an operand [2, 2]"),
        error("ij→ji", {square},
              "einsum: \"ij→ji\" at position 2: '→' is not one of a-z A-Z , ... ->"),
        error("iα,αk", {square, square}, "einsum: \"iα,αk\" at position 1: 'α' is not one of"),
        error("i\xB1j", {square}, "einsum: \"i\\xB1j\" at position 1: '\\xB1' is not one of"),
        error("ij\xE2\x86", {square}, "einsum: \"ij\\xE2\\x86\" at position 2: '\\xE2\\x86' is"),
        error("i\tj", {square}, "einsum: \"i\\tj\" at position 1: '\\t' is not one of"),
        error("ij,jk->ik", {square, {2, 2, 2}},
              "einsum: \"ij,jk->ik\": a term of 2 letters for an operand [2, 2, 2]"),
        error("...ijk", {square}, "a term of at least 3 letters for an operand [2, 2]"),
        error("ij,jk->ik", {{2, 3}, {4, 5}},
              "einsum: \"ij,jk->ik\": j is 3 in operand 0 [2, 3] and 4 in operand 1 [4, 5]"),
        error("...i,...i", {{2, 3}, {4, 3}},
              "axis -1 of ... is 2 in operand 0 [2, 3] and 4 in operand 1 [4, 3]"),
        error("ii->i", {{2, 3}}, "einsum: \"ii->i\": [2, 3] has no diagonal i: sizes 2 and 3"),
        error("abcde,fghij->abcdefghij", {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}},
              "einsum: [1, 1, 1, 1, 1] and [1, 1, 1, 1, 1] make a tensor of 10 axes; at most 8 are "
              "supported"),
        {[] {
             einsum("i,i", {ones({2}), ones({2}, DType::f64)});
         },
         "einsum: element types differ: f32 and f64"},
        {[] { einsum("i", {arange(3)}); }, "einsum: needs floating-point numbers, got i64"},
        {[] { einsum("i", {Tensor()}); }, "einsum: got an undefined tensor"}};
}

}  // namespace

std::vector<OpCase> einsum_cases() {
    std::vector<OpCase> rows = two_operands();
    rows.front().errors = errors();
    for (auto* more : {one_operand, more_operands}) {
        for (OpCase& row : more()) rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace tapestry::catalog
