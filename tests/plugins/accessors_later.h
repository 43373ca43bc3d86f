/* accessors_later.h: the part of accessors.c about functions that came with revisions 4 and 5. */

/* ---- times and samples ---- */
CALL(cycle_now, sum += h->cycle ? (uint64_t)berth_cycle_now(h->cycle) : 0)
CALL(retry_at, if (h->cycle) berth_retry_at(h->cycle, INT64_MAX), berth_retry_at(h->cycle, INT64_MIN))

OF_VIEWS(node_sampled_at)
OF_VIEWS(node_sample_window)
static void call_node_sample(const struct here *h)
{
    each_view(h, i) for (int statistic = -1; statistic < 9; statistic++) sum +=
        berth_node_sample(h->views[i], own->cpu, (enum berth_statistic)statistic) >= 0;
}

static void call_pod_sample(const struct here *h)
{
    each_cluster(h, i) each_info(h, k) sum += berth_pod_sample(h->clusters[i], h->infos[k], own->cpu) >= 0;
}

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
    sum += berth_watch_only(own->handle, "v1/ConfigMap", berth_text("kube-system"), berth_text(NULL));
    if (berth_watch_only(NULL, "v1/ConfigMap", berth_text(NULL), berth_text(NULL)) ||
        berth_watch_only(own->handle, "v1/Secret", berth_text(NULL), berth_text(NULL)) ||
        berth_watch_only(own->handle, NULL, berth_text(NULL), berth_text(NULL)))
        abort();
}

CALL(tick_every, (void)h, berth_tick_every(own->handle, -1), berth_tick_every(NULL, 1))

static void call_event(const struct here *h)
{
    each_object(h, i)
    {
        berth_event(own->handle, h->objects[i], "Warning", "Reason", "Action", berth_text("note"));
        berth_event(own->handle, h->objects[i], NULL, NULL, NULL, berth_text(NULL));
        berth_event(NULL, h->objects[i], NULL, NULL, NULL, berth_text(NULL));
    }
}
