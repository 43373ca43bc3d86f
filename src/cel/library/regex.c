/* regex.c: matches(), find() and findAll(). A constant pattern comes compiled with the call. */
#include "regex/regex.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "cel/value.h"

/* The pattern of this call; NULL: *ret_error says why there is none. */
static const struct regex *pattern_of(struct cel_run *run, const struct cel_value *args, const char *prefix,
                                      struct cel_value *ret_error)
{
    if (run->call->regex)
        return run->call->regex;
    struct error err = { "" };
    size_t used = run->scratch->total_bytes;
    const struct regex *regex = regex_compile(args[1].text, run->scratch, &err);
    /* What is compiled again and again in a loop stays in memory until the end. */
    run->bytes += run->scratch->total_bytes - used;
    if (!cel_take(run, 0) || !cel_work(run, args[1].text.len))
        *ret_error = cel_stop(run);
    else if (!regex)
        *ret_error = cel_fail(run, "%s%s", prefix, err.text);
    else
        return regex;
    return NULL;
}

CEL_FUNCTION(matches)
{
    struct cel_value failure;
    if (args[0].kind != CEL_STRING || args[1].kind != CEL_STRING)
        return run->call->regex ? cel_no_overload() : cel_no_trait(run, args, 0);
    const struct regex *regex = pattern_of(run, args, "", &failure);
    if (!regex)
        return failure;
    bool found = cel_regex_find(run, regex, args[0].text, 0, NULL, NULL);
    return run->stopped ? cel_stop(run) : cel_bool(found);
}

CEL_FUNCTION(find)
{
    struct cel_value failure;
    const struct regex *regex = pattern_of(run, args, "Illegal regex: ", &failure);
    size_t from = 0, to = 0;
    if (!regex)
        return failure;
    bool found = cel_regex_find(run, regex, args[0].text, 0, &from, &to);
    if (run->stopped)
        return cel_stop(run);
    return cel_string(found ? str_slice(args[0].text, from, to) : STR(""));
}

/* Matches one behind the other; an empty one does not count right behind another. */
CEL_FUNCTION(find_all)
{
    struct cel_value failure, list = cel_list_grower(run);
    bool fits =
        args[0].kind == CEL_STRING && args[1].kind == CEL_STRING && (len < 3 || args[2].kind == CEL_INT);
    if (!fits && !run->call->regex)
        return cel_fail(run, "no such overload: findAll(%s, %s, %s)", cel_kind_name(args[0].kind),
                        cel_kind_name(args[1].kind), cel_kind_name(args[len - 1].kind));
    if (!fits)
        return cel_no_overload();
    const struct regex *regex = pattern_of(run, args, "Illegal regex: ", &failure);
    if (!regex)
        return failure;
    struct str text = args[0].text;
    int64_t limit = len > 2 ? args[2].integer : -1;
    size_t at = 0, from, to, bytes, last_end = SIZE_MAX;
    for (int64_t count = 0; !cel_is_error(&list) && at <= text.len && (limit < 0 || count < limit);) {
        if (!cel_regex_find(run, regex, text, at, &from, &to))
            break;
        bool empty_again = to == at && from == last_end;
        if (to == at && at < text.len)
            utf8_rune_at(text, at, &bytes);
        else
            bytes = 1;
        at = to == at ? at + bytes : to;
        last_end = to;
        if (empty_again)
            continue;
        list = cel_list_push(run, &list, cel_string(str_slice(text, from, to)));
        count++;
    }
    return run->stopped ? cel_stop(run) : cel_list_frozen(run, &list);
}

const struct cel_overload cel_lib_regex[] = {
    { "matches", "string, string -> bool", matches, CEL_PATTERN | CEL_UNGUARDED, .lacks = CEL_EXACT_COSTS },
    { "matches", "string, string -> bool", matches, CEL_PATTERN | CEL_UNGUARDED, COST_MATCHES,
      .needs = CEL_EXACT_COSTS },
    { "matches", "string, string -> bool", matches, CEL_MEMBER | CEL_PATTERN | CEL_UNGUARDED, COST_MATCHES },
    { "find", "string, string -> string", find, CEL_MEMBER | CEL_PATTERN, COST_FIND },
    { "findAll", "string, string -> list(string)", find_all, CEL_MEMBER | CEL_PATTERN, COST_FIND },
    { "findAll", "string, string, int -> list(string)", find_all, CEL_MEMBER | CEL_PATTERN | CEL_UNGUARDED,
      COST_FIND },
    { 0 },
};
