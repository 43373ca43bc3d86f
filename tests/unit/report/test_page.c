/* The page: data stays data whatever is in it, the policy has the hash of every script and style, nothing is loaded. */
#include "base/str.h"
#include "support/test.h"

#include <errno.h>
#include <openssl/evp.h>
#include <unistd.h>
#include <yyjson.h>
#include <zlib.h>

#include "base/base64.h"
#include "report/assets.h"
#include "report/page.h"

/* The text between two marks, from `from` on. */
static struct str between(const char *from, const char *begin, const char *end)
{
    const char *first = strstr(from, begin);
    assert_non_null(first);
    first += strlen(begin);
    const char *last = strstr(first, end);
    assert_non_null(last);
    return (struct str){ first, (uint32_t)(last - first) };
}

static void test_hostile_data(void **state)
{
    (void)state;
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    const char *hostile =
        "</script><script>alert(1)</script><!-- <SCRIPT ]]> \xe2\x80\xa8 \xe2\x80\xa9 \xe2\x80\xaa";
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    strbuf_printf(&json, "{\"name\":\"%s\"}", hostile);
    report_page(STR("<b>\"&"), strbuf_slice(&json), &out);
    assert_non_null(strstr(out.text, "<title>&lt;b&gt;&quot;&amp;</title>"));
    struct str data = between(out.text, "id=\"data\">", "</script>");
    assert_false(str_contains(data, STR("<")));
    assert_false(str_contains(data, STR("\xe2\x80\xa8")));
    assert_false(str_contains(data, STR("\xe2\x80\xa9")));
    yyjson_doc *doc = yyjson_read(data.ptr, data.len, 0);
    assert_non_null(doc);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "name")), hostile);
    yyjson_doc_free(doc);
}

/* A large document is gzip in base64, and comes out as it was. */
static void test_large_data(void **state)
{
    (void)state;
    _cleanup_(strbuf_release) struct strbuf out = { 0 }, json = { 0 };
    strbuf_puts(&json, "[\"</script>\"");
    while (json.len < 1 << 20)
        strbuf_printf(&json, ",%zu", json.len);
    strbuf_puts(&json, "]");
    report_page(STR("t"), strbuf_slice(&json), &out);
    struct str data = between(out.text, "<script type=\"application/gzip;base64\" id=\"data\">", "</script>");
    assert_true(data.len < json.len / 2);
    char *packed = malloc(base64_bytes_max(data.len)), *bytes = malloc(json.len + 1);
    z_stream stream = { .next_in = (unsigned char *)packed, .next_out = (unsigned char *)bytes };
    stream.avail_in = (unsigned)base64_decode(data, packed);
    stream.avail_out = (unsigned)json.len + 1;
    assert_int_equal(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.total_out, json.len);
    assert_memory_equal(bytes, json.text, json.len);
    inflateEnd(&stream);
    free(packed);
    free(bytes);
}

static void test_cut_separator(void **state)
{
    (void)state;
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    report_page(STR("t"), STR("\"\xe2\x80"), &out); /* not JSON, and nothing is read behind it */
    assert_non_null(strstr(out.text, "id=\"data\">\"\xe2\x80</script>"));
}

static void assert_hash(const struct asset *asset)
{
    unsigned char digest[32];
    char text[64];
    assert_int_equal(EVP_Digest(asset->text, asset->len, digest, NULL, EVP_sha256(), NULL), 1);
    EVP_EncodeBlock((unsigned char *)text, digest, sizeof(digest));
    assert_string_equal(text, asset->sha256);
}

static void test_assets(void **state)
{
    (void)state;
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    report_page(STR("t"), STR("{}"), &out);
    struct str policy = between(out.text, "Content-Security-Policy\" content=\"", "\"");
    assert_true(str_starts_with(policy, STR("default-src 'none'; ")));
    assert_false(str_contains(policy, STR("unsafe")));
    for (size_t i = 0; i < assets_len; i++) {
        const struct asset *asset = &assets[i];
        assert_int_equal(strlen(asset->text), asset->len);
        assert_ptr_equal(asset_find(str_from(asset->path)), asset);
        assert_hash(asset);
        bool inside = str_contains(strbuf_slice(&out), (struct str){ asset->text, (uint32_t)asset->len });
        assert_int_equal(inside, str_contains(policy, str_from(asset->sha256)));
        assert_int_equal(inside, !str_starts_with(str_from(asset->path), STR("live/")));
    }
    assert_null(asset_find(STR("base")));
}

static void test_file(void **state)
{
    (void)state;
    char path[] = "/tmp/berth-report-XXXXXX";
    struct error err = { "" };
    close(mkstemp(path));
    assert_int_equal(report_write(path, STR("t"), STR("{}"), &err), 0);
    FILE *file = fopen(path, "r");
    char line[32] = "";
    assert_non_null(fgets(line, sizeof(line), file));
    assert_string_equal(line, "<!DOCTYPE html>\n");
    fclose(file);
    unlink(path);
    assert_int_equal(report_write("/nowhere/at/all.html", STR("t"), STR("{}"), &err), -ENOENT);
    assert_string_equal(err.text, "/nowhere/at/all.html: cannot be written: No such file or directory");
    assert_int_equal(report_write("/dev/full", STR("t"), STR("{}"), &err), -ENOSPC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_data),  cmocka_unit_test(test_large_data),
        cmocka_unit_test(test_cut_separator), cmocka_unit_test(test_assets),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
