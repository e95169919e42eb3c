// The pictures of a text, each drawn by its script and its function. Read course.h first.
#include <tapestry/core/error.h>
#include <tapestry/examples/school/pictures/course.h>

#include <sstream>

namespace tapestry::pictures {

std::vector<Picture> read_pictures(std::string_view text) {
    std::vector<Picture> pictures;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("#")) continue;
        if (!line.starts_with("picture ")) {
            if (!pictures.empty()) pictures.back().script += line + '\n';
            continue;
        }
        Picture picture;
        std::istringstream words(line.substr(8));
        words >> picture.name >> picture.size.width >> picture.size.height >> std::ws;
        std::getline(words, picture.title);
        require<ValueError>(!picture.title.empty(),
                            "expected picture NAME WIDTH HEIGHT TITLE, found '{}'", line);
        pictures.push_back(picture);
    }
    return pictures;
}

std::string draw(const Picture& picture, Language language) {
    Drawing drawing(picture.size, picture.title, language);
    drawing.draw(picture.script);
    for (const Computed& computed : {computed_curves(), computed_tables(), computed_networks()}) {
        const auto found = computed.find(picture.name);
        if (found != computed.end()) found->second(drawing);
    }
    return drawing.svg();
}

}  // namespace tapestry::pictures
