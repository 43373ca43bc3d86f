/* metric_provider.c: see metric_provider.h. */
#include "config/metric_provider.h"

#include "config/build.h"

/* What the original asks where no address is given. */
#define ADDRESS_DEFAULT "http://prometheus-k8s:9090"

static bool read_block(const struct plugin_args *args, struct metric_provider *ret)
{
    yyjson_val *block = yyjson_obj_get(args->raw, "metricProvider");
    struct str type = doc_member_text(block, "type");
    *ret = (struct metric_provider){ .plugin = args->plugin, .is_prometheus = str_is(type, "Prometheus") };
    if (!type.len || doc_member_text(args->raw, "watcherAddress").len)
        return false;
    if (ret->is_prometheus) {
        struct str address = doc_member_text(block, "address");
        ret->address = address.len ? address : STR(ADDRESS_DEFAULT);
        ret->token = doc_member_text(block, "token");
        ret->insecure_skip_verify = yyjson_get_bool(yyjson_obj_get(block, "insecureSkipVerify"));
    }
    return true;
}

static bool are_same(const struct metric_provider *a, const struct metric_provider *b)
{
    return a->is_prometheus == b->is_prometheus && str_eq(a->address, b->address) &&
           str_eq(a->token, b->token) && a->insecure_skip_verify == b->insecure_skip_verify;
}

int metric_provider_find(const struct scheduler_config *config, struct metric_provider *ret,
                         struct error *err)
{
    struct metric_provider found;
    *ret = (struct metric_provider){ 0 };
    list_for(&config->profiles, profile)
        list_for(&profile->args, args) {
            if (!args->raw || !profile_names_plugin(profile, args->plugin) || !read_block(args, &found))
                continue;
            if (!ret->plugin.len)
                *ret = found;
            else if (!are_same(ret, &found))
                return error_set(
                    err, -EINVAL,
                    "metricProvider of " STR_FMT " and of " STR_FMT
                    " differ; there is one source of samples for all plugins: give both the same, or "
                    "use --samples-prometheus",
                    STR_ARG(ret->plugin), STR_ARG(found.plugin));
        }
    return 0;
}
