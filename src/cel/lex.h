/* lex.h: an expression as tokens. */
#ifndef CEL_LEX_H
#define CEL_LEX_H

#include "cel/issues.h"

enum cel_token_kind {
    TOKEN_END,
    TOKEN_ERROR, /* its issue is reported already */
    TOKEN_IDENT,
    TOKEN_QUOTED_IDENT, /* `a-b` */
    TOKEN_INT,
    TOKEN_UINT,
    TOKEN_DOUBLE,
    TOKEN_STRING,
    TOKEN_BYTES,
    TOKEN_TRUE,
    TOKEN_FALSE,
    TOKEN_NULL,
    TOKEN_IN,
    TOKEN_EQ,
    TOKEN_NE,
    TOKEN_LE,
    TOKEN_GE,
    TOKEN_AND,
    TOKEN_OR,
    /* the rest are the characters themselves: ( ) [ ] { } . , ? : + - * / % ! < > */
};

struct cel_token {
    int kind;
    size_t at;
    struct str text; /* as written */
};

struct cel_lexer {
    struct str text;
    size_t at;
    struct cel_issues *issues;
};

struct cel_token cel_lex(struct cel_lexer *lexer);
/* The characters of a string or bytes token. NULL, or what is wrong with it. */
const char *cel_lex_unquote(struct cel_token token, struct arena *arena, struct str *ret);

#endif
