// Internal to Tapestry. The pictures of docs/course: course.txt has a script (drawing.h) for each;
// what is computed or repeated is added by a function. NAME.svg and, in Chinese, NAME.zh.svg are
// written by examples/programs/course_pictures.cpp.
#pragma once

#include <tapestry/examples/school/pictures/drawing.h>

namespace tapestry::pictures {

struct Picture {
    std::string name;
    Drawing::Size size;
    std::string title;
    std::string script;
};

/// Parses a text like course.txt. Throws ValueError for an invalid `picture` line.
std::vector<Picture> read_pictures(std::string_view text);

/// The picture's SVG. Throws ValueError, naming the error, if the script is invalid.
std::string draw(const Picture& picture, Language language);

/// Functions that add the computed parts of pictures, by the picture's name.
using Computed = std::map<std::string, void (*)(Drawing&), std::less<>>;
Computed computed_curves();
Computed computed_tables();
Computed computed_networks();

}  // namespace tapestry::pictures
