#include <tapestry/core/text/json_writer.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/json_tree.h>

#include <algorithm>

namespace tapestry {

void JsonWriter::members_of(std::string_view object) {
    constexpr std::string_view kSpace = " \n";
    require(object.starts_with('{') && object.ends_with('}'),
            "JsonWriter: expected an object, got {}", object);
    object = object.substr(1, object.size() - 2);
    object.remove_prefix(std::min(object.find_first_not_of(kSpace), object.size()));
    if (object.empty()) return;
    object = object.substr(0, object.find_last_not_of(kSpace) + 1);
    separate();
    const auto deeper = static_cast<std::size_t>(std::max(indent_ * (depth_ - 1), 0));
    for (const char character : object) {  // newlines separate values: texts escape them
        text_ += character;
        if (character == '\n') text_.append(deeper, ' ');
    }
}

void JsonWriter::append_text(std::string_view text) { text_ += json_text(text); }

}  // namespace tapestry
