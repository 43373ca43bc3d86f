// cel records the results of Kubernetes' CEL library for devices: it reads expressions from the given files, one JSON
// object per line, and rewrites the files with the outcomes.
//
//	go run ./cel ../unit/cel/data/{expressions,random,random_lists,random_texts}.jsonl
//	go run -modfile=go-1.37.mod ./cel -changes=../unit/cel/data/changes-1.37.jsonl ../unit/cel/data/...
//
// A line has an expression ("expr"), whether the result may be of any type ("any"), and whether attributes
// may be lists ("list"). Its outcome is a class, "ok" with a value and its cost, "compile", "runtime" or "cost", and
// the text of the error. Expressions at which the library crashes are left out. With -changes the files stay as they
// are, and the lines that have another outcome are written to another file. tests/unit/cel/cases.h has the same device, and
// writes values in the same way.
//
// data/expressions.jsonl was written by hand. The random files were generated: by generate.py or a program like it, which
// composes calls by their signatures, and by one that corrupts texts which the libraries parse. New
// expressions can be added to any of the files with only an "expr".
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

type line struct {
	Expr string `json:"expr"`
	Any  bool   `json:"any"`
	List bool   `json:"list"`

	class, value, failure string
	cost                  uint64
}

// device is that of case_device_init().
func device(lists bool) dracel.Device {
	text := func(value string) resourceapi.DeviceAttribute {
		return resourceapi.DeviceAttribute{StringValue: &value}
	}
	number := func(value int64) resourceapi.DeviceAttribute {
		return resourceapi.DeviceAttribute{IntValue: &value}
	}
	truth := func(value bool) resourceapi.DeviceAttribute {
		return resourceapi.DeviceAttribute{BoolValue: &value}
	}
	amount := func(value string) resourceapi.DeviceCapacity {
		return resourceapi.DeviceCapacity{Value: resource.MustParse(value)}
	}
	d := dracel.Device{
		Driver:                   "dra.example.com",
		AllowMultipleAllocations: ptr.To(true),
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"model":                   text("A100-80GB"),
			"index":                   number(3),
			"healthy":                 truth(true),
			"broken":                  truth(false),
			"version":                 {VersionValue: ptr.To("1.2.3-alpha.4+b1")},
			"negative":                number(-7),
			"empty":                   text(""),
			"uuid":                    text("gpu-18db0e85-99e9-c746-8531-ffeb86328b39"),
			"other.example.com/speed": number(100),
			"other.example.com/name":  text("héllo wörld"),
		},
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			"memory":                  amount("80Gi"),
			"cores":                   amount("1500m"),
			"other.example.com/slots": amount("7"),
		},
	}
	if lists {
		d.Attributes["numbers"] = resourceapi.DeviceAttribute{IntValues: []int64{1, 2, 3}}
		d.Attributes["names"] = resourceapi.DeviceAttribute{StringValues: []string{"a", "b", "c"}}
		d.Attributes["flags"] = resourceapi.DeviceAttribute{BoolValues: []bool{true, false}}
		d.Attributes["versions"] = resourceapi.DeviceAttribute{VersionValues: []string{"1.0.0", "2.0.0"}}
	}
	return d
}

// catcher keeps the result of a program, of any type, and returns true.
type catcher struct {
	cel.Program
	value ref.Val
}

func (c *catcher) ContextEval(ctx context.Context, input any) (ref.Val, *cel.EvalDetails, error) {
	value, details, err := c.Program.ContextEval(ctx, input)
	c.value = value
	return types.True, details, err
}

func (l *line) evaluate() {
	compiler := dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: l.List})
	options := dracel.Options{DisableCostEstimation: true}
	text := l.Expr
	if l.Any {
		text = "true"
	}
	result := compiler.CompileCELExpression(text, options)
	caught := &catcher{}
	l.class, l.value, l.failure, l.cost = "compile", "", "", 0
	if result.Error != nil {
		l.failure = result.Error.Detail
		return
	}
	if l.Any {
		ast, issues := result.Environment.Compile(l.Expr)
		if issues != nil && issues.Err() != nil {
			l.failure = "compilation failed: " + issues.String()
			return
		}
		program, err := result.Environment.Program(ast, cel.CostLimit(resourceapi.CELSelectorExpressionMaxCost),
			cel.InterruptCheckFrequency(celconfig.CheckFrequency))
		if err != nil {
			l.failure = "program instantiation failed: " + err.Error()
			return
		}
		caught.Program = program
		result.Program = caught
	}
	matches, details, err := result.DeviceMatches(context.Background(), device(l.List))
	switch {
	case err != nil && strings.Contains(err.Error(), "cost limit exceeded"):
		l.class = "cost"
	case err != nil:
		l.class, l.failure = "runtime", err.Error()
	default:
		l.class = "ok"
		l.cost = *details.ActualCost()
		l.value = strconv.FormatBool(matches)
		if l.Any {
			l.value = show(caught.value)
		}
	}
}

func showText(text string) string {
	var out strings.Builder
	for _, c := range []byte(text) {
		if c > 32 && c < 127 && c != '%' && c != '\\' {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02x", c)
		}
	}
	return out.String()
}

func showDouble(value float64) string {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return fmt.Sprintf("d:%+v", value)
	}
	return "d:" + strconv.FormatFloat(value, 'g', 17, 64)
}

func showMap(value traits.Mapper) string {
	var entries []string
	for it := value.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		entries = append(entries, show(key)+":"+show(value.Get(key)))
	}
	sort.Strings(entries)
	return "{" + strings.Join(entries, ",") + "}"
}

func showList(value traits.Lister) string {
	var items []string
	for it := value.Iterator(); it.HasNext() == types.True && len(items) < 200; {
		items = append(items, show(it.Next()))
	}
	return "[" + strings.Join(items, ",") + "]"
}

// show writes a value as case_show() does. A kind that has no short form is only named.
func show(value ref.Val) string {
	switch v := value.(type) {
	case types.Null:
		return "null"
	case types.Bool:
		return strconv.FormatBool(bool(v))
	case types.Int:
		return strconv.FormatInt(int64(v), 10)
	case types.Uint:
		return strconv.FormatUint(uint64(v), 10) + "u"
	case types.Double:
		return showDouble(float64(v))
	case types.String:
		return "s:" + showText(string(v))
	case types.Bytes:
		return "b:" + showText(string(v))
	case *types.Type:
		return "type:" + v.TypeName()
	case types.Duration:
		return fmt.Sprintf("duration:%d", v.Nanoseconds())
	case types.Timestamp:
		return fmt.Sprintf("timestamp:%d.%09d", v.Unix(), v.Nanosecond())
	case *types.Optional:
		if !v.HasValue() {
			return "none"
		}
		return "some(" + show(v.GetValue()) + ")"
	case traits.Mapper:
		return showMap(v)
	case traits.Lister:
		return showList(v)
	}
	return value.Type().TypeName()
}

// quote writes a JSON string with as few escapes as possible.
func quote(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic(err)
	}
	return strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(strings.TrimSuffix(out.String(), "\n"))
}

func (l *line) String() string {
	text := `{"expr": ` + quote(l.Expr)
	if l.Any {
		text += `, "any": true`
	}
	if l.List {
		text += `, "list": true`
	}
	text += `, "class": ` + quote(l.class)
	if l.class == "ok" {
		text += fmt.Sprintf(`, "value": %s, "cost": %d`, quote(l.value), l.cost)
	}
	// The texts of syntax errors come from a parser generator: berth has its own.
	if l.failure != "" && !strings.Contains(l.failure, "Syntax error") {
		text += `, "error": ` + quote(l.failure)
	}
	return text + "}\n"
}

// crashes evaluates the line, and returns whether that panicked.
func (l *line) crashes() (crashed bool) {
	defer func() { crashed = recover() != nil }()
	l.evaluate()
	return
}

// dropChance leaves out a text that depends on the order in which Go goes through a map.
func (l *line) dropChance() {
	for range 16 {
		again := line{Expr: l.Expr, Any: l.Any, List: l.List}
		if l.failure == "" || again.crashes() || again.failure != l.failure {
			l.failure = ""
			return
		}
	}
}

// record writes what the expressions of a file give to out, or only what is new if changes is set.
func record(path string, out *bytes.Buffer, changes bool) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	for in.Buffer(nil, 1<<24); in.Scan(); {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return err
		}
		if l.crashes() {
			fmt.Fprintf(os.Stderr, "%s: crashes: %s\n", path, l.Expr)
			if !changes {
				continue
			}
			l.class, l.failure = "crash", ""
		}
		l.dropChance()
		if !changes || l.String() != in.Text()+"\n" {
			out.WriteString(l.String())
		}
	}
	return in.Err()
}

func run(paths []string, changes string) error {
	var out bytes.Buffer
	for _, path := range paths {
		if err := record(path, &out, changes != ""); err != nil {
			return err
		}
		if changes != "" {
			continue
		}
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			return err
		}
		out.Reset()
	}
	if changes == "" {
		return nil
	}
	return os.WriteFile(changes, out.Bytes(), 0o644)
}

func main() {
	changes := flag.String("changes", "", "the file for lines that have another outcome")
	flag.Parse()
	if err := run(flag.Args(), *changes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
