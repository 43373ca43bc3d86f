// Writes src/apiserver/data/messages.txt: the protobuf messages of the Kubernetes API by their Go types, for the decoder
// of request bodies.
//
//	go run -C tests/e2e ./cmd/message-fields > src/apiserver/data/messages.txt
package main

import (
	"fmt"
	"log"
	"reflect"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// Group versions that the embedded API server has.
var served = []string{"v1", "apps/v1", "events.k8s.io/v1", "authentication.k8s.io/v1", "authorization.k8s.io/v1",
	"autoscaling/v1", "batch/v1", "networking.k8s.io/v1", "policy/v1", "rbac.authorization.k8s.io/v1", "storage.k8s.io/v1",
	"scheduling.k8s.io/v1", "scheduling.k8s.io/v1beta1", "coordination.k8s.io/v1", "node.k8s.io/v1",
	"discovery.k8s.io/v1", "resource.k8s.io/v1"}

var leaves = map[reflect.Type]string{
	reflect.TypeOf(metav1.Time{}):          "time",
	reflect.TypeOf(metav1.MicroTime{}):     "microtime",
	reflect.TypeOf(metav1.Duration{}):      "duration",
	reflect.TypeOf(resource.Quantity{}):    "quantity",
	reflect.TypeOf(intstr.IntOrString{}):   "intorstring",
	reflect.TypeOf(runtime.RawExtension{}): "raw",
	reflect.TypeOf(metav1.FieldsV1{}):      "raw",
}

var done = map[reflect.Type]bool{}
var lines = map[string][]string{}

func nameOf(t reflect.Type) string {
	path := strings.Split(t.PkgPath(), "/")
	return strings.Join(path[len(path)-2:], ".") + "." + t.Name()
}

func valueOf(t reflect.Type) string {
	if word := leaves[t]; word != "" {
		return word
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32, reflect.Int64:
		return "int"
	case reflect.Float64:
		return "double"
	case reflect.Pointer:
		return "*" + valueOf(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		if t.Name() != "" { // a list with a message of its own
			return "items:" + valueOf(t.Elem())
		}
		return "[]" + valueOf(t.Elem())
	case reflect.Map:
		return "{}" + valueOf(t.Elem())
	case reflect.Struct:
		write(t)
		return nameOf(t)
	}
	log.Fatalf("no word for %s", t)
	return ""
}

func write(t reflect.Type) {
	if done[t] {
		return
	}
	done[t] = true
	var rows []string
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag := strings.Split(f.Tag.Get("protobuf"), ",")
		if len(tag) < 2 || tag[1] == "-" {
			continue
		}
		name := strings.Split(f.Tag.Get("json"), ",")[0]
		if name == "" {
			name = "-" // its fields stand in the object itself
		}
		rows = append(rows, fmt.Sprintf("%s %s %s", tag[1], name, valueOf(f.Type)))
	}
	lines[nameOf(t)] = rows
}

func main() {
	roots := map[string]string{}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		for _, version := range served {
			if gvk.GroupVersion().String() != version || strings.HasSuffix(gvk.Kind, "List") || t.Kind() != reflect.Struct {
				continue
			}
			if strings.HasSuffix(gvk.Kind, "Options") && gvk.Kind != "DeleteOptions" || gvk.Kind == "WatchEvent" {
				continue
			}
			write(t)
			roots[version+" "+gvk.Kind] = nameOf(t)
		}
	}
	for name, of := range roots {
		lines["kind "+name] = []string{of}
	}
	var names []string
	for name := range lines {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if kind, ok := strings.CutPrefix(name, "kind "); ok {
			fmt.Println("kind", kind, lines[name][0])
			continue
		}
		fmt.Println("message", name)
		for _, row := range lines[name] {
			fmt.Println(row)
		}
	}
}
