#include <tapestry/nn/json_writer.h>

#include <nlohmann/json.hpp>

namespace tapestry {

void JsonWriter::append_text(std::string_view text) {
    using Json = nlohmann::json;
    text_ += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tapestry
