// Writes tables and test data from Kubernetes' own Go types of Pod and Node:
//
//	go run -C tests/e2e ../extender/fields/main.go table > src/extender/full_objects.def
//	go run -C tests/e2e ../extender/fields/main.go data tests/unit/extender/data
//
// The first is the table by which src/extender/full_objects.c turns an object's protobuf into its JSON. The second writes
// objects in both forms, for the test that compares full_objects.c with Go.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const columns = 110

// Fields that are never passed on: the scheduler drops them from the pods that it keeps.
var dropped = map[string]bool{"ManagedFields": true}

// Fields of an older version that the newest one no longer has.
var former = map[string][]string{
	"NodeAllocatableResourceClaimStatus": {`F(QUANTITY_TEXT_MAP, 3, "resources")`}, // 1.36
}

var leaves = map[reflect.Type]string{
	reflect.TypeOf(metav1.Time{}):        "TIME",
	reflect.TypeOf(resource.Quantity{}):  "QUANTITY_TEXT",
	reflect.TypeOf(intstr.IntOrString{}): "INT_OR_STR",
}

func plainKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "STR"
	case reflect.Bool:
		return "BOOL"
	case reflect.Int32, reflect.Int64:
		return "INT64"
	}
	return leaves[t]
}

// The kind of a field and, where it is a message, the message's type.
func kindOf(t reflect.Type) (string, reflect.Type) {
	if kind := plainKind(t); kind != "" {
		return kind, nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return "STRUCT", t
	case reflect.Pointer:
		if kind := plainKind(t.Elem()); kind != "" {
			return "OPT_" + kind, nil
		}
		return "PTR", t.Elem()
	case reflect.Slice:
		if kind := plainKind(t.Elem()); kind != "" {
			return kind + "S", nil
		}
		return "LIST", t.Elem()
	case reflect.Map:
		if t.Key().Kind() == reflect.String && plainKind(t.Elem()) == "STR" {
			return "PAIRS", nil
		}
		if t.Key().Kind() == reflect.String && plainKind(t.Elem()) == "QUANTITY_TEXT" {
			return "QUANTITY_TEXT_MAP", nil
		}
	}
	log.Fatalf("no kind for %s", t)
	return "", nil
}

type table struct {
	done map[reflect.Type]bool
}

func (w *table) row(f reflect.StructField) string {
	options := strings.Split(f.Tag.Get("json"), ",")
	tag := strings.Split(f.Tag.Get("protobuf"), ",")[1]
	inline := options[0] == ""
	kind, message := kindOf(f.Type)
	// A struct is never empty for omitempty, only for omitzero.
	empty := "omitempty"
	if f.Type.Kind() == reflect.Struct {
		empty = "omitzero"
	}
	name := "F"
	if !inline && !strings.Contains(f.Tag.Get("json"), empty) {
		name = "A"
	}
	if message == nil {
		return fmt.Sprintf("%s(%s, %s, %q)", name, kind, tag, options[0])
	}
	w.write(message)
	return fmt.Sprintf("%sM(%s, %s, %q, %s)", name, kind, tag, options[0], message.Name())
}

func (w *table) write(t reflect.Type) {
	if w.done[t] {
		return
	}
	w.done[t] = true
	var rows []string
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		if f.Tag.Get("protobuf") != "" && !dropped[f.Name] {
			rows = append(rows, w.row(f))
		}
	}
	rows = append(rows, former[t.Name()]...)
	line := fmt.Sprintf("TYPE(%s,", t.Name())
	for i, row := range rows {
		end := ","
		if i == len(rows)-1 {
			end = ")"
		}
		if len(line)+1+len(row)+len(end) > columns {
			fmt.Println(line)
			line = "    "
		}
		line += " " + row + end
	}
	fmt.Println(line)
}

func writeTable() {
	fmt.Println(`/* full_objects.def: every field of a Pod and of a Node of Kubernetes v1.36 and v1.37. Made by
 * tests/extender/fields.
 *
 *     TYPE(message, rows)      in the order in which Go writes them
 *     F(kind, tag, name)       a field that is left out where it is empty; A(...): one that is always written
 *     FM, AM(..., message)     likewise for messages */`)
	w := table{done: map[reflect.Type]bool{}}
	w.write(reflect.TypeOf(v1.Pod{}))
	w.write(reflect.TypeOf(v1.Node{}))
}

// ---- objects ----

type filler struct {
	rng  *rand.Rand
	odds int // one field in `odds` stays empty; 0: none does
	n    int
}

func (f *filler) leaf(v reflect.Value) bool {
	switch v.Type() {
	case reflect.TypeOf(metav1.Time{}):
		v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(1700000000+int64(f.n), 0).UTC())))
	case reflect.TypeOf(resource.Quantity{}):
		texts := []string{"100m", "1Gi", "0", "3", "1500k", "12e6", "0.5"}
		v.Set(reflect.ValueOf(resource.MustParse(texts[f.n%len(texts)])))
	case reflect.TypeOf(intstr.IntOrString{}):
		if f.n%2 == 0 {
			v.Set(reflect.ValueOf(intstr.FromInt32(int32(f.n))))
		} else {
			v.Set(reflect.ValueOf(intstr.FromString(fmt.Sprintf("%d%%", f.n))))
		}
	default:
		return false
	}
	return true
}

func (f *filler) fill(v reflect.Value) {
	f.n++
	if f.leaf(v) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d <&> \"\u00e9\u2028\n", f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.n%7-3)*1000 + 1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		if f.some() {
			f.fill(v.Elem())
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := 0; i < 3; i++ {
			value := reflect.New(v.Type().Elem()).Elem()
			f.fill(value)
			v.SetMapIndex(reflect.ValueOf(fmt.Sprintf("key/%d", (i*7+f.n)%10)).Convert(v.Type().Key()), value)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			name := v.Type().Field(i).Name
			if name != "TypeMeta" && !dropped[name] && f.some() {
				f.fill(v.Field(i))
			}
		}
	default:
		log.Fatalf("cannot fill %s", v.Type())
	}
}

func (f *filler) some() bool {
	return f.odds == 0 || f.rng.Intn(f.odds) != 0
}

type message interface{ Marshal() ([]byte, error) }

func put(dir, name string, object message) {
	bytes, err := object.Marshal()
	if err != nil {
		log.Fatal(err)
	}
	text, err := json.Marshal(object)
	if err != nil {
		log.Fatal(err)
	}
	for end, content := range map[string][]byte{".pb": bytes, ".json": text} {
		if err := os.WriteFile(filepath.Join(dir, name+end), content, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

func writeData(dir string) {
	put(dir, "pod-empty", &v1.Pod{})
	put(dir, "node-empty", &v1.Node{})
	for i, odds := range []int{0, 2, 4} {
		pod, node := &v1.Pod{}, &v1.Node{}
		f := filler{rng: rand.New(rand.NewSource(int64(i))), odds: odds}
		f.fill(reflect.ValueOf(pod).Elem())
		f.fill(reflect.ValueOf(node).Elem())
		put(dir, fmt.Sprintf("pod-%d", i), pod)
		put(dir, fmt.Sprintf("node-%d", i), node)
	}
}

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "table":
		writeTable()
	case len(os.Args) == 3 && os.Args[1] == "data":
		writeData(os.Args[2])
	default:
		log.Fatal("usage: main.go table | data DIR")
	}
}
