#include <tapestry/core/text/json_writer.h>

#include <tapestry/core/text/json_tree.h>

namespace tapestry {

void JsonWriter::append_text(std::string_view text) { text_ += json_text(text); }

}  // namespace tapestry
