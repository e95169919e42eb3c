// The beginning of a .npy file, which says what follows:
//
//     6 bytes   "\x93NUMPY"
//     2 bytes   version: 1.0, 2.0 or 3.0
//     2 or 4    length of the rest, little-endian (4 from version 2 on)
//     text      a dict of Python: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//
// and its elements, from bytes. Internal to nn/data.
#pragma once

#include <tapestry/core/tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace tapestry::npy {

/// How elements are stored.
struct ElementType {
    char kind = 'f';       ///< f, i, u, b
    int bytes = 4;         ///< of one element
    bool swapped = false;  ///< the other byte order than this machine's

    DType dtype() const;  ///< in a tensor
};

struct Header {
    ElementType type;
    bool fortran = false;
    Shape shape;

    std::uint64_t data_bytes() const;
};

/// Takes the bytes that follow; throws if there are not as many.
using Take = std::function<void(std::span<std::byte>)>;

/// Reads the header. Throws IoError that begins with `what`.
Header read_header(const std::string& what, const Take& take, std::uint64_t available);

/// The header for x.
std::string header_text(const Tensor& x);

/// Reads n elements to `to` + first, which has the type's dtype.
void read_elements(const std::string& what, const Take& take, const ElementType& type, Tensor& to,
                   std::int64_t first, std::int64_t n);

/// The whole array, whose data has exactly `available` bytes.
Tensor read_array(const std::string& what, const Take& take, std::uint64_t available);

}  // namespace tapestry::npy
