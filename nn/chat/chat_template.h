// Chat templates: how a conversation is written for a language model, as programs in Jinja. Read
// next: chat_encoder.h, which runs them; jinja.h, what they may contain.
#pragma once

#include <tapestry/nn/module/config_fields.h>

#include <string>
#include <string_view>

namespace tapestry {

/// Forms of conversations that need no program of a directory.
enum class ChatStyle {
    plain,   ///< "User: Hi\nAssistant: Hello", then the end of text
    chatml,  ///< "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n"
    llama3   ///< "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>..."
};

template <>
struct NamesOf<ChatStyle> {
    static constexpr EnumNames<ChatStyle, 3> list{{{ChatStyle::plain, "plain"},
                                                   {ChatStyle::chatml, "chatml"},
                                                   {ChatStyle::llama3, "llama3"}}};
};

/// A program, and the values of its variables bos_token and eos_token.
struct ChatTemplate {
    std::string program;         ///< in Jinja
    std::string bos_token = {};  ///< the token that begins texts, if the program uses it
    std::string eos_token = {};  ///< the token that ends them, if the program uses it
};

/// The style of this name. Throws ValueError, with the names there are, for another one.
ChatStyle chat_style_of(std::string_view name);

/// The program of a style. A plain conversation begins with `begin`, and an answer ends with `end`,
/// or with a line break if that is empty: texts of tokens. Those of the other styles are fixed.
std::string chat_program(ChatStyle style, std::string_view begin = {}, std::string_view end = {});

/// The program with this message in front of conversations that do not begin with the system's.
std::string with_system(const std::string& program, std::string_view system);

/// For people and for settings: the name of a style whose program this is, with any system message;
/// "" for other programs.
std::string_view name_of_program(std::string_view program);

}  // namespace tapestry
