// Includes headers by their former paths (cmake/moved_headers.txt).
#include <tapestry/nn/linear.h>
#include <tapestry/nn/module.h>

std::size_t parameters_of_a_layer() {
    tapestry::Generator generator(1);
    return tapestry::Linear(2, 3, generator).parameters().size();
}
