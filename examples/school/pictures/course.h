// The pictures of docs/course, by name: NAME.svg and, in Chinese, NAME.zh.svg are drawn by
// examples/programs/course_pictures.cpp. A file for each part of the course says what is where.
#pragma once

#include <tapestry/examples/school/pictures/drawing.h>

namespace tapestry::pictures {

struct Picture {
    const char* name;
    Drawing (*draw)(Language);
};

std::vector<Picture> training_pictures();     ///< chapters 1 to 4
std::vector<Picture> tensor_pictures();       ///< 5 to 7
std::vector<Picture> attention_pictures();    ///< 8 to 11
std::vector<Picture> transformer_pictures();  ///< 12 to 15
std::vector<Picture> state_pictures();        ///< 16 to 18

/// All of these, in the order of the course, and the README's.
std::vector<Picture> course_pictures();

}  // namespace tapestry::pictures
