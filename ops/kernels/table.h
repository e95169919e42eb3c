// The kernels of one ISA, as function pointers; which table is used is settled by core/cpu.h.
//
// A family of kernels is a struct of function pointers in NAME.h and their code in NAME.cpp, which
// is compiled once per ISA and fills the struct there (`install`). A new family gets a member here,
// a line in for_each_family, and its name in cmake/kernels.cmake.
#pragma once

#include <tapestry/ops/kernels/elementwise.h>

namespace tapestry::kernels {

template <class T>
struct Table {
    Elementwise<T> elementwise;
};

template <class T, class F>
void for_each_family(Table<T>& table, F&& f) {
    f(table.elementwise);
}

/// The table of current_isa(), T = float or double.
template <class T>
const Table<T>& table();

}  // namespace tapestry::kernels
