// Programs in Jinja, the language of chat templates. Read next: jinja_parser.h, how they are run;
// chat_template.h, the only user.
#pragma once

#include <tapestry/nn/chat/jinja_value.h>

#include <memory>
#include <string>
#include <string_view>

namespace tapestry::jinja {

constexpr std::string_view kGenerationBegins = "\uE0F5\uE0F6";  ///< before a block {% generation %}
constexpr std::string_view kGenerationEnds = "\uE0F6\uE0F5";    ///< behind it; both are private

/// A program, as transformers runs it: trim_blocks and lstrip_blocks, with break, continue and
/// {% generation %}, without strftime_now, so a template writes the same on any day. It
/// has the parts of the language that chat templates use; others are refused by name: call blocks,
/// includes, recursive loops, *arguments, the operators % for texts and **, other filters and
/// tests; so are arguments that a filter, test, method or function does not take. Only lower()
/// knows letters beyond ASCII; the keys of dictionaries are texts. Source:
/// jinja.palletsprojects.com, Template Designer Documentation; transformers,
/// utils/chat_template_utils.py.
class Program {
public:
    /// Throws JinjaError, with the line, if it is not valid or not supported.
    explicit Program(std::string_view text);

    /// The text that it writes, with these variables. Throws JinjaError, with the line, if it
    /// fails, calls raise_exception, takes more than 200,000 turns, writes more than kMostText or
    /// takes more than kMostMemory.
    std::string run(Members variables, bool marks_generation = false) const;

    /// Whether it has a block {% generation %}, transformers' mark of learned text.
    bool has_generation() const;

private:
    struct Body;
    std::shared_ptr<const Body> body_;
};

}  // namespace tapestry::jinja
