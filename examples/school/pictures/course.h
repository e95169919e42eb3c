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
std::vector<Picture> recurrent_pictures();    ///< 8
std::vector<Picture> attention_pictures();    ///< 9 to 11
std::vector<Picture> transformer_pictures();  ///< 12 and 13
std::vector<Picture> model_pictures();        ///< 14 and 15
std::vector<Picture> state_pictures();        ///< 16 and 18
std::vector<Picture> speed_pictures();        ///< 17
std::vector<Picture> house_pictures();        ///< the README

/// All of these, in the order of the course.
std::vector<Picture> course_pictures();

}  // namespace tapestry::pictures
