/* reviews.c: reviews: questions about tokens and rights that are posted like objects and stored nowhere. The one token
 * of the server is that of an administrator, who may do everything; nobody else may do anything. */
#include "apiserver/apiserver_impl.h"
#include "apiserver/tree.h"

#define ADMIN "kubernetes-admin"

bool review_is_one(const struct api_resource *resource)
{
    return str_is(resource->group, "authentication.k8s.io") ||
           str_is(resource->group, "authorization.k8s.io");
}

static yyjson_mut_val *put_object(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key)
{
    yyjson_mut_val *val = yyjson_mut_obj(doc);
    tree_mut_put(doc, object, str_from(key), val);
    return val;
}

static void put_user(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key)
{
    yyjson_mut_val *user = put_object(doc, object, key), *groups = yyjson_mut_arr(doc);
    yyjson_mut_obj_add_str(doc, user, "username", ADMIN);
    yyjson_mut_arr_add_str(doc, groups, "system:masters");
    yyjson_mut_arr_add_str(doc, groups, "system:authenticated");
    yyjson_mut_obj_add_val(doc, user, "groups", groups);
}

static void add_strs(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *text)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    yyjson_mut_arr_add_str(doc, list, text);
    yyjson_mut_obj_add_val(doc, object, key, list);
}

static void put_rules(yyjson_mut_doc *doc, yyjson_mut_val *status)
{
    yyjson_mut_val *rules = yyjson_mut_arr(doc), *rule = yyjson_mut_arr_add_obj(doc, rules);
    add_strs(doc, rule, "verbs", "*");
    add_strs(doc, rule, "apiGroups", "*");
    add_strs(doc, rule, "resources", "*");
    yyjson_mut_obj_add_val(doc, status, "resourceRules", rules);
    rules = yyjson_mut_arr(doc);
    rule = yyjson_mut_arr_add_obj(doc, rules);
    add_strs(doc, rule, "verbs", "*");
    add_strs(doc, rule, "nonResourceURLs", "*");
    yyjson_mut_obj_add_val(doc, status, "nonResourceRules", rules);
    yyjson_mut_obj_add_bool(doc, status, "incomplete", false);
}

static bool has_item(yyjson_val *list, const char *text)
{
    yyjson_val *item;
    size_t i, max;
    if (yyjson_is_arr(list))
        yyjson_arr_foreach(list, i, max, item) {
            if (str_is(doc_text(item), text))
                return true;
        }
    return false;
}

/* The scheduler's serving port asks with the token of its client. */
static void put_token_status(struct call *call, yyjson_val *review, yyjson_mut_doc *doc,
                             yyjson_mut_val *status)
{
    if (!str_eq(tree_text(review, "spec.token"), call->server->token)) {
        put_object(doc, status, "user");
        tree_mut_put_str(doc, status, "error", STR("[invalid bearer token]"));
        return;
    }
    yyjson_mut_obj_add_bool(doc, status, "authenticated", true);
    put_user(doc, status, "user");
}

int review_answer(struct call *call, yyjson_val *review)
{
    struct str kind = call->request.resource->kind;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_val_mut_copy(doc, review);
    _cleanup_(strbuf_release) struct strbuf version = { 0 };
    resource_write_version(call->request.resource, &version);
    tree_mut_put_str(doc, object, "kind", kind);
    tree_mut_put_str(doc, object, "apiVersion", strbuf_slice(&version));
    yyjson_mut_val *status = put_object(doc, object, "status");
    if (str_is(kind, "TokenReview")) {
        put_token_status(call, review, doc, status);
    } else if (str_is(kind, "SelfSubjectReview")) {
        put_user(doc, status, "userInfo");
    } else if (str_is(kind, "SelfSubjectRulesReview")) {
        put_rules(doc, status);
    } else {
        bool is_admin = str_is(kind, "SelfSubjectAccessReview") ||
                        str_is(tree_text(review, "spec.user"), ADMIN) ||
                        has_item(tree_at(review, "spec.groups"), "system:masters");
        yyjson_mut_obj_add_bool(doc, status, "allowed", is_admin);
    }
    tree_mut_write(object, &call->body);
    yyjson_mut_doc_free(doc);
    call->status = 201;
    return 0;
}
