// A program's system message, as with_system() has put it in front. Internal to nn.
#pragma once

#include <string>
#include <string_view>

namespace tapestry {

/// The program without what with_system() has put in front.
std::string_view without_system(std::string_view program);

/// The program with another system message; "" if with_system() gave it none.
std::string with_other_system(const std::string& program, std::string_view system);

}  // namespace tapestry
