// The kernels of one ISA as function pointers; core/cpu.h selects the table.
//
// A family of kernels is a struct of function pointers in a header, with code in NAME.cpp, which is
// compiled once per ISA and fills the struct (`install`). A new family needs a member here, a line
// in for_each_family, and its name in cmake/kernels.cmake.
#pragma once

#include <tapestry/ops/kernels/attention.h>
#include <tapestry/ops/kernels/dropout_mask.h>
#include <tapestry/ops/kernels/elementwise.h>
#include <tapestry/ops/kernels/half.h>
#include <tapestry/ops/kernels/matmul.h>
#include <tapestry/ops/kernels/norm.h>
#include <tapestry/ops/kernels/optimizer_step.h>
#include <tapestry/ops/kernels/peak.h>
#include <tapestry/ops/kernels/reduce.h>
#include <tapestry/ops/kernels/rotary.h>
#include <tapestry/ops/kernels/softmax.h>
#include <tapestry/ops/kernels/unfold.h>

#include <type_traits>

namespace tapestry::kernels {

template <class T>
struct Table {
    Elementwise<T> elementwise;
    Gemm<T> gemm;
    Attention<T> attention;
    Reduce<T> reduce;
    Softmax<T> softmax;
    Norm<T> norm;
    ChannelNorm<T> channel_norm;
    Unfold<T> unfold;
    CrossEntropy<T> cross_entropy;
    Rotary<T> rotary;
    OptimizerStep<T> optimizer_step;
    Peak<T> peak;
    DropoutMask dropout_mask;  ///< only in the table of float, as are the next three
    Half half;
    HalfGemm half_gemm;
    Int8Gemm int8_gemm;
};

template <class T, class F>
void for_each_family(Table<T>& table, F&& f) {
    f(table.elementwise);
    f(table.gemm);
    f(table.attention);
    f(table.reduce);
    f(table.softmax);
    f(table.norm);
    f(table.channel_norm);
    f(table.unfold);
    f(table.cross_entropy);
    f(table.rotary);
    f(table.optimizer_step);
    f(table.peak);
    if constexpr (std::is_same_v<T, float>) {
        f(table.dropout_mask);
        f(table.half);
        f(table.half_gemm);
        f(table.int8_gemm);
    }
}

/// The table of current_isa(), T = float or double.
template <class T>
const Table<T>& table();

}  // namespace tapestry::kernels
