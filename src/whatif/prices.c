/* prices.c: see prices.h. */
#include "whatif/prices.h"

#include <math.h>
#include <stdlib.h>

#include "api/labels.h"

#define PRICE_KEY "scheduling.berth.dev/hourly-price"
#define INSTANCE_TYPE "node.kubernetes.io/instance-type"
#define GIB ((double)(1 << 30))
#define PRICE_MAX 1e9

void prices_release(struct prices *prices)
{
    vec_release(&prices->rows);
    arena_release(&prices->arena);
}

/* ---- the file ---- */

struct reading {
    struct prices *prices;
    const struct doc *doc;
    struct error *err;
};

static int read_number(const struct reading *reading, yyjson_val *of, const char *key, double most,
                       double *ret)
{
    yyjson_val *val = yyjson_obj_get(of, key);
    double number = yyjson_get_num(val);
    if (!val)
        return 0;
    if (!yyjson_is_num(val) || !(number >= 0 && number <= most))
        return doc_error(reading->doc, val, -EINVAL, reading->err, "%s: expected a number from 0 to %g", key,
                         most);
    *ret = number;
    return 0;
}

static int read_text(const struct reading *reading, yyjson_val *of, const char *key, struct str *ret)
{
    yyjson_val *val = yyjson_obj_get(of, key);
    if (val && !yyjson_is_str(val))
        return doc_error(reading->doc, val, -EINVAL, reading->err, "%s: expected a string", key);
    if (val)
        *ret = arena_str(&reading->prices->arena, doc_text(val));
    return 0;
}

/* Names that are not known are most likely misspelled. */
static int check_keys(const struct reading *reading, yyjson_val *of, const char *const *known, size_t len)
{
    size_t i, max;
    yyjson_val *key, *val;
    if (of && !yyjson_is_obj(of))
        return doc_error(reading->doc, of, -EINVAL, reading->err, "expected an object, not a %s",
                         doc_type_name(of));
    yyjson_obj_foreach(doc_items(of), i, max, key, val) {
        bool found = false;
        for (size_t k = 0; k < len; k++)
            found |= str_is(doc_text(key), known[k]);
        if (!found)
            return doc_error(reading->doc, key, -EINVAL, reading->err, "%s: unknown field",
                             yyjson_get_str(key));
    }
    return 0;
}

static int read_row(const struct reading *reading, yyjson_val *val)
{
    static const char *const keys[] = { "instanceType", "hourly", "spotHourly" };
    struct price_row row = { .hourly = -1, .spot_hourly = -1 };
    int r = check_keys(reading, val, keys, ARRAY_SIZE(keys));
    r = r ?: read_text(reading, val, "instanceType", &row.instance_type);
    r = r ?: read_number(reading, val, "hourly", PRICE_MAX, &row.hourly);
    r = r ?: read_number(reading, val, "spotHourly", PRICE_MAX, &row.spot_hourly);
    *vec_push(&reading->prices->rows) = row;
    return r;
}

static int read_rows(const struct reading *reading, yyjson_val *list)
{
    size_t i, max;
    yyjson_val *val;
    int r = 0;
    if (list && !yyjson_is_arr(list))
        return doc_error(reading->doc, list, -EINVAL, reading->err, "prices: expected a list");
    yyjson_arr_foreach(doc_items(list), i, max, val)
        r = r ?: read_row(reading, val);
    return r;
}

static int read_gpus(const struct reading *reading, yyjson_val *list)
{
    size_t i, max;
    yyjson_val *val;
    struct arena *arena = &reading->prices->arena;
    if (!list)
        return 0;
    reading->prices->gpu_resources =
        (struct str_list){ arena_array(arena, struct str, yyjson_arr_size(list)), 0 };
    yyjson_arr_foreach(list, i, max, val) {
        if (!yyjson_is_str(val))
            return doc_error(reading->doc, val, -EINVAL, reading->err, "gpuResources: expected names");
        reading->prices->gpu_resources.items[reading->prices->gpu_resources.len++] =
            arena_str(arena, doc_text(val));
    }
    return 0;
}

static int read_document(const struct reading *reading)
{
    static const char *const keys[] = { "costMetrics", "gpuResources", "prices",      "priceAnnotation",
                                        "priceLabel",  "spotLabel",    "spotDiscount" };
    static const char *const metric_keys[] = { "cpu", "memory", "gpu" };
    struct prices *prices = reading->prices;
    yyjson_val *root = reading->doc->root, *metrics = yyjson_obj_get(root, "costMetrics");
    int r = check_keys(reading, root, keys, ARRAY_SIZE(keys));
    r = r ?: check_keys(reading, metrics, metric_keys, ARRAY_SIZE(metric_keys));
    r = r ?: read_number(reading, metrics, "cpu", PRICE_MAX, &prices->cpu);
    r = r ?: read_number(reading, metrics, "memory", PRICE_MAX, &prices->memory_gib);
    r = r ?: read_number(reading, metrics, "gpu", PRICE_MAX, &prices->gpu);
    r = r ?: read_number(reading, root, "spotDiscount", 1, &prices->spot_discount);
    r = r ?: read_text(reading, root, "priceAnnotation", &prices->annotation);
    r = r ?: read_text(reading, root, "priceLabel", &prices->label);
    r = r ?: read_text(reading, root, "spotLabel", &prices->spot_label);
    r = r ?: read_rows(reading, yyjson_obj_get(root, "prices"));
    return r ?: read_gpus(reading, yyjson_obj_get(root, "gpuResources"));
}

int prices_read(struct prices *prices, const char *path, struct error *err)
{
    static struct str gpu = STR("nvidia.com/gpu");
    struct doc_stream stream;
    struct doc doc;
    *prices = (struct prices){ .cpu = 0.04,
                               .memory_gib = 0.005,
                               .gpu = 2.5,
                               .spot_discount = 0.6,
                               .gpu_resources = { &gpu, 1 },
                               .annotation = STR(PRICE_KEY),
                               .label = STR(PRICE_KEY),
                               .has_file = path };
    if (!path)
        return 0;
    int r = doc_stream_open(&stream, path, err);
    if (r < 0)
        return r;
    r = doc_stream_next(&stream, &doc, err);
    if (r == 0)
        r = error_at(err, -EINVAL, path, 0, 0,
                     "is empty; expected prices such as {costMetrics: {cpu: 0.04}}");
    if (r > 0) {
        r = read_document(&(struct reading){ prices, &doc, err });
        doc_release(&doc);
    }
    doc_stream_release(&stream);
    return r;
}

/* ---- nodes ---- */

static bool is_spot(const struct prices *prices, const struct str_map *labels)
{
    static const char *const keys[] = {
        "node.kubernetes.io/lifecycle",     "karpenter.sh/capacity-type",
        "eks.amazonaws.com/capacityType",   "cloud.google.com/gke-spot",
        "cloud.google.com/gke-preemptible", "kubernetes.azure.com/scalesetpriority",
    };
    const struct str *value;
    if (prices->spot_label.len) {
        value = str_map_get(labels, prices->spot_label);
        return value && (str_eq_fold(*value, STR("spot")) || str_eq_fold(*value, STR("true")));
    }
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        value = str_map_get(labels, str_from(keys[i]));
        if (value && (str_eq_fold(*value, STR("spot")) || str_eq_fold(*value, STR("true"))))
            return true;
    }
    return false;
}

static bool says(const struct str_map *map, struct str key, double *ret)
{
    const struct str *text = key.len ? str_map_get(map, key) : NULL;
    char copy[64], *end;
    if (!text || !text->len || text->len >= sizeof(copy))
        return false;
    memcpy(copy, text->ptr, text->len);
    copy[text->len] = '\0';
    *ret = strtod(copy, &end);
    return !*end && isfinite(*ret) && *ret >= 0 && *ret <= PRICE_MAX;
}

static bool of_type(const struct prices *prices, const struct str_map *labels, bool spot, double *ret)
{
    const struct str *type = str_map_get(labels, STR(INSTANCE_TYPE));
    vec_for(&prices->rows, row) {
        double hourly = spot && row->spot_hourly >= 0 ? row->spot_hourly : row->hourly;
        if (!type || !str_eq(*type, row->instance_type) || hourly < 0)
            continue;
        *ret = spot && row->spot_hourly < 0 ? hourly * (1 - prices->spot_discount) : hourly;
        return true;
    }
    return false;
}

static double of_size(const struct prices *prices, const struct cluster *cluster, uint32_t row)
{
    const struct columns *col = &cluster->col;
    double value = prices->cpu * (double)col->alloc[RES_CPU][row] / 1000 +
                   prices->memory_gib * (double)col->alloc[RES_MEMORY][row] / GIB;
    list_for(&prices->gpu_resources, name) {
        uint32_t resource;
        if (cluster_resource_find(cluster, *name, &resource))
            value += prices->gpu * (double)col->alloc[resource][row];
    }
    return value;
}

bool price_of_node(const struct prices *prices, const struct cluster *cluster, uint32_t row, double *ret)
{
    const struct meta *meta = &cluster_node(cluster, row)->api->meta;
    bool spot = is_spot(prices, &meta->labels);
    if (says(&meta->annotations, prices->annotation, ret) || says(&meta->labels, prices->label, ret) ||
        of_type(prices, &meta->labels, spot, ret))
        return true;
    if (!prices->has_file)
        return false;
    *ret = of_size(prices, cluster, row) * (spot ? 1 - prices->spot_discount : 1);
    return true;
}
