// Draws the pictures of docs/course into a directory, after a change of examples/school/pictures:
//
//     course_pictures examples/school/pictures/course.txt docs/course/pictures
//
// The test `course_pictures` checks that the directory is up to date.
#include <tapestry/core/file.h>
#include <tapestry/examples/school/pictures/course.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string_view>

int main(int count, char** arguments) try {
    using namespace tapestry::pictures;
    constexpr const char* kUsage = "usage: course_pictures PICTURES DIRECTORY";
    if (count == 2 && std::string_view(arguments[1]) == "--help") {
        std::puts(kUsage);
        return 0;
    }
    if (count != 3) throw tapestry::ValueError(kUsage);
    const std::filesystem::path directory = arguments[2];
    std::filesystem::create_directories(directory);
    for (const Picture& picture : read_pictures(tapestry::read_file(arguments[1]))) {
        tapestry::write_file_atomically(directory / (picture.name + ".svg"),
                                        draw(picture, Language::english));
        tapestry::write_file_atomically(directory / (picture.name + ".zh.svg"),
                                        draw(picture, Language::chinese));
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "course_pictures: %s\n", error.what());
    return 1;
}
