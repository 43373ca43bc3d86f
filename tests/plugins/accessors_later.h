/* accessors_later.h: the part of accessors_functions.h about objects of any kind, timers and events. */

/* ---- objects of any kind ---- */
OF_OBJECTS(object_kind)

static void call_read_key(const struct here *h)
{
    each_object(h, i) for (size_t k = 0; k < LEN(kinds); k++)
    {
        use(berth_read_key(kinds[k], h->objects[i], "metadata.labels", 0));
        use(berth_read_key(kinds[k], h->objects[i], "data", UINT32_MAX));
        use(berth_read_key(kinds[k], h->objects[i], NULL, 0));
    }
}

static void call_read_double(const struct here *h)
{
    double number = 0;
    each_object(h, i) for (size_t k = 0; k < LEN(kinds); k++)
    {
        sum += berth_read_double(kinds[k], h->objects[i], "spec.priority", &number);
        sum += berth_read_double(kinds[k], h->objects[i], "metadata.name", &number);
        sum += berth_read_double(kinds[k], h->objects[i], NULL, &number);
    }
}

CALL(kind_version, each_cluster(h, i) for (size_t k = 0; k < LEN(kinds); k++) sum +=
                   berth_kind_version(h->clusters[i], kinds[k]))

/* Only in init() it can be true, and only for a kind of the descriptor. */
static void call_watch_only(const struct here *h)
{
    (void)h;
    sum += berth_watch_only(own->handle, "v1/ConfigMap", berth_text("kube-system"),
                            berth_text("network-latency"));
    if (berth_watch_only(NULL, "v1/ConfigMap", berth_text(NULL), berth_text(NULL)) ||
        berth_watch_only(own->handle, "v1/Secret", berth_text(NULL), berth_text(NULL)) ||
        berth_watch_only(own->handle, NULL, berth_text(NULL), berth_text(NULL)))
        abort();
}

CALL(tick_every, (void)h, berth_tick_every(own->handle, -1), berth_tick_every(NULL, 1))
CALL(sample_every, (void)h, berth_sample_every(own->handle, -1), berth_sample_every(NULL, 1))

static void call_event(const struct here *h)
{
    each_object(h, i)
    {
        berth_event(own->handle, h->objects[i], "Warning", "Reason", "Action", berth_text("note"));
        berth_event(own->handle, h->objects[i], NULL, NULL, NULL, berth_text(NULL));
        berth_event(NULL, h->objects[i], NULL, NULL, NULL, berth_text(NULL));
    }
}
