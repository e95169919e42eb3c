// Draws the pictures of docs/course into a directory: run `course_pictures docs/course/pictures`
// after changing examples/school/pictures. The test `course_pictures` compares the files with its
// output.
#include <tapestry/core/file.h>
#include <tapestry/examples/school/pictures/course.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string_view>

int main(int count, char** arguments) try {
    using namespace tapestry::pictures;
    if (count != 2) throw tapestry::ValueError("usage: course_pictures DIRECTORY");
    if (std::string_view(arguments[1]) == "--help") {
        std::puts("usage: course_pictures DIRECTORY");
        return 0;
    }
    const std::filesystem::path directory = arguments[1];
    std::filesystem::create_directories(directory);
    for (const Picture& picture : course_pictures()) {
        const std::string name = picture.name;
        tapestry::write_file_atomically(directory / (name + ".svg"),
                                        picture.draw(Language::english).svg());
        tapestry::write_file_atomically(directory / (name + ".zh.svg"),
                                        picture.draw(Language::chinese).svg());
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "course_pictures: %s\n", error.what());
    return 1;
}
