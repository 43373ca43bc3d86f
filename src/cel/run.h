/* run.h: the state of one evaluation, and the functions that it calls.
 *
 * A failure is a value (CEL_ERROR), because && and || may swallow it. What ends an evaluation for good is
 * `stopped`: the cost limit, or the limits on work and memory that the reference's cost does not see. */
#ifndef CEL_RUN_H
#define CEL_RUN_H

#include "cel/ast.h"
#include "regex/regex.h"

/* A compiled expression. */
struct cel_program {
    const struct cel_node *root;
    uint32_t slots_len; /* of the variables of folds */
    uint32_t rules;
    uint64_t cost_max;
};

enum cel_cost {
    COST_ONE,
    /* by the name of the function */
    COST_LENGTH,       /* a tenth of the first argument's length */
    COST_LENGTH_TWICE, /* a fifth */
    COST_TRAVERSAL,    /* of the first argument, with all that is in it */
    COST_RESULT_TWICE,
    COST_FIND,
    COST_CONTAINS_IP,
    COST_CONTAINS_CIDR,
    COST_VALIDATE,
    /* by the overload: only if the checker found just one */
    COST_BY_OVERLOAD,
    COST_TEXT = COST_BY_OVERLOAD, /* as COST_LENGTH */
    COST_ARGUMENT,                /* a tenth of the second argument's length */
    COST_IN_LIST,
    COST_SHORTER, /* a tenth of the shorter argument */
    COST_BOTH,    /* a tenth of both */
    COST_MATCHES,
    COST_CONTAINS,
    COST_LIST_RESULT,
    COST_FLATTEN,
    COST_SELF_COMPARE,      /* the square of the list */
    COST_SELF_COMPARE_KEYS, /* of the second argument */
    COST_SETS,
    COST_SETS_TWICE,
};

struct cel_slot {
    struct cel_value value;
    const struct cel_fold *fold; /* whose accumulator it is; computed when it is first used */
    bool ready, grows;
};

struct cel_run {
    struct arena *scratch;
    const struct cel_value *device; /* NULL: unknown */
    struct cel_slot *slots;
    const struct cel_call *call; /* the one whose implementation runs */
    uint64_t cost, cost_max;
    uint64_t work;
    size_t bytes;
    uint32_t rules;
    bool stopped;
    struct str crash; /* stopped where the reference panics: what it says */
};

/* The name of the Go type of a value, which messages of the reference show: "types.Int". */
const char *cel_go_type(const struct cel_run *run, const struct cel_value *value);

typedef struct cel_value cel_function(struct cel_run *run, const struct cel_value *args, size_t len);

enum {
    CEL_MEMBER = 1,    /* written a.f(b) */
    CEL_UNGUARDED = 2, /* checks the kinds of its arguments itself */
    CEL_CONSTANT = 4,  /* a call with a constant argument is computed once */
    CEL_PATTERN = 8,   /* the second argument is a pattern; a constant one is compiled once */
};

/* Overloads of a function: the checker reads the signature, evaluation the function, and cost.c the cost. */
struct cel_overload {
    const char *function;
    const char *signature; /* one alternative or several: "int -> string; string, string -> bool" */
    cel_function *call;    /* of OP_CALL; the others are evaluated in eval.c and attribute.c */
    uint8_t flags;
    uint8_t cost; /* enum cel_cost */
    enum cel_op op;
    uint32_t needs, lacks; /* enum cel_rule: there is such an overload with all of these, and none of those */
};

/* Defines a function of a library, which need not use all of its parameters. */
#define CEL_FUNCTION(name) \
    static struct cel_value name(_unused_ struct cel_run *run, _unused_ const struct cel_value *args, \
                                 _unused_ size_t len)
/* The same for a function that is one expression. */
#define CEL_RETURNS(name, ...) \
    CEL_FUNCTION(name) \
    { \
        return __VA_ARGS__; \
    }

/* Every table of overloads, ended by one without a function; check_call.c lists the tables. */
extern const struct cel_overload cel_operators[], cel_lib_convert[], cel_lib_text[], cel_lib_strings[],
    cel_lib_lists[], cel_lib_optional[], cel_lib_time[], cel_lib_quantity[], cel_lib_semver[], cel_lib_net[],
    cel_lib_url[], cel_lib_format[], cel_lib_regex[];

struct cel_value cel_fail(struct cel_run *run, const char *format, ...) _printf_(2, 3);
struct cel_value cel_fail_static(const char *text);
struct cel_value cel_no_overload(void);
/* Ends the evaluation. */
struct cel_value cel_stop(struct cel_run *run);
/* The same, where the reference panics: nothing absorbs that either. */
struct cel_value cel_crash(struct cel_run *run, const char *format, ...) _printf_(2, 3);
/* False: the limit is reached and the evaluation ended. */
bool cel_charge(struct cel_run *run, uint64_t cost);
bool cel_work(struct cel_run *run, uint64_t steps);
/* regex_find(); its steps are work of the evaluation. */
bool cel_regex_find(struct cel_run *run, const struct regex *regex, struct str text, size_t from,
                    size_t *ret_from, size_t *ret_to);
/* Memory of the evaluation; NULL as above. */
void *cel_take(struct cel_run *run, size_t bytes);

static inline bool cel_is_error(const struct cel_value *value)
{
    return value->kind == CEL_ERROR;
}

static inline struct cel_value cel_make_double(double value)
{
    return (struct cel_value){ .kind = CEL_DOUBLE, .number = value };
}

static inline struct cel_value cel_make_uint(uint64_t value)
{
    return (struct cel_value){ .kind = CEL_UINT, .uinteger = value };
}

static inline struct cel_value cel_make_type(enum cel_kind kind)
{
    return (struct cel_value){ .kind = CEL_TYPE, .text = str_from(cel_kind_name(kind)) };
}

/* eval.c */
struct cel_value cel_eval_node(struct cel_run *run, const struct cel_node *node);
/* attribute.c: a name, a selection, an index, or a conditional with such branches. */
struct cel_value cel_eval_attribute(struct cel_run *run, const struct cel_node *node);
/* fold.c */
struct cel_value cel_eval_fold(struct cel_run *run, const struct cel_node *node);
struct cel_value cel_eval_slot(struct cel_run *run, int32_t slot);
/* cost.c */
uint64_t cel_size_of(const struct cel_value *value);
uint64_t cel_call_cost(struct cel_run *run, const struct cel_call *call, const struct cel_overload *chosen,
                       const struct cel_value *args, const struct cel_value *result);
uint64_t cel_equality_cost(const struct cel_value *a, const struct cel_value *b, bool equals);

#endif
