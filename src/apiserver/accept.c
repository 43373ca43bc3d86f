/* accept.c: media types such as application/json;as=Table;v=v1;g=meta.k8s.io. */
#include "apiserver/accept.h"

struct media {
    struct str type, as, version, group;
};

static struct media parse_media(struct str text)
{
    struct media media = { .type = str_trim(str_cut(&text, ';'), " \t") };
    while (text.len) {
        struct str value = str_cut(&text, ';');
        struct str key = str_trim(str_cut(&value, '='), " \t");
        value = str_trim(value, " \t\"");
        if (str_is(key, "as"))
            media.as = value;
        else if (str_is(key, "v"))
            media.version = value;
        else if (str_is(key, "g"))
            media.group = value;
    }
    return media;
}

static bool is_any(struct str type)
{
    return str_is(type, "*/*") || str_is(type, "application/*");
}

static bool take(const struct media *media, bool discovery, struct accepted *ret)
{
    static const struct {
        const char *as, *group;
        enum answer_form form;
        bool is_discovery;
    } forms[] = {
        { "Table", "meta.k8s.io", FORM_TABLE, false },
        { "PartialObjectMetadata", "meta.k8s.io", FORM_PARTIAL, false },
        { "PartialObjectMetadataList", "meta.k8s.io", FORM_PARTIAL, false },
        { "APIGroupDiscoveryList", "apidiscovery.k8s.io", FORM_DISCOVERY, true },
    };
    ret->is_yaml = str_is(media->type, "application/yaml");
    if (!ret->is_yaml && !str_is(media->type, "application/json") && !is_any(media->type))
        return false;
    ret->version = media->version;
    if (!media->as.len) {
        ret->form = FORM_OBJECT;
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
        if (forms[i].is_discovery == discovery && str_is(media->as, forms[i].as) &&
            str_is(media->group, forms[i].group)) {
            ret->form = forms[i].form;
            return discovery ? str_is(media->version, "v2")
                             : str_is(media->version, "v1") || str_is(media->version, "v1beta1");
        }
    return false;
}

bool accepted_parse(struct str header, bool discovery, struct accepted *ret)
{
    *ret = (struct accepted){ 0 };
    if (!header.len)
        return true;
    while (header.len) {
        struct media media = parse_media(str_cut(&header, ','));
        if (take(&media, discovery, ret))
            return true;
    }
    *ret = (struct accepted){ 0 };
    return false;
}
