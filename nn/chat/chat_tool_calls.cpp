#include <tapestry/nn/chat/chat_tool_calls.h>

#include <tapestry/core/error.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

using jinja::Value;

constexpr std::string_view kCalls = "tool_calls";
constexpr std::string_view kFunction = "function";
constexpr std::string_view kName = "name";

Value* calls_of(ChatMessage& message) {
    for (auto& [name, value] : message.more) {
        if (name == kCalls) return &value;
    }
    return nullptr;
}

bool is_wrapped(const Value& call) {
    const Value* function = call.find(kFunction);
    return function != nullptr && function->if_members() != nullptr;
}

// The object with a call's name and arguments.
const Value& function_of(const Value& call) {
    return is_wrapped(call) ? *call.find(kFunction) : call;
}

// A dictionary with another value of this member.
Value with_member(const Value& object, std::string_view name, const Value& value) {
    jinja::Members members = *object.if_members();
    for (auto& [key, old] : members) {
        if (key == name) old = value;
    }
    return members;
}

}  // namespace

bool has_tool_calls(const ChatMessage& message) {
    const auto is_calls = [](const auto& one) { return one.first == kCalls; };
    return std::any_of(message.more.begin(), message.more.end(), is_calls);
}

void check_tool_calls(const ChatMessage& message) {
    ChatMessage copy = message;
    const Value* calls = calls_of(copy);
    if (calls == nullptr) return;
    require(message.role == "assistant", "\"tool_calls\" are for the assistant's messages");
    require(calls->if_list() != nullptr && !calls->if_list()->empty(),
            "\"tool_calls\" is {}, not a list of calls", calls->type());
    for (const Value& call : *calls->if_list()) {
        const Value* name = function_of(call).find(kName);
        require(name != nullptr && name->if_is<std::string>() != nullptr,
                "a call in \"tool_calls\" is not {{\"function\": {{\"name\": ..., \"arguments\": "
                "...}}}}");
    }
}

ChatMessage with_marked_call(ChatMessage message, std::string_view mark) {
    Value& calls = *calls_of(message);
    jinja::List list = *calls.if_list();
    Value& last = list.back();
    const std::string name = function_of(last).find(kName)->string() + std::string(mark);
    const Value marked = with_member(function_of(last), kName, name);
    last = is_wrapped(last) ? with_member(last, kFunction, marked) : marked;
    calls = std::move(list);
    return message;
}

std::string without_marks(std::string text, std::string_view mark) {
    for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at)) {
        text.erase(at, mark.size());
    }
    return text;
}

}  // namespace tapestry
