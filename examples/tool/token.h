/* The tokens of a line of text, and what kind of number one is: ASCII, whatever the locale. */
#ifndef TOOL_TOKEN_H
#define TOOL_TOKEN_H
#include <stdbool.h>
#include <stdint.h>

enum { TOKENS = 8 };

typedef struct token {
    char *begin, *end;
} token;

typedef struct excerpt {
    char text[24];
} excerpt;

/* The first 20 characters of a token, for a message. */
excerpt shown(token);
/* At most TOKENS of them; answers how many. */
int split(char *begin, char *end, token out[TOKENS]);
/* In letters of either case. */
bool is_word(token, const char *word);
/* A whole number; one beyond 64 bits is the nearest that fits. */
bool whole(token, int64_t *out);

typedef enum number { NONE, WHOLE, FRACTION, SCALED, NOT_FINITE } number; /* SCALED: with an exponent */
number number_kind(token);
#endif
