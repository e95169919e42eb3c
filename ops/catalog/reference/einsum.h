// einsum by definition: a loop over the values of all letters.
#pragma once

#include <tapestry/ops/catalog/reference/array.h>

#include <algorithm>
#include <string>

namespace tapestry::reference {

/// One of the terms, each a string of letters, for each array; axes of size 1 repeat.
template <class T>
Array<T> einsum(const std::vector<std::string>& terms, const std::string& output,
                const Arrays<T>& x) {
    std::string letters = output;
    for (const std::string& term : terms) letters += term;
    std::sort(letters.begin(), letters.end());
    letters.erase(std::unique(letters.begin(), letters.end()), letters.end());

    std::vector<std::int64_t> sizes(letters.size(), 1);
    for (std::size_t i = 0; i < terms.size(); ++i) {
        for (std::size_t axis = 0; axis < terms[i].size(); ++axis) {
            const std::int64_t size = x[i].shape[static_cast<int>(axis)];
            if (size != 1) sizes[letters.find(terms[i][axis])] = size;
        }
    }
    const auto value_of = [&](std::int64_t flat, char letter) {
        for (std::size_t i = letters.size() - 1; letters[i] != letter; --i) flat /= sizes[i];
        return flat % sizes[letters.find(letter)];
    };
    const auto place = [&](std::int64_t flat, const std::string& term, const Shape& shape) {
        Shape index;
        for (const char letter : term) index.push_back(value_of(flat, letter));
        return ravel_broadcast(shape, index);
    };

    Shape shape;
    for (const char letter : output) shape.push_back(sizes[letters.find(letter)]);
    Array<T> y(shape);
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    for (std::int64_t flat = 0; flat < count; ++flat) {
        T product(1);
        for (std::size_t i = 0; i < terms.size(); ++i) {
            product *= x[i][place(flat, terms[i], x[i].shape)];
        }
        y[place(flat, output, shape)] += product;
    }
    return y;
}

}  // namespace tapestry::reference
