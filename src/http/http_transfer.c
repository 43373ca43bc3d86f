/* http_transfer.c: one request on its way through libcurl.
 *
 * http_send() copies and checks the request in the caller's thread (transfer_new); the I/O thread sets up an
 * easy handle with it (transfer_start), collects the answer through libcurl's callbacks, and sums it up
 * (transfer_conclude).
 *
 * libcurl by itself sends a request again when a connection that it reused turns out to be closed. For a write
 * that may mean twice, so the callback that runs before each sending (before_sending) stops the second. */
#include "http/http_impl.h"

#include <stdio.h>
#include <strings.h>

#define OPT_MS(value, fallback) ((value) > 0 ? (value) : (value) < 0 ? NEVER : (fallback))

enum {
    RETRY_AFTER_MS_MAX = 24 * 3600 * 1000,
    GET_BUFFER_BYTES = 64 * 1024,    /* lists and watches */
    UPLOAD_BUFFER_BYTES = 16 * 1024, /* the least that libcurl takes; by itself it takes four times as much */
    SPARE_MAX = 24,
};

/* Visible characters, spaces and bytes beyond ASCII: nothing that could end a header. */
static bool header_safe(const char *text, bool name)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == 0x7f || (name && (*c == ':' || *c == ' ' || *c >= 0x80)))
            return false;
    return !name || *text;
}

static int check_request(const struct http_request *r, struct error *err)
{
    if (!r->method || !header_safe(r->method, true))
        return error_set(err, -EINVAL, "no HTTP method");
    if (!r->url)
        return error_set(err, -EINVAL, "no URL");
    for (size_t i = 0; i < r->header_count; i++) {
        if (!r->headers[i].name || !header_safe(r->headers[i].name, true))
            return error_set(err, -EINVAL, "header %zu has no valid name", i);
        /* The value may be a secret. */
        if (!r->headers[i].value || !header_safe(r->headers[i].value, false))
            return error_set(err, -EINVAL,
                             "the value of the header %s has characters that no header can hold",
                             r->headers[i].name);
    }
    return 0;
}

static void add_header(struct transfer *t, const char *line)
{
    struct curl_slist *list = curl_slist_append(t->headers, line);
    t->headers = list ? list : t->headers;
}

static void copy_headers(struct transfer *t, const struct http_request *r)
{
    bool has_type = false;
    for (size_t i = 0; i < r->header_count; i++) {
        const struct http_header *h = &r->headers[i];
        /* "Name;" is libcurl's spelling of a header without a value; "Name:" would remove it. */
        _cleanup_(strbuf_release) struct strbuf line = { .secret = true };
        strbuf_printf(&line, *h->value ? "%s: %s" : "%s;", h->name, h->value);
        add_header(t, line.text);
        has_type |= strcasecmp(h->name, "Content-Type") == 0;
    }
    if (r->body.len && !has_type)
        add_header(t, "Content-Type:");
    add_header(t, "Expect:");
}

struct origin {
    char *scheme, *host, *port;
    bool https, explicit_port;
};

static void origin_release(struct origin *origin)
{
    curl_free(origin->scheme);
    curl_free(origin->host);
    curl_free(origin->port);
}

static int parse_origin(CURLU *url, const char *text, struct origin *ret, struct error *err)
{
    char *port = NULL;
    if (curl_url_set(url, CURLUPART_URL, text, CURLU_PATH_AS_IS) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_SCHEME, &ret->scheme, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_HOST, &ret->host, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_PORT, &ret->port, CURLU_DEFAULT_PORT) != CURLUE_OK)
        return error_set(err, -EINVAL, "the URL cannot be understood");
    ret->https = strcasecmp(ret->scheme, "https") == 0;
    if (!ret->https && strcasecmp(ret->scheme, "http") != 0)
        return error_set(err, -EINVAL, "the scheme %.20s is neither http nor https", ret->scheme);
    ret->explicit_port = curl_url_get(url, CURLUPART_PORT, &port, 0) == CURLUE_OK;
    curl_free(port);
    return 0;
}

/* libcurl takes the name that it verifies from the URL. So the URL gets that name, the connection still goes
 * to the host, and the Host header says what it would have said. */
static int override_name(struct transfer *t, CURLU *url, const struct origin *origin, struct error *err)
{
    const char *name = t->request.tls->server_name.text;
    const char *format = strchr(name, ':') && *name != '[' ? "[%s]" : "%s";
    struct str host = arena_printf(&t->arena, format, name);
    char *text = NULL;
    if (curl_url_set(url, CURLUPART_HOST, host.ptr, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_URL, &text, 0) != CURLUE_OK)
        return error_set(err, -EINVAL, "%s is no valid server name", name);
    t->url = arena_strndup(&t->arena, text, strlen(text));
    curl_free(text);
    struct str route =
        arena_printf(&t->arena, STR_FMT ":%s:%s:%s", STR_ARG(host), origin->port, origin->host, origin->port);
    t->connect_to = curl_slist_append(NULL, route.ptr);
    struct str header = origin->explicit_port
                            ? arena_printf(&t->arena, "Host: %s:%s", origin->host, origin->port)
                            : arena_printf(&t->arena, "Host: %s", origin->host);
    add_header(t, header.ptr);
    return 0;
}

/* Go gives a SOCKS proxy the name and lets it look it up; libcurl calls that socks5h. */
static const char *proxy_of(struct transfer *t, const struct origin *origin)
{
    const struct http_client *client = t->client;
    const char *proxy = client->options.proxy_url;
    if (!proxy) {
        struct str host = str_from(origin->host);
        if (host.len > 2 && host.ptr[0] == '[')
            host = arena_str(&t->arena, str_slice(host, 1, host.len - 1));
        int64_t port = 0;
        str_to_int64(str_from(origin->port), &port);
        struct str name = arena_printf(&t->arena, STR_FMT, STR_ARG(host));
        proxy = proxy_for(&client->proxies, origin->https, name.ptr, (unsigned)port);
    }
    if (!proxy)
        return "";
    if (strncasecmp(proxy, "socks5://", 9) == 0)
        return arena_printf(&t->arena, "socks5h://%s", proxy + 9).ptr;
    return arena_strndup(&t->arena, proxy, strlen(proxy));
}

static int read_url(struct transfer *t, struct error *err)
{
    CURLU *url = curl_url();
    if (!url)
        return error_set(err, -ENOMEM, "out of memory");
    _cleanup_(origin_release) struct origin origin = { 0 };
    int r = parse_origin(url, t->request.url, &origin, err);
    if (r == 0) {
        t->https = origin.https;
        t->url = t->request.url;
        t->proxy = proxy_of(t, &origin);
        const struct tls_config *tls = t->request.tls;
        if (origin.https && tls && tls->server_name.len &&
            strcasecmp(tls->server_name.text, origin.host) != 0)
            r = override_name(t, url, &origin, err);
    }
    curl_url_cleanup(url);
    return r;
}

int http_resolve(const char *base, struct str reference, struct strbuf *out, struct error *err)
{
    CURLU *url = curl_url();
    struct strbuf text = { 0 };
    char *resolved = NULL;
    strbuf_str(&text, reference);
    bool good = url && !memchr(reference.ptr, 0, reference.len) &&
                curl_url_set(url, CURLUPART_URL, base, CURLU_PATH_AS_IS) == CURLUE_OK &&
                curl_url_set(url, CURLUPART_URL, text.text, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
                curl_url_get(url, CURLUPART_URL, &resolved, 0) == CURLUE_OK;
    if (good)
        strbuf_puts(out, resolved);
    curl_free(resolved);
    curl_url_cleanup(url);
    strbuf_release(&text);
    return good ? 0 : error_set(err, -EINVAL, "the URL cannot be understood");
}

int transfer_new(struct http_client *client, const struct http_request *request, struct transfer **ret,
                 struct error *err)
{
    int r = check_request(request, err);
    if (r < 0)
        return r;
    struct transfer *t = xcalloc(1, sizeof(*t));
    t->client = client;
    t->request = *request;
    t->arena.secret = t->answer.secret = request->secret;
    t->request.method = arena_strndup(&t->arena, request->method, strlen(request->method));
    t->request.url = arena_strndup(&t->arena, request->url, strlen(request->url));
    t->request.body = arena_str(&t->arena, request->body);
    t->request.timeout_ms = OPT_MS(request->timeout_ms, client->options.timeout_ms);
    t->request.silence_ms = OPT_MS(request->silence_ms, NEVER);
    if (!request->body_bytes_max)
        t->request.body_bytes_max = client->options.body_bytes_max;
    tls_config_ref(request->tls);
    t->resendable = strcmp(t->request.method, "GET") == 0 || strcmp(t->request.method, "HEAD") == 0;
    t->deadline_ns = NEVER;
    t->response = (struct http_response){ .retry_after_ms = -1, .body = &t->answer };
    copy_headers(t, request);
    r = read_url(t, err);
    if (r < 0) {
        transfer_free(t);
        return r;
    }
    *ret = t;
    return 0;
}

void transfer_free(struct transfer *t)
{
    curl_slist_free_all(t->headers);
    curl_slist_free_all(t->connect_to);
    tls_config_unref(t->request.tls);
    strbuf_release(&t->answer);
    arena_release(&t->arena);
    free(t);
}

bool transfer_may_leave(struct transfer *t)
{
    if (!t->request.may_leave || t->request.may_leave(t->request.user))
        return true;
    t->failure = HTTP_FAILURE_CANCELLED;
    error_set(&t->response.error, 0, "withheld before it was sent");
    return false;
}

static int before_sending(void *user, char *peer_ip _unused_, char *local_ip _unused_, int peer_port,
                          int local_port)
{
    struct transfer *t = user;
    if (t->sends && !t->resendable) {
        t->failure = HTTP_FAILURE_BROKEN;
        error_set(&t->response.error, 0, "the connection closed before the answer came");
        return CURL_PREREQFUNC_ABORT;
    }
    if (!transfer_may_leave(t))
        return CURL_PREREQFUNC_ABORT;
    t->sends++;
    health_sent(t, peer_port, local_port);
    return CURL_PREREQFUNC_OK;
}

static int64_t parse_retry_after(struct transfer *t, struct str value)
{
    int64_t seconds;
    if (!str_to_int64(value, &seconds)) {
        time_t when = curl_getdate(arena_printf(&t->arena, STR_FMT, STR_ARG(value)).ptr, NULL);
        if (when == (time_t)-1)
            return -1;
        seconds = MAX((int64_t)when - (int64_t)time(NULL), 0);
    }
    return seconds < 0 ? -1 : MIN(seconds, RETRY_AFTER_MS_MAX / 1000) * 1000;
}

static void take_header(struct transfer *t, struct str name, struct str value)
{
    struct http_response *r = &t->response;
    if (str_eq_fold(name, STR("Content-Type")))
        r->content_type = arena_str(&t->arena, value);
    else if (str_eq_fold(name, STR("Location")))
        r->location = arena_str(&t->arena, value);
    else if (str_eq_fold(name, STR("Retry-After")))
        r->retry_after_ms = parse_retry_after(t, value);
    else if (str_eq_fold(name, STR("Warning")) && r->warning_count < HTTP_WARNINGS_MAX)
        r->warnings[r->warning_count++] = arena_str(&t->arena, value);
}

/* The empty line after the headers of a final answer. */
static void answer_begins(struct transfer *t)
{
    long status = 0, version = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200)
        return;
    curl_easy_getinfo(t->easy, CURLINFO_HTTP_VERSION, &version);
    t->started = true;
    t->response.status = (int)status;
    t->response.http2 = version == CURL_HTTP_VERSION_2_0;
    if (t->response.http2)
        health_saw_http2(t);
    if (t->request.stream) {
        t->deadline_ns = client_ns_after(t->request.silence_ms);
        client_watch_deadline(t);
    }
    if (t->request.callbacks && t->request.callbacks->on_start)
        t->request.callbacks->on_start(t->request.user, t->id, (int)status);
}

/* A line of the answer's head. What comes after the body (trailers) is of no interest. */
static size_t on_header(char *bytes, size_t size, size_t count, void *user)
{
    struct transfer *t = user;
    t->client->deliveries++;
    struct str line = { bytes, (uint32_t)(size * count) };
    if (t->started)
        return line.len;
    if (str_starts_with(line, STR("HTTP/"))) {
        t->response.content_type = t->response.location = (struct str){ 0 };
        t->response.retry_after_ms = -1;
        t->response.warning_count = 0;
        return line.len;
    }
    if (str_trim(line, " \t\r\n").len == 0) {
        answer_begins(t);
        return line.len;
    }
    struct str value = line, name = str_cut(&value, ':');
    take_header(t, name, str_trim(value, " \t\r\n"));
    return line.len;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
    struct transfer *t = user;
    t->client->deliveries++;
    size_t len = size * count;
    int status = t->response.status;
    if (t->request.stream && status >= 200 && status < 300) {
        t->deadline_ns = client_ns_after(t->request.silence_ms);
        struct str chunk = { bytes, (uint32_t)len };
        if (t->request.callbacks->on_chunk(t->request.user, t->id, chunk) == 0)
            return len;
        t->failure = HTTP_FAILURE_CANCELLED;
        error_set(&t->response.error, 0, "ended by its reader");
        return 0;
    }
    if (len > t->request.body_bytes_max - MIN(t->answer.len, t->request.body_bytes_max)) {
        t->failure = HTTP_FAILURE_TOO_LARGE;
        error_set(&t->response.error, 0, "the answer is longer than %zu bytes", t->request.body_bytes_max);
        return 0;
    }
    if (t->request.callbacks)
        strbuf_add(&t->answer, bytes, len);
    return len;
}

static struct curl_blob blob_of(const struct strbuf *text)
{
    return (struct curl_blob){ .data = text->text, .len = text->len, .flags = CURL_BLOB_NOCOPY };
}

/* The same options exist once for the server and once for a proxy that is reached through TLS. */
struct tls_option_set {
    CURLoption verify_peer, verify_host, version, ca, ca_path, cert, key;
};

static const struct tls_option_set server_tls = {
    CURLOPT_SSL_VERIFYPEER, CURLOPT_SSL_VERIFYHOST, CURLOPT_SSLVERSION,  CURLOPT_CAINFO_BLOB,
    CURLOPT_CAPATH,         CURLOPT_SSLCERT_BLOB,   CURLOPT_SSLKEY_BLOB,
};
static const struct tls_option_set proxy_tls = {
    CURLOPT_PROXY_SSL_VERIFYPEER, CURLOPT_PROXY_SSL_VERIFYHOST, CURLOPT_PROXY_SSLVERSION,
    CURLOPT_PROXY_CAINFO_BLOB,    CURLOPT_PROXY_CAPATH,         CURLOPT_PROXY_SSLCERT_BLOB,
    CURLOPT_PROXY_SSLKEY_BLOB,
};

#define SET(option, value) (code = code ? code : curl_easy_setopt(easy, (option), (value)))

static CURLcode set_tls(CURL *easy, const struct tls_option_set *set, const struct tls_config *tls)
{
    CURLcode code = CURLE_OK;
    tls = tls ? tls : &tls_config_default;
    struct curl_blob ca = blob_of(&tls->ca), cert = blob_of(&tls->cert), key = blob_of(&tls->key);
    SET(set->version, (long)CURL_SSLVERSION_TLSv1_2);
    SET(set->verify_peer, tls->insecure ? 0L : 1L);
    SET(set->verify_host, tls->insecure ? 0L : 2L);
    if (ca.len) {
        SET(set->ca, &ca);
        SET(set->ca_path, NULL); /* or the system's authorities would be trusted beside this one */
    }
    if (cert.len) {
        SET(set->cert, &cert);
        SET(set->key, &key);
    }
    return code;
}

/* A handle keeps its buffer for as long as it lives. */
static bool reads_much(const struct transfer *t)
{
    return strcmp(t->request.method, "GET") == 0;
}

static CURLcode set_request(CURL *easy, struct transfer *t)
{
    CURLcode code = CURLE_OK;
    SET(CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BUFFER_BYTES);
    /* Only for a new handle, and never less than libcurl's own: curl_easy_reset() goes back to that size and keeps the
     * buffer. */
    if (reads_much(t))
        SET(CURLOPT_BUFFERSIZE, (long)GET_BUFFER_BYTES);
    SET(CURLOPT_URL, t->url);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_HTTPHEADER, t->headers);
    if (t->request.gzip)
        SET(CURLOPT_ACCEPT_ENCODING, "gzip");
    if (t->connect_to)
        SET(CURLOPT_CONNECT_TO, t->connect_to);
    if (t->request.body.len || strcmp(t->request.method, "POST") == 0) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDS, t->request.body.len ? t->request.body.ptr : "");
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->request.body.len);
    } else if (strcmp(t->request.method, "HEAD") == 0) {
        SET(CURLOPT_NOBODY, 1L);
    }
    if (strcmp(t->request.method, "GET") != 0 && strcmp(t->request.method, "HEAD") != 0)
        SET(CURLOPT_CUSTOMREQUEST, t->request.method);
    return code;
}

static CURLcode set_transport(CURL *easy, struct transfer *t)
{
    const struct http_options *options = &t->client->options;
    bool http2 = t->https && !options->http1_only;
    CURLcode code = CURLE_OK;
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_QUICK_EXIT, 1L); /* do not wait for a name server when cancelled */
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_HTTP_VERSION, (long)(http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
    SET(CURLOPT_PIPEWAIT, http2 ? 1L : 0L);
    if (options->connect_ms != NEVER)
        SET(CURLOPT_CONNECTTIMEOUT_MS, (long)options->connect_ms);
    SET(CURLOPT_PROXY, t->proxy);
    SET(CURLOPT_NOPROXY, "");
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    code = code ? code : set_tls(easy, &server_tls, t->request.tls);
    if (strncasecmp(t->proxy, "https://", 8) == 0)
        code = code ? code : set_tls(easy, &proxy_tls, t->request.tls);
    return code;
}

static CURLcode set_callbacks(CURL *easy, struct transfer *t)
{
    CURLcode code = CURLE_OK;
    SET(CURLOPT_PRIVATE, t);
    SET(CURLOPT_ERRORBUFFER, t->curl_words);
    SET(CURLOPT_PREREQFUNCTION, before_sending);
    SET(CURLOPT_PREREQDATA, t);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, t);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, t);
    health_attach(t->client, easy);
    return code;
}

int transfer_start(struct transfer *t, struct error *err)
{
    struct http_client *client = t->client;
    bool spare = client->spare.len && !reads_much(t);
    t->easy = spare ? client->spare.items[--client->spare.len] : curl_easy_init();
    if (!t->easy)
        return error_set(err, -ENOMEM, "libcurl has no room for a request");
    CURLcode code = set_request(t->easy, t);
    code = code ? code : set_transport(t->easy, t);
    code = code ? code : set_callbacks(t->easy, t);
    if (code)
        return error_set(err, -EIO, "libcurl refused an option: %s", curl_easy_strerror(code));
    CURLMcode added = curl_multi_add_handle(client->multi, t->easy);
    if (added)
        return error_set(err, -EIO, "libcurl refused a request: %s", curl_multi_strerror(added));
    t->added = true;
    return 0;
}

void transfer_detach(struct transfer *t)
{
    if (!t->easy)
        return;
    struct http_client *client = t->client;
    if (t->added)
        curl_multi_remove_handle(client->multi, t->easy);
    health_done(t);
    /* Not one that failed: it may still hold on to something. Nor one with a large buffer. */
    if (t->response.failure == HTTP_FAILURE_NONE && !reads_much(t) && client->spare.len < SPARE_MAX) {
        curl_easy_reset(t->easy);
        /* Gives the buffer of what was sent back, which a reset does not. */
        (void)curl_easy_setopt(t->easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BUFFER_BYTES);
        *vec_push(&client->spare) = t->easy;
    } else {
        curl_easy_cleanup(t->easy);
    }
    t->easy = NULL;
    t->added = false;
}

static enum http_failure failure_of(const struct transfer *t, CURLcode code)
{
    /* What libcurl says of a connection that it made for sending again is not the reason. */
    if (t->sends)
        return code == CURLE_OPERATION_TIMEDOUT ? HTTP_FAILURE_TIMEOUT : HTTP_FAILURE_BROKEN;
    switch (code) {
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return HTTP_FAILURE_TLS;
    default:
        return HTTP_FAILURE_CONNECT;
    }
}

void transfer_conclude(struct transfer *t, CURLcode code)
{
    struct http_response *r = &t->response;
    r->id = t->id;
    if (code == CURLE_OK && t->started && t->failure == HTTP_FAILURE_NONE) {
        r->outcome = HTTP_ANSWERED;
        return;
    }
    r->outcome = t->sends ? HTTP_LOST : HTTP_UNSENT;
    r->failure = t->failure != HTTP_FAILURE_NONE ? t->failure : failure_of(t, code);
    long os_error = 0;
    if (r->failure == HTTP_FAILURE_CONNECT && t->easy &&
        curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &os_error) == CURLE_OK)
        r->os_error = (int)os_error;
    if (!r->error.text[0])
        error_set(&r->error, 0, "%s",
                  t->curl_words[0]   ? t->curl_words
                  : code == CURLE_OK ? "no answer came"
                                     : curl_easy_strerror(code));
}
