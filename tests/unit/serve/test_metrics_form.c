/* The form of metrics pages. The expected types are those that the library of kube-scheduler v1.36.4 chooses for the
 * same headers. */
#include "unit/serve/scheduler.h"

#include <zlib.h>

#include "serve/metrics_form.h"

#define TEXT "text/plain; version=0.0.4; charset=utf-8; escaping="

static void test_type(void **state _unused_)
{
    static const struct {
        const char *accept, *want;
    } cases[] = {
        { "", TEXT "underscores" },
        { "*/*", TEXT "underscores" },
        { "text/html", TEXT "underscores" },
        { "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", TEXT "underscores" },
        { "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
          "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
          TEXT "underscores" },
        { "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
          "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;"
          "q=0.4,"
          "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
          TEXT "allow-utf-8" },
        { "text/plain; escaping=dots ; q=1", TEXT "dots" },
        { "text/plain;escaping=values", TEXT "values" },
        { "text/plain;escaping=Values", TEXT "underscores" },
        { "text/plain;escaping=nothing", TEXT "underscores" },
        { "text/plain;escaping", TEXT "underscores" },
        { "text/plain;escaping=dots=dots", TEXT "underscores" },
        { "text/plain;escaping=dots;escaping=values", TEXT "values" },
        { "text/plain;version=1.0.0;escaping=allow-utf-8", TEXT "allow-utf-8" },
        { "text/html;escaping=dots;q=0.9,*/*;escaping=values;q=0.8", TEXT "values" },
        { "text/plain;version=0.0.4,*/*;q=0.1;escaping=values", TEXT "underscores" },
        /* An exact type takes precedence, whatever its quality. */
        { "*/*;escaping=values,text/plain;q=0.5", TEXT "underscores" },
        { "text/plain;q= 1;escaping=dots,text/plain;q=0.1;escaping=values", TEXT "values" },
        { "text/plain;q=1 ;escaping=dots,text/plain;q=0.1;escaping=values", TEXT "values" },
        { "text/plain;escaping=dots;q=1 , text/plain;q=0.1;escaping=values", TEXT "dots" },
        { ",;=/,", TEXT "underscores" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct str type = metrics_form_type(str_from(cases[i].accept));
        if (!str_is(type, cases[i].want))
            fail_msg("%s: " STR_FMT ", want %s", cases[i].accept, STR_ARG(type), cases[i].want);
    }
}

static void test_takes_gzip(void **state _unused_)
{
    static const struct {
        const char *values[2];
        bool want;
    } cases[] = {
        { { NULL }, false },
        { { "" }, false },
        { { "gzip" }, true },
        { { "deflate, gzip, br, zstd" }, true },
        { { "deflate, gzip;q=1.0, *;q=0.5" }, true },
        { { "gzip;q=0.001" }, true },
        { { "gzip ; q=0.5 , deflate" }, true },
        { { "deflate", "gzip" }, true },
        { { "deflate;level", "gzip" }, true },
        { { "identity;q=0.5, gzip;q=0.6" }, true },
        { { "identity;q=0, gzip" }, true },
        { { "gzip what, identity" }, true },
        { { "zstd, gzip;q=0.1" }, true },
        { { "gzip;q=0" }, false },
        { { "gzip;q=0.0, deflate" }, false },
        { { "gzip, identity" }, false },
        { { "*" }, false },
        { { "*;q=0.7, gzip;q=0.3" }, false },
        { { "identity" }, false },
        { { "zstd" }, false },
        { { "GZIP" }, false },
        { { "x-gzip" }, false },
        { { "gzip;q=2" }, false },
        { { "gzip;q=" }, false },
        { { "gzip;q" }, false },
        { { "gzip;Q=1" }, false },
        { { "gzip;level=9, gzip" }, false },
        { { ", gzip" }, false },
        { { "deflate gzip" }, false },
        { { "\"gzip\"" }, false },
        { { "gzip", "identity" }, false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct server_header headers[] = { { STR("Accept"), STR("gzip") },
                                           { STR("aCCEPT-eNCODING"), str_from(cases[i].values[0]) },
                                           { STR("Accept-Encoding"), str_from(cases[i].values[1]) } };
        if (metrics_form_takes_gzip(headers, ARRAY_SIZE(headers)) != cases[i].want)
            fail_msg("%s, %s", cases[i].values[0], cases[i].values[1]);
    }
    assert_false(metrics_form_takes_gzip(NULL, 0));
}

#define GZIP "Accept-Encoding: gzip\r\n"

static void assert_unpacks(const struct strbuf *packed, const char *want)
{
    char text[4096];
    z_stream stream = { .next_in = (Bytef *)packed->text,
                        .avail_in = (uInt)packed->len,
                        .next_out = (Bytef *)text,
                        .avail_out = sizeof(text) - 1 };
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    text[sizeof(text) - 1 - stream.avail_out] = '\0';
    inflateEnd(&stream);
    if (!strstr(text, want))
        fail_msg("%s: no %s", text, want);
}

/* Only metrics pages are compressed, and only successful responses. */
static void test_pages(void **state _unused_)
{
    static const struct {
        const char *method, *target, *headers, *want; /* NULL: plain */
    } cases[] = {
        { "GET", "/metrics", MON GZIP, "# TYPE a counter\na 1\n" },
        { "POST", "/metrics", MON GZIP, "# TYPE a counter\na 1\n" },
        { "HEAD", "/metrics", MON GZIP, "" },
        { "GET", "/metrics/resources", MON GZIP, "r 1\n" },
        { "GET", "/metrics/slis", MON GZIP, "" },
        { "GET", "/metrics", MON, NULL },
        { "GET", "/metrics", MON "Accept-Encoding: gzip, identity\r\n", NULL },
        { "DELETE", "/metrics", MON GZIP, NULL },
        { "GET", "/metrics", GZIP, NULL },
        { "GET", "/healthz", MON GZIP, NULL },
        { "GET", "/configz", MON GZIP, NULL },
        { "GET", "/flagz", MON GZIP, NULL },
        { "GET", "/below/a", MON GZIP, NULL },
        { "GET", "/later", MON GZIP, NULL },
        { "GET", "/nothing", MON GZIP, NULL },
    };
    struct scheduler scheduler;
    scheduler_start(&scheduler, true, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct reply_text reply =
            request_with(&scheduler, NULL, cases[i].method, cases[i].target, cases[i].headers, "");
        bool is_gzip = strstr(reply.head.text, "\r\nContent-Encoding: gzip\r\n");
        if (is_gzip != !!cases[i].want)
            fail_msg("%s %s: %s", cases[i].method, cases[i].target, reply.head.text);
        assert_null(strstr(reply.head.text, "Vary"));
        if (cases[i].want)
            assert_non_null(strstr(reply.head.text, "\r\nContent-Type: " TEXT "underscores\r\n"));
        if (cases[i].want && strcmp(cases[i].method, "HEAD") != 0)
            assert_unpacks(&reply.body, cases[i].want);
        reply_text_release(&reply);
    }
    /* Without leadership the page is empty. */
    atomic_store(&scheduler.ill, true);
    struct reply_text reply = get(&scheduler, "/metrics/resources", MON GZIP);
    assert_null(strstr(reply.head.text, "Content-Encoding"));
    assert_int_equal(reply.body.len, 0);
    reply_text_release(&reply);
    scheduler_stop(&scheduler);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_type), cmocka_unit_test(test_takes_gzip),
                                        cmocka_unit_test(test_pages) };
    return cmocka_run_group_tests(tests, scheduler_setup, scheduler_teardown);
}
